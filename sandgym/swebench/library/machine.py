"""State machines: tables of transitions, a lift, a traffic light."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "machine",
    "State machines: a general one, a turnstile that counts, a lift.",
    r'''
### machine/table.py
"""Machines that follow a table."""


class Machine:
    """``rules[(state, event)]`` is the next state."""

    def __init__(self, start, rules, final=()):
        self.start = start
        self.state = start
        self.rules = rules
        self.final = final
        self.visited = [start]

    def events(self):
        """Events that the present state knows, in order."""
        return sorted(event for state, event in self.rules if state == self.state)

    def fire(self, event, strict=True):
        """Follow a rule; an unknown event is an error, or ignored when not strict."""
        target = self.rules.get((self.state, event))
        if target is None:
            if strict:
                raise LookupError("no rule")
            return self.state
        self.state = target
        self.visited.append(target)
        return target

    def run(self, events):
        """Fire all events; tells whether the machine accepts at the end."""
        for event in events:
            self.fire(event, False)
        return self.accepts()

    def accepts(self):
        """Whether the present state is a final one."""
        return self.state in self.final

    def reset(self):
        """Go back to the start and forget what was visited."""
        self.state = self.start
        self.visited = [self.start]

    def undo(self):
        """Go back one state; tells whether there was one."""
        if len(self.visited) < 2:
            return False
        self.visited.pop()
        self.state = self.visited[-1]
        return True

### machine/turnstile.py
"""A turnstile that takes coins."""


class Turnstile:
    """Opens for a price; what is paid too much is kept for the next one."""

    def __init__(self, price=«PRICE»):
        self.price = price
        self.paid = 0
        self.people = 0
        self.alarms = 0

    def coin(self, value):
        """Put in a coin; tells whether the turnstile is open."""
        if value not in (1, 2, 5, 10):
            raise ValueError("unknown coin")
        self.paid += value
        return self.is_open()

    def is_open(self):
        """Whether enough was paid."""
        return self.paid >= self.price

    def push(self):
        """Go through, or raise the alarm; tells whether it went well."""
        if not self.is_open():
            self.alarms += 1
            return False
        self.paid -= self.price
        self.people += 1
        return True

    def missing(self):
        """What is still to be paid."""
        return max(self.price - self.paid, 0)

### machine/lift.py
"""A lift that collects calls."""


class Lift:
    """Moves one floor a step towards the calls, without turning back too early."""

    def __init__(self, top=«TOP», floor=0):
        self.top = top
        self.floor = floor
        self.direction = 1
        self.calls = set()

    def call(self, floor):
        """Ask for a stop."""
        if floor < 0 or floor > self.top:
            raise ValueError("no such floor")
        if floor != self.floor:
            self.calls.add(floor)

    def ahead(self):
        """Whether a call lies in the direction of the lift."""
        return any((floor - self.floor) * self.direction > 0 for floor in self.calls)

    def step(self):
        """Move one floor; tells whether the lift stops there."""
        if not self.calls:
            return False
        if not self.ahead():
            self.direction = -self.direction
        self.floor += self.direction
        if self.floor in self.calls:
            self.calls.remove(self.floor)
            return True
        return False

    def stops(self):
        """Floors at which the lift stops until all calls are served."""
        order = []
        while self.calls:
            if self.step():
                order.append(self.floor)
        return order

### tests/test_table.py
import unittest

from machine.table import Machine

RULES = {("off", "press"): "on", ("on", "press"): "off", ("on", "break"): "dead"}


class MachineTest(unittest.TestCase):
    def test_fire(self):
        machine = Machine("off", RULES)
        self.assertEqual(machine.fire("press"), "on")
        self.assertEqual(machine.state, "on")

    def test_unknown_event(self):
        with self.assertRaises(LookupError):
            Machine("off", RULES).fire("break")

    def test_ignored_event(self):
        machine = Machine("off", RULES)
        self.assertEqual(machine.fire("break", False), "off")
        self.assertEqual(machine.visited, ["off"])

    def test_events(self):
        self.assertEqual(Machine("on", RULES).events(), ["break", "press"])

    def test_events_of_a_dead_end(self):
        self.assertEqual(Machine("dead", RULES).events(), [])

    def test_run(self):
        self.assertEqual(Machine("off", RULES, ("on",)).run(["press"] * 3), True)

    def test_run_that_is_not_accepted(self):
        self.assertEqual(Machine("off", RULES, ("on",)).run(["press"] * 2), False)

    def test_run_with_unknown_event(self):
        self.assertEqual(Machine("off", RULES, ("on",)).run(["break", "press"]), True)

    def test_visited(self):
        machine = Machine("off", RULES)
        machine.run(["press", "break"])
        self.assertEqual(machine.visited, ["off", "on", "dead"])

    def test_reset(self):
        machine = Machine("off", RULES)
        machine.fire("press")
        machine.reset()
        self.assertEqual((machine.state, machine.visited), ("off", ["off"]))

    def test_undo(self):
        machine = Machine("off", RULES)
        machine.fire("press")
        self.assertEqual(machine.undo(), True)
        self.assertEqual((machine.state, machine.visited), ("off", ["off"]))

    def test_nothing_to_undo(self):
        machine = Machine("off", RULES)
        self.assertEqual(machine.undo(), False)
        self.assertEqual(machine.state, "off")

### tests/test_turnstile.py
import unittest

from machine.turnstile import Turnstile


class TurnstileTest(unittest.TestCase):
    def test_price(self):
        self.assertEqual(Turnstile().missing(), «PRICE»)

    def test_unknown_coin(self):
        with self.assertRaises(ValueError):
            Turnstile().coin(3)

    def test_coin_of_ten(self):
        self.assertEqual(Turnstile(12).coin(10), False)

    def test_exact_price(self):
        self.assertEqual(Turnstile(5).coin(5), True)

    def test_several_coins(self):
        gate = Turnstile(4)
        self.assertEqual(gate.coin(2), False)
        self.assertEqual(gate.coin(2), True)

    def test_missing(self):
        gate = Turnstile(7)
        gate.coin(5)
        self.assertEqual(gate.missing(), 2)

    def test_nothing_missing(self):
        gate = Turnstile(4)
        gate.coin(10)
        self.assertEqual(gate.missing(), 0)

    def test_push(self):
        gate = Turnstile(5)
        gate.coin(5)
        self.assertEqual(gate.push(), True)
        self.assertEqual((gate.people, gate.alarms), (1, 0))

    def test_push_without_paying(self):
        gate = Turnstile(5)
        self.assertEqual(gate.push(), False)
        self.assertEqual((gate.people, gate.alarms), (0, 1))

    def test_change_is_kept(self):
        gate = Turnstile(7)
        gate.coin(10)
        gate.push()
        self.assertEqual(gate.paid, 3)

### tests/test_lift.py
import unittest

from machine.lift import Lift


class LiftTest(unittest.TestCase):
    def test_call(self):
        lift = Lift()
        lift.call(3)
        self.assertEqual(sorted(lift.calls), [3])

    def test_call_of_the_top(self):
        lift = Lift()
        lift.call(«TOP»)
        self.assertEqual(sorted(lift.calls), [«TOP»])

    def test_call_above_the_top(self):
        with self.assertRaises(ValueError):
            Lift().call(«TOP + 1»)

    def test_call_below_the_ground(self):
        with self.assertRaises(ValueError):
            Lift().call(-1)

    def test_call_of_this_floor(self):
        lift = Lift(5, 2)
        lift.call(2)
        self.assertEqual(sorted(lift.calls), [])

    def test_call_of_the_ground(self):
        lift = Lift(5, 2)
        lift.call(0)
        self.assertEqual(lift.stops(), [0])

    def test_step(self):
        lift = Lift()
        lift.call(2)
        self.assertEqual(lift.step(), False)
        self.assertEqual(lift.step(), True)

    def test_step_without_calls(self):
        lift = Lift()
        self.assertEqual(lift.step(), False)
        self.assertEqual(lift.floor, 0)

    def test_stops_on_the_way(self):
        lift = Lift()
        lift.call(5)
        lift.call(2)
        self.assertEqual(lift.stops(), [2, 5])

    def test_turning(self):
        lift = Lift(9, 4)
        lift.call(2)
        lift.call(6)
        self.assertEqual(lift.stops(), [6, 2])

    def test_ahead(self):
        lift = Lift(9, 4)
        lift.call(2)
        self.assertEqual(lift.ahead(), False)
''',
    names={
        "machine": ("machine", "automaton", "device"),
        "table": ("table", "rulebook", "transitions"),
        "turnstile": ("turnstile", "barrier", "gatekeeper"),
        "lift": ("lift", "elevator", "hoist"),
        "Machine": ("Machine", "Automaton", "StateTable"),
        "Turnstile": ("Turnstile", "Barrier", "CoinGate"),
        "Lift": ("Lift", "Elevator", "Cabin"),
        "fire": ("fire", "send", "trigger"),
        "accepts": ("accepts", "is_final", "finished"),
        "undo": ("undo", "step_back", "revert"),
        "visited": ("visited", "trail", "history"),
        "missing": ("missing", "owed", "to_pay"),
        "push": ("push", "pass_through", "enter"),
        "ahead": ("ahead", "more_ahead", "has_ahead"),
        "stops": ("stops", "serve", "stop_order"),
        "calls": ("calls", "requests", "wishes"),
    },
    constants={"PRICE": (3, 4, 6), "TOP": (7, 9, 12)},
)

"""Shortest plans.

Invariant: no sequence of commands that reaches the goal from a state is shorter than its
plan, and a state from which none does has no plan.

The search is breadth-first over the game's own states and rules, best bound first (A*), split
into errands. An errand names the objects that fulfil the goal, one or two, and the receptacles
that matter to them. Nothing shorter is missed:

- Leaving out, from a plan that wins, every action on another object and every look, close and
  unneeded opening leaves a plan that wins. An object that is in the hands at the start is put
  down once, anywhere.
- Every place is one ``go`` away from every other, so receptacles that can serve the same
  purpose, all closed or all not, where nothing else of interest is, are as good as each
  other: one of them is enough.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sandgym.alfworld.commands import command
from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.rules import Action, accessible, apply, won
from sandgym.alfworld.state import NOTHING, State

_KEPT = 10_000
_plans: weakref.WeakKeyDictionary[Game, dict[State, tuple[Action, ...] | None]] = weakref.WeakKeyDictionary()


class _Errand(NamedTuple):
    """A way to fulfil the goal: with which objects, and where.

    Attributes:
        things: the wanted objects that are brought, treated or looked at.
        lamp: a lamp for task type 2, as a bit mask, else 0.
        targets: receptacles where they are brought.
        visited: receptacles that matter.
        doors: for each location that matters, one of these receptacles.
    """

    things: tuple[int, ...]
    lamp: int
    targets: int
    visited: int
    doors: tuple[int, ...]


class _Treatment(NamedTuple):
    """A verb, the receptacles where it can be done, and the objects that it can be done to."""

    verb: str
    places: int
    able: int


def plan(game: Game, state: State, grammar: str = "file") -> tuple[str, ...] | None:
    """A shortest sequence of commands that reaches the goal.

    Args:
        game: which is played.
        state: where to start; need not be on any particular way.
        grammar: see ``rules.spelling``.

    Returns:
        The commands, none if the goal holds already; ``None`` if it cannot be reached any more.
    """
    known = _plans.setdefault(game, {})
    if state not in known:
        if len(known) >= _KEPT:
            known.clear()
        actions = _shortest(game, state)
        known[state] = actions
        for position, action in enumerate(actions or ()):  # the rest of a shortest plan is one too
            state = apply(game, state, action)
            assert actions is not None
            known[state] = actions[position + 1 :]
        return _spelt(game, actions, grammar)
    return _spelt(game, known[state], grammar)


def _spelt(game: Game, actions: tuple[Action, ...] | None, grammar: str) -> tuple[str, ...] | None:
    return None if actions is None else tuple(command(game, action, grammar) for action in actions)


# The search.


def _shortest(game: Game, start: State) -> tuple[Action, ...] | None:
    if won(game, start):
        return ()
    order = itertools.count()
    errands = list(_errands(game, start))
    open_ = [(_bound(game, start, errand), next(order), 0, errand, start) for errand in errands]
    heapq.heapify(open_)
    reached: dict[tuple[_Errand, State], tuple[int, State | None, Action | None]] = {
        (errand, start): (0, None, None) for errand in errands
    }
    while open_:
        _, _, length, errand, state = heapq.heappop(open_)
        if won(game, state):
            return _way(reached, errand, state)
        if length > reached[errand, state][0]:
            continue
        for action in _actions(game, state, errand):
            after = apply(game, state, action)
            known = reached.get((errand, after))
            if known is None or length + 1 < known[0]:
                reached[errand, after] = (length + 1, state, action)
                estimate = length + 1 + _bound(game, after, errand)
                heapq.heappush(open_, (estimate, next(order), length + 1, errand, after))
    return None


def _way(
    reached: dict[tuple[_Errand, State], tuple[int, State | None, Action | None]], errand: _Errand, state: State
) -> tuple[Action, ...]:
    actions: list[Action] = []
    at: State | None = state
    while at is not None:
        _, at, action = reached[errand, at]
        if action is not None:
            actions.append(action)
    actions.reverse()
    return tuple(map(_going_where_it_acts, actions, [*actions[1:], actions[-1]]))


def _going_where_it_acts(action: Action, following: Action) -> Action:
    """Of the receptacles at one place, goes to the one that is used there."""
    if action.verb != "go" or following.verb in ("go", "use"):
        return action
    return action._replace(receptacle=following.receptacle)


def _actions(game: Game, state: State, errand: _Errand) -> Iterator[Action]:
    """What an errand may need in a state."""
    held, here = state.held, state.location
    for receptacle in errand.doors:
        if game.where[receptacle] != here:
            yield Action("go", receptacle=receptacle)
    wanted = sum(1 << thing for thing in errand.things) | errand.lamp
    treatment = _treatment(game)
    for receptacle in game.at[here]:
        if not errand.visited >> receptacle & 1:
            continue
        if not accessible(game, state, receptacle):
            yield Action("open", receptacle=receptacle)
        elif held == NOTHING:
            for thing in bits(state.contents[receptacle] & game.pickupable & wanted):
                yield Action("take", thing, receptacle)
        elif game.fits[receptacle] >> held & 1:
            yield Action("move", held, receptacle)
        if treatment and held in errand.things and treatment.places >> receptacle & 1 and treatment.able >> held & 1:
            yield Action(treatment.verb, held, receptacle)
        for lamp in bits(state.contents[receptacle] & errand.lamp & ~state.toggled):
            yield Action("use", lamp)


def _treatment(game: Game) -> _Treatment | None:
    """How the goal wants its object treated."""
    if game.task_type == 3:
        return _Treatment("clean", game.washers, game.cleanable)
    if game.task_type == 4:
        return _Treatment("heat", game.heaters, game.heatable)
    return _Treatment("cool", game.coolers, game.coolable) if game.task_type == 5 else None


def _treated(game: Game, state: State) -> int:
    """Objects that are as the goal wants them."""
    if game.task_type == 3:
        return state.clean
    if game.task_type == 4:
        return state.hot
    return state.cool if game.task_type == 5 else -1


def _bound(game: Game, state: State, errand: _Errand) -> int:
    """A number of actions that the errand needs at least."""
    held, needed, empty_hands = state.held, 0, False
    if errand.lamp:
        needed += not errand.lamp & state.toggled
        if held == NOTHING or not errand.lamp >> held & 1:  # a lamp in the hands is put down anyway
            needed += not any(state.contents[receptacle] & errand.lamp for receptacle in game.at[state.location])
        if held not in errand.things:
            needed, empty_hands = needed + 1, True
    else:
        treated = _treated(game, state)
        for thing in errand.things:
            delivered = any(state.contents[target] >> thing & 1 for target in bits(errand.targets))
            ready = treated >> thing & 1
            if delivered and ready:
                continue
            needed += (not delivered) + (not ready)
            if held != thing:
                needed, empty_hands = needed + 1, True
    return needed + (empty_hands and held != NOTHING and held not in errand.things)


# Errands.


def _errands(game: Game, state: State) -> Iterator[_Errand]:
    movable = game.pickupable & _contained(state)
    if state.held != NOTHING:
        movable |= 1 << state.held
    wanted = game.wanted & movable
    if game.task_type == 2:
        lamps = game.targets & game.toggleable & (_contained(state) | movable)
        for thing, lamp in itertools.product(bits(wanted), bits(lamps)):
            yield _errand(game, state, (thing,), 1 << lamp, 0)
    elif game.task_type == 6:
        for target in _instances(game, state, wanted):
            for pair in itertools.combinations(bits(wanted | game.wanted & state.contents[target]), 2):
                yield _errand(game, state, pair, 0, 1 << target)
    else:
        for thing in bits(wanted):
            yield _errand(game, state, (thing,), 0, game.targets)


def _contained(state: State) -> int:
    """Objects that are in receptacles."""
    found = 0
    for mask in state.contents:
        found |= mask
    return found


def _instances(game: Game, state: State, wanted: int) -> list[int]:
    """Targets to try for a pair, one of those that are as good as each other."""
    places = {game.where[r] for r, mask in enumerate(state.contents) if mask & wanted} | {state.location}
    return _distinct(game, state, bits(game.targets), places, {})


def _errand(game: Game, state: State, things: tuple[int, ...], lamp: int, targets: int) -> _Errand:
    involved = sum(1 << thing for thing in things) | lamp
    needed = sum(1 << r for r, mask in enumerate(state.contents) if mask & involved)
    if (treatment := _treatment(game)) is not None:
        needed |= treatment.places
    if len(things) == 2:
        needed |= targets
    places = {game.where[receptacle] for receptacle in bits(needed)} | {state.location}
    held = state.held
    spare = 0 if held == NOTHING or held in things else sum(1 << r for r, f in enumerate(game.fits) if f >> held & 1)
    roles = {r: (targets >> r & 1, spare >> r & 1) for r in bits(targets | spare)}
    visited = needed | sum(1 << r for r in _distinct(game, state, bits((targets | spare) & ~needed), places, roles))
    doors: dict[int, int] = {}
    for receptacle in bits(visited):
        doors.setdefault(game.where[receptacle], receptacle)
    return _Errand(things, lamp, targets, visited, tuple(doors.values()))


def _distinct(
    game: Game,
    state: State,
    receptacles: Iterable[int],
    places: set[int],
    roles: dict[int, tuple[int, int]],
) -> list[int]:
    """All receptacles at ``places``, and of the others one of each role, closed and not."""
    kept: dict[object, int] = {}
    for receptacle in receptacles:
        where = game.where[receptacle]
        alike = (roles.get(receptacle), game.fits[receptacle], accessible(game, state, receptacle))
        kept.setdefault(receptacle if where in places else alike, receptacle)
    return list(kept.values())

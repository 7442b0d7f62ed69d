"""The rules: commands as actions, when an action is possible, and what it does.

Invariant: functions of a game and a state, both immutable. ``apply`` may be given only an
action for which ``possible`` holds.
"""

from __future__ import annotations

from typing import NamedTuple

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.state import NOTHING, State

SPELLINGS = {"move": "move {} to {}", "put": "put {} in/on {}"}


class Action(NamedTuple):
    """One grounded action.

    Attributes:
        verb: ``go``, ``open``, ``close``, ``take``, ``move`` (also spelt ``put``), ``clean``, ``heat``,
            ``cool``, ``use``, ``slice``, ``examine``, ``inventory``, ``look`` or ``help``.
        object: the object, where the verb has one.
        receptacle: the receptacle, where the verb has one.
        tool: the knife of ``slice``.
    """

    verb: str
    object: int = NOTHING
    receptacle: int = NOTHING
    tool: int = NOTHING


def parse(game: Game, command: str, grammar: str = "file") -> Action | None:
    """The action that a command spells, possible or not; ``None`` when it spells none.

    Args:
        game: whose names are meant.
        command: without surrounding white space; upper and lower case matter.
        grammar: how putting down is spelt: ``"move"``, ``"put"``, ``"both"``, or ``"file"`` (as in the game file).
    """
    verb, _, rest = command.partition(" ")
    if verb in _BARE:
        return _bare(game, verb, grammar) if command == verb else None
    if verb == "go":
        receptacle = game.receptacle_index.get(rest[3:], NOTHING)
        return Action("go", receptacle=receptacle) if rest.startswith("to ") and receptacle != NOTHING else None
    if verb == "use":
        thing = game.object_index.get(rest, NOTHING)
        return Action("use", thing) if thing != NOTHING else None
    if verb in ("open", "close", "examine"):
        receptacle = game.receptacle_index.get(rest, NOTHING)
        if receptacle != NOTHING:
            return Action(verb, receptacle=receptacle)
        thing = game.object_index.get(rest, NOTHING)
        return Action(verb, thing) if verb == "examine" and thing != NOTHING else None
    return _parse_pair(game, verb, rest, grammar)


def _bare(game: Game, verb: str, grammar: str) -> Action | None:
    return Action(verb) if verb != "help" or has_help(game, grammar) else None


def _parse_pair(game: Game, verb: str, rest: str, grammar: str) -> Action | None:
    preposition = _PREPOSITIONS.get(verb)
    if preposition is None:
        return None
    if verb in SPELLINGS:
        if grammar != "both" and verb != spelling(game, grammar):
            return None
        verb = "move"
    first, found, second = rest.partition(preposition)
    thing = game.object_index.get(first)
    if not found or thing is None:
        return None
    if verb == "slice":
        tool = game.object_index.get(second)
        return None if tool is None else Action(verb, thing, tool=tool)
    receptacle = game.receptacle_index.get(second)
    return None if receptacle is None else Action(verb, thing, receptacle)


def spelling(game: Game, grammar: str) -> str:
    """``"move"`` or ``"put"``: how texts and admissible commands spell putting down."""
    return grammar if grammar in SPELLINGS else game.grammar


def has_help(game: Game, grammar: str) -> bool:
    """Whether there is a command ``help``: only with the newer spelling."""
    return spelling(game, grammar) == "move"


def possible(game: Game, state: State, action: Action) -> bool:
    """Whether an action's preconditions hold."""
    verb, thing, receptacle, tool = action
    if verb in _BARE:
        return True
    if verb == "go":
        return game.where[receptacle] != state.location
    if verb == "use":
        return bool(game.toggleable >> thing & 1) and _in_reach(game, state) >> thing & 1 == 1
    if verb == "slice":
        return _can_slice(game, state, thing, tool)
    if verb == "examine" and receptacle == NOTHING:
        return thing == state.held
    if game.where[receptacle] != state.location:
        return False
    if verb == "examine":
        return True
    if verb in ("open", "close"):
        return bool(game.openable >> receptacle & 1) and bool(state.opened >> receptacle & 1) == (verb == "close")
    if verb == "take":
        free = state.held == NOTHING and accessible(game, state, receptacle)
        return free and (game.pickupable & state.contents[receptacle]) >> thing & 1 == 1
    if thing != state.held:
        return False
    if verb == "move":
        return accessible(game, state, receptacle) and game.fits[receptacle] >> thing & 1 == 1
    places, able = _treatment(game, verb)
    return bool(places >> receptacle & 1 and able >> thing & 1)


def accessible(game: Game, state: State, receptacle: int) -> bool:
    """Whether a receptacle is open or has no door."""
    return not (game.openable & ~state.opened) >> receptacle & 1


def _in_reach(game: Game, state: State) -> int:
    """Objects in receptacles at the agent's location, even closed ones."""
    found = 0
    for receptacle in game.at[state.location]:
        found |= state.contents[receptacle]
    return found


def _can_slice(game: Game, state: State, thing: int, tool: int) -> bool:
    here = state.present[state.location]
    return tool == state.held and bool(game.knives >> tool & 1) and bool((game.sliceable & here) >> thing & 1)


def _treatment(game: Game, verb: str) -> tuple[int, int]:
    """Receptacles that clean, heat or cool, and objects that can be so treated."""
    if verb == "clean":
        return game.washers, game.cleanable
    return (game.heaters, game.heatable) if verb == "heat" else (game.coolers, game.coolable)


def apply(game: Game, state: State, action: Action) -> State:
    """The state after a possible action."""
    verb, thing, receptacle, _ = action
    bit = 1 << thing if thing != NOTHING else 0
    if verb == "go":
        return state._replace(location=game.where[receptacle])
    if verb in ("open", "close"):
        return state._replace(opened=state.opened ^ 1 << receptacle)
    if verb == "take":
        return state._replace(
            held=thing,
            contents=_replaced(state.contents, receptacle, state.contents[receptacle] & ~bit),
            present=_replaced(state.present, state.location, state.present[state.location] & ~bit),
            taken=_replaced(state.taken, receptacle, state.taken[receptacle] | bit),
        )
    if verb == "move":
        return state._replace(
            held=NOTHING,
            contents=_replaced(state.contents, receptacle, state.contents[receptacle] | bit),
            present=_replaced(state.present, state.location, state.present[state.location] | bit),
            taken=_replaced(state.taken, receptacle, state.taken[receptacle] & ~bit),
        )
    if verb == "clean":
        return state._replace(clean=state.clean | bit)
    if verb == "heat":
        return state._replace(hot=state.hot | bit, cool=state.cool & ~bit)
    if verb == "cool":
        return state._replace(cool=state.cool | bit, hot=state.hot & ~bit)
    if verb == "use":
        return state._replace(toggled=state.toggled | bit)
    if verb == "slice":
        return state._replace(sliced=state.sliced | bit)
    return state


def _replaced(masks: tuple[int, ...], index: int, mask: int) -> tuple[int, ...]:
    return (*masks[:index], mask, *masks[index + 1 :])


def won(game: Game, state: State) -> bool:
    """Whether the goal holds."""
    task_type = game.task_type
    if task_type == 2:
        lit = game.targets & state.toggled
        held = state.held != NOTHING and game.wanted >> state.held & 1
        return bool(held and lit and lit & _in_reach(game, state))
    wanted = game.wanted
    if task_type == 3:
        wanted &= state.clean
    elif task_type == 4:
        wanted &= state.hot
    elif task_type == 5:
        wanted &= state.cool
    if not wanted:
        return False
    contents = state.contents
    if task_type == 6:
        return any((contents[target] & wanted).bit_count() >= 2 for target in bits(game.targets))
    return any(contents[target] & wanted for target in bits(game.targets))


_BARE = frozenset({"inventory", "look", "help"})
_PREPOSITIONS = {
    "take": " from ",
    "move": " to ",
    "put": " in/on ",
    "clean": " with ",
    "heat": " with ",
    "cool": " with ",
    "slice": " with ",
}

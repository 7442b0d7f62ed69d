"""A shorter way to tell a player the same: ``observation_mode="compact"``.

Invariant: nothing is told that the official texts would not tell to a player who remembers all of
them, and uses ``inventory`` and ``examine``: the task, what is held and in what condition, what is
seen in the receptacles here, and which receptacles have not been looked into yet.
"""

from __future__ import annotations

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.state import NOTHING, State

_TASK = "Your task is to: "


def compact(game: Game, state: State, seen: int, happened: bool) -> str:
    """The task, what is held, the receptacles here with what is in them, and those still unseen.

    Args:
        game: whose names are used.
        state: what is told.
        seen: receptacles that have been looked into (see ``visible``).
        happened: whether the last command did something.
    """
    parts = [f"{'' if happened else 'nothing happens. '}{game.task.removeprefix(_TASK)} hold {_held(game, state)}."]
    parts += [f"{_receptacle(game, state, each)}." for each in game.at[state.location]]
    unseen = ~seen & ((1 << len(game.receptacles)) - 1)
    return " ".join([*parts, f"unseen: {_by_kind(game, unseen)}" if unseen else "all seen"])


def visible(game: Game, state: State) -> int:
    """The receptacles here that can be looked into, as a bit mask."""
    here = sum(1 << each for each in game.at[state.location])
    return here & (state.opened | ~game.openable)


def _by_kind(game: Game, receptacles: int) -> str:
    """``drawer 2 1, shelf 1``."""
    kinds: dict[str, list[str]] = {}
    for each in bits(receptacles):
        kind, _, number = game.receptacles[each].rpartition(" ")
        kinds.setdefault(kind, []).append(number)
    return ", ".join(" ".join([kind, *numbers]) for kind, numbers in kinds.items())


def _held(game: Game, state: State) -> str:
    if state.held == NOTHING:
        return "nothing"
    marks = (("sliced", state.sliced), ("clean", state.clean), ("hot", state.hot), ("cool", state.cool))
    return " ".join([*(word for word, mask in marks if mask >> state.held & 1), game.objects[state.held]])


def _receptacle(game: Game, state: State, receptacle: int) -> str:
    name = game.receptacles[receptacle]
    if game.openable >> receptacle & 1 and not state.opened >> receptacle & 1:
        return f"{name}: closed"
    return f"{name}: {', '.join(game.objects[thing] for thing in bits(state.contents[receptacle])) or 'nothing'}"

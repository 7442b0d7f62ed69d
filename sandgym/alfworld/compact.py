"""A shorter way to tell a player the same: ``observation_mode="compact"``.

Invariant: nothing is told that the official texts would not tell to a player who remembers all of
them, and uses ``inventory`` and ``examine``: the task, what is held and in what condition, what is
seen in the receptacles here, and which receptacles have not been looked into yet. What is of a
kind that the task names is called wanted.
"""

from __future__ import annotations

import re

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.state import NOTHING, State

_TASK = "Your task is to: "


def _unwanted(name: str) -> bool:
    return not name.startswith("wanted ")


def compact(game: Game, state: State, seen: int, happened: bool) -> str:
    """The task, what is held, the receptacles here with what is in them, and those still unseen.

    Args:
        game: whose names are used.
        state: what is told.
        seen: receptacles that have been looked into (see ``visible``).
        happened: whether the last command did something.
    """
    task = game.task.removeprefix(_TASK)
    named = frozenset(re.findall(r"\w+", task))
    parts = [f"{'' if happened else 'nothing happens. '}{task} hold {_held(game, state, named)}."]
    parts += [f"{_receptacle(game, state, each, named)}." for each in game.at[state.location]]
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


def _marked(name: str, named: frozenset[str]) -> str:
    """A name, with ``wanted`` before it when its kind is among those that the task names."""
    return f"wanted {name}" if name.rpartition(" ")[0] in named else name


def _held(game: Game, state: State, named: frozenset[str]) -> str:
    if state.held == NOTHING:
        return "nothing"
    marks = (("sliced", state.sliced), ("clean", state.clean), ("hot", state.hot), ("cool", state.cool))
    return " ".join(
        [*(word for word, mask in marks if mask >> state.held & 1), _marked(game.objects[state.held], named)]
    )


def _receptacle(game: Game, state: State, receptacle: int, named: frozenset[str]) -> str:
    """The receptacle and what is in it, wanted things first."""
    name = _marked(game.receptacles[receptacle], named)
    if game.openable >> receptacle & 1 and not state.opened >> receptacle & 1:
        return f"{name}: closed"
    things = sorted((_marked(game.objects[thing], named) for thing in bits(state.contents[receptacle])), key=_unwanted)
    return f"{name}: {', '.join(things) or 'nothing'}"

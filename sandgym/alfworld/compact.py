"""A shorter way to tell a player the same: ``observation_mode="compact"``.

Invariant: nothing is told that the first observation, ``inventory`` and ``examine`` would not tell:
the task, what is held and in what condition, and what is seen in the receptacles here.
"""

from __future__ import annotations

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.state import NOTHING, State

_TASK = "Your task is to: "


def compact(game: Game, state: State, happened: bool) -> str:
    """The task, what is held, and the receptacles here with what is seen in them.

    Args:
        game: whose names are used.
        state: what is told.
        happened: whether the last command did something.
    """
    here = game.at[state.location]
    seen = (
        "; ".join(_receptacle(game, state, each) for each in here) if here else f"room: {', '.join(game.receptacles)}"
    )
    return f"{'' if happened else 'nothing happens. '}{game.task.removeprefix(_TASK)} hold {_held(game, state)}. {seen}"


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

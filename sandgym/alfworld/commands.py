"""The commands that do something in a state.

Invariant: a command is listed exactly when ``rules.parse`` understands it and
``rules.possible`` allows it, in plain string order.
"""

from __future__ import annotations

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.rules import SPELLINGS, Action, accessible, has_help, spelling
from sandgym.alfworld.state import NOTHING, State


def admissible(game: Game, state: State, grammar: str = "file") -> tuple[str, ...]:
    """Admissible commands, sorted as strings (``go to cabinet 10`` before ``go to cabinet 2``).

    Args:
        game: whose names are used.
        state: the present state.
        grammar: see ``rules.spelling``.
    """
    early: list[str] = []  # these sort before "go to"
    late = ["help", "inventory", "look"] if has_help(game, grammar) else ["inventory", "look"]
    here = game.at[state.location]
    for receptacle in here:
        name = game.receptacles[receptacle]
        early.append(f"examine {name}")
        if game.openable >> receptacle & 1:
            if state.opened >> receptacle & 1:
                early.append(f"close {name}")
            else:
                late.append(f"open {name}")
        if state.held == NOTHING and accessible(game, state, receptacle):
            objects = game.objects
            late += [f"take {objects[o]} from {name}" for o in bits(state.contents[receptacle] & game.pickupable)]
    lamps = 0
    for receptacle in here:
        lamps |= state.contents[receptacle] & game.toggleable
    late += [f"use {game.objects[thing]}" for thing in bits(lamps)]
    if state.held != NOTHING:
        _with_object(game, state, spelling(game, grammar), early, late)
    early.sort()
    late.sort()
    return (*early, *_departures(game, state.location), *late)


def command(game: Game, action: Action, grammar: str = "file") -> str:
    """How an action is spelt."""
    verb, thing, receptacle, tool = action
    there = game.receptacles[receptacle] if receptacle != NOTHING else ""
    it = game.objects[thing] if thing != NOTHING else ""
    if verb == "go":
        return f"go to {there}"
    if verb == "move":
        return SPELLINGS[spelling(game, grammar)].format(it, there)
    if verb == "take":
        return f"take {it} from {there}"
    if verb in ("clean", "heat", "cool"):
        return f"{verb} {it} with {there}"
    if verb == "slice":
        return f"slice {it} with {game.objects[tool]}"
    return f"{verb} {it or there}" if it or there else verb


def _with_object(game: Game, state: State, put: str, early: list[str], late: list[str]) -> None:
    """Commands that need the held object."""
    held, name = state.held, game.objects[state.held]
    early.append(f"examine {name}")
    for receptacle in game.at[state.location]:
        there = game.receptacles[receptacle]
        if game.fits[receptacle] >> held & 1 and accessible(game, state, receptacle):
            late.append(SPELLINGS[put].format(name, there))
        if game.washers >> receptacle & 1 and game.cleanable >> held & 1:
            early.append(f"clean {name} with {there}")
        if game.heaters >> receptacle & 1 and game.heatable >> held & 1:
            late.append(f"heat {name} with {there}")
        if game.coolers >> receptacle & 1 and game.coolable >> held & 1:
            early.append(f"cool {name} with {there}")
    if game.knives >> held & 1:
        here = state.present[state.location] & game.sliceable
        late += [f"slice {game.objects[thing]} with {name}" for thing in bits(here)]


def _departures(game: Game, location: int) -> tuple[str, ...]:
    """Commands that lead away from a location."""
    if (known := game.departures.get(location)) is None:
        known = game.departures[location] = tuple(
            sorted(
                f"go to {name}" for name, where in zip(game.receptacles, game.where, strict=True) if where != location
            )
        )
    return known

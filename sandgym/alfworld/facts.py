"""The facts of a state, spelt as TextWorld's ``facts`` info spells them.

Invariant: the facts are those that are true in the state, plus what the original
remembers of the past: ``checked(...)`` of what was looked at, and ``not_...`` of what was
undone and not done again. The past is no part of ``State``, since no text depends on it
beyond ``State.taken``; whoever wants it folds ``remember`` over the actions. Left out are
the planner's own atoms ``new-axiom@...``, which the original computes once and never again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.rules import Action
from sandgym.alfworld.state import NOTHING, State

Memory = frozenset[str]
NO_MEMORY: Memory = frozenset()


def facts(game: Game, state: State, memory: Memory = NO_MEMORY) -> tuple[str, ...]:
    """Facts such as ``inreceptacle(mug 1: object, desk 1: receptacle)``, sorted.

    Args:
        game: whose names are used.
        state: the present state.
        memory: of the past, from ``remember``.
    """
    return tuple(sorted({*_fixed(game), *_true(game, state), *memory}))


def remember(game: Game, before: State, action: Action, memory: Memory) -> Memory:
    """The memory of the past after a possible action in state ``before``."""
    done, undone = _effects(game, before, action)
    return (
        (memory - {f"not_{fact}" for fact in done}) | {f"not_{fact}" for fact in undone} | _checks(game, before, action)
    )


def spell(predicate: str, *arguments: tuple[str, str]) -> str:
    """A fact of named and typed arguments."""
    return f"{predicate}({', '.join(f'{name}: {kind}' for name, kind in arguments)})"


@lru_cache(maxsize=64)
def _fixed(game: Game) -> frozenset[str]:
    """What never changes."""
    found = set(game.other_facts)
    for kind, *contained in game.can_contain:
        found.update(spell("cancontain", (f"{kind} ", "rtype"), (f"{inner} ", "otype")) for inner in contained)
    for index, kind in enumerate(game.object_types):
        if kind:
            found.add(spell("objecttype", _object(game, index), (f"{kind} ", "otype")))
    for index, kind in enumerate(game.receptacle_types):
        if kind:
            found.add(spell("receptacletype", _receptacle(game, index), (f"{kind} ", "rtype")))
        found.add(spell("receptacleatlocation", _receptacle(game, index), _location(game, game.where[index])))
    for index, mask in enumerate(game.inside):
        found.update(spell("inreceptacleobject", _object(game, o), _object(game, index)) for o in bits(mask))
    found.update(spell("openable", _receptacle(game, index)) for index in bits(game.openable))
    for predicate in ("pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable"):
        found.update(_each(game, predicate, getattr(game, predicate)))
    found.update(_each(game, "isreceptacleobject", game.holders))
    return frozenset(found)


def _true(game: Game, state: State) -> Iterator[str]:
    """What is true now and may change."""
    agent = (game.agent, "agent")
    yield spell("atlocation", agent, _location(game, state.location))
    if state.held != NOTHING:
        yield spell("holds", agent, _object(game, state.held))
        yield spell("holdsany", agent)
    for index, mask in enumerate(state.contents):
        yield from (_in(game, thing, index) for thing in bits(mask))
    for index, mask in enumerate(state.present):
        yield from (_at(game, thing, index) for thing in bits(mask))
    yield from (spell("opened", _receptacle(game, index)) for index in bits(state.opened))
    for name in ("clean", "hot", "cool", "sliced", "toggled"):
        yield from _each(game, f"is{name}", getattr(state, name))


def _effects(game: Game, before: State, action: Action) -> tuple[list[str], list[str]]:
    """Facts that an action makes true and false, whether or not they were so before."""
    verb, thing, receptacle, _ = action
    agent, here = (game.agent, "agent"), before.location
    if verb == "go":
        there = _location(game, game.where[receptacle])
        return [spell("atlocation", agent, there)], [spell("atlocation", agent, _location(game, here))]
    if verb in ("open", "close"):
        opened = [spell("opened", _receptacle(game, receptacle))]
        return (opened, []) if verb == "open" else ([], opened)
    if verb in ("take", "move"):
        held = [spell("holds", agent, _object(game, thing)), spell("holdsany", agent)]
        placed = [_in(game, thing, receptacle)]
        if _can_be_at(game, thing, here):
            placed.append(_at(game, thing, here))
        return (held, placed) if verb == "take" else (placed, held)
    if verb == "heat":
        return _each(game, "ishot", 1 << thing), _each(game, "iscool", 1 << thing & _can_be(game, "cool"))
    if verb == "cool":
        return _each(game, "iscool", 1 << thing), _each(game, "ishot", 1 << thing & _can_be(game, "hot"))
    if verb == "use":
        return _each(game, "istoggled", 1 << thing), _each(game, "ison", 1 << thing)
    return [], []  # nothing undoes clean and sliced


def _can_be_at(game: Game, thing: int, location: int) -> bool:
    """Whether an object was or can be put at a location; the original forgets what cannot be."""
    return bool(game.start.present[location] >> thing & 1 or any(game.fits[r] >> thing & 1 for r in game.at[location]))


def _can_be(game: Game, condition: str) -> int:
    """Objects that are or can become hot or cool; the original forgets what cannot be."""
    if condition == "hot":
        return game.start.hot | (game.heatable if game.heaters else 0)
    return game.start.cool | (game.coolable if game.coolers else 0)


def _checks(game: Game, before: State, action: Action) -> Memory:
    """What an action marks as looked at."""
    verb, thing, receptacle, _ = action
    if verb == "look":
        seen = _location(game, before.location)
    elif verb in ("inventory", "help"):
        seen = (game.agent, "agent")
    elif verb in ("open", "examine"):
        seen = _object(game, thing) if thing != NOTHING else _receptacle(game, receptacle)
    else:
        return NO_MEMORY
    return frozenset({spell("checked", seen)})


def _in(game: Game, thing: int, receptacle: int) -> str:
    return spell("inreceptacle", _object(game, thing), _receptacle(game, receptacle))


def _at(game: Game, thing: int, location: int) -> str:
    return spell("objectatlocation", _object(game, thing), _location(game, location))


def _each(game: Game, predicate: str, mask: int) -> list[str]:
    return [spell(predicate, _object(game, index)) for index in bits(mask)]


def _object(game: Game, index: int) -> tuple[str, str]:
    return game.objects[index], "object"


def _receptacle(game: Game, index: int) -> tuple[str, str]:
    return game.receptacles[index], "receptacle"


def _location(game: Game, index: int) -> tuple[str, str]:
    return game.locations[index], "location"

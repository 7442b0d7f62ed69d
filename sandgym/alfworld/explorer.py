"""How to play with only what a player has been told.

Invariant: a decision is a function of what is known, the admissible commands and a named
random stream, and is one of the admissible commands. Nothing here sees a game, and
nothing raises, whatever the texts were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sandgym.alfworld.knowledge import TREATMENTS, Knowledge, Place, puts
from sandgym.alfworld.priors import kind, weight
from sandgym.draws import Draw

DOORS = ("cabinet", "drawer", "fridge", "microwave", "safe")
"""Kinds of receptacles that are closed as a rule."""
UNLIKELY = 40
"""A receptacle that promises less (see ``promise``) is no place to look, unless nothing else is left."""
_DAWDLES = ("look", "inventory", "examine")
"""Verbs that change nothing."""
_SLIPS = {"go": 4, "impossible": 3, "door": 2}
"""What a mistake is -> how often."""


def decide(known: Knowledge, admissible: Collection[str], order: Iterable[int]) -> str:
    """The next command.

    Args:
        known: what is known.
        admissible: the commands that do something now.
        order: receptacles to search, first to last; only looked at when there is nothing better to do.
    """
    commands = frozenset(admissible)
    for wish in _wishes(known, order):
        if wish in commands:
            return wish
    return "look" if "look" in commands or not commands else min(commands)


def promise(known: Knowledge, index: int) -> int:
    """How likely a receptacle has what is sought, in thousandths (see ``priors.weight``); at least 1."""
    receptacle = kind(known.places[index].name)
    if known.task.type == 1 and receptacle == known.task.target:
        return 1  # with the thing in it, there would be nothing to do
    return sum(weight(thing, receptacle) for thing in known.sought()) or 1


def best_order(known: Knowledge, draw: Draw) -> list[int]:
    """Unseen receptacles by promise for each step they cost; among equals at random."""
    shuffled = draw.sample(known.unseen(), len(known.places))
    return sorted(shuffled, key=lambda index: -promise(known, index) / _cost(known, index))


def random_order(known: Knowledge, draw: Draw) -> list[int]:
    """Unseen receptacles at random: each next one in proportion to its promise for each step it costs.

    The order is drawn for all receptacles, so that the same stream always ranks any two of them alike.
    """
    left = {index: max(1, promise(known, index) // _usual_cost(place)) for index, place in enumerate(known.places)}
    order: list[int] = []
    while left:
        order.append(draw.weighted(left))
        del left[order[-1]]
    return [index for index in order if not known.places[index].seen]


def dawdle(admissible: Collection[str], best: str, draw: Draw) -> str:
    """A step that changes nothing: looking round or at something, or into one's bag; ``best`` where there is none."""
    groups: dict[str, list[str]] = {}
    for command in admissible:
        if (verb := command.partition(" ")[0]) in _DAWDLES:
            groups.setdefault(verb, []).append(command)
    return draw.pick(groups[draw.pick(sorted(groups))]) if groups else best


def slip(known: Knowledge, admissible: Collection[str], best: str, draw: Draw) -> str:
    """A mistake that a careless player might make instead of ``best``, at times a command that is not possible."""
    useless = {f"go to {place.name}" for i, place in enumerate(known.places) if place.seen or _unlikely(known, i)}
    groups: dict[str, list[str]] = {}
    for command in admissible:
        verb = command.partition(" ")[0]
        if command != best and verb not in _DAWDLES and (verb != "go" or command in useless):
            groups.setdefault("door" if verb in ("open", "close") else verb, []).append(command)
    groups["impossible"] = [command for command in _mistakes(known) if command not in admissible] or ["go"]
    return draw.pick(groups[draw.weighted({name: chance for name, chance in _SLIPS.items() if name in groups})])


def _mistakes(known: Knowledge) -> Iterator[str]:
    """To go where one is or to a place that there is not, or to take something that is elsewhere."""
    yield from (f"go to {known.places[index].name}" for index in known.here)
    yield from (f"go to {place.name}0" for place in known.places)
    for index in known.here:
        here = known.places[index].name
        yield from (f"take {thing} from {here}" for place in known.places for thing in place.things)


def _unlikely(known: Knowledge, index: int) -> bool:
    return promise(known, index) < UNLIKELY


def _cost(known: Knowledge, index: int) -> int:
    """Steps until the content of an unseen receptacle is seen, as far as one can tell."""
    place = known.places[index]
    return 1 if place.closed or index in known.here else _usual_cost(place)


def _usual_cost(place: Place) -> int:
    return 2 if kind(place.name) in DOORS else 1


# What to do, best first; the first wish that is admissible is granted.


def _wishes(known: Knowledge, order: Iterable[int]) -> Iterator[str]:
    if known.held and not known.useful(known.held):
        yield from _put_away(known)
    elif known.held:
        yield from _use(known)
    else:
        yield from _fetch(known)
    for index in order:
        yield from _reach(known, index)
        yield f"examine {known.places[index].name}"
    yield from (f"go to {place.name}" for place in _turned(known.places, known.steps))


def _use(known: Knowledge) -> Iterator[str]:
    """With a useful thing in the hands: treat it, bring it."""
    task, held, places = known.task, known.held, known.places
    if task.type == 2:
        for index in _nearest(known, known.with_lamps()):
            yield from (f"use {lamp}" for lamp in known.lamps(places[index]))
            yield from _go(known, index)
    elif task.type in TREATMENTS and held not in known.ready:
        verb, appliances = TREATMENTS[task.type]
        for index in _nearest(known, known.of_kinds(appliances)):
            yield f"{verb} {held} with {places[index].name}"
            yield from _go(known, index)
    else:
        for index in _targets(known):
            yield from puts(held, places[index].name)
            yield from _reach(known, index)


def _fetch(known: Knowledge) -> Iterator[str]:
    """With empty hands: take what is known to lie somewhere."""
    kept = _targets(known)[:1] if known.task.type == 6 else []
    for index in _nearest(known, [index for index in known.with_things() if index not in kept]):
        place = known.places[index]
        yield from _reach(known, index)
        yield from (f"take {thing} from {place.name}" for thing in place.things if known.useful(thing))


def _put_away(known: Knowledge) -> Iterator[str]:
    """With a useless thing in the hands: put it down, here if possible."""
    here = [known.places[index].name for index in known.here]
    for name in here:
        yield from puts(known.held, name)
    yield from (f"open {name}" for name in here)
    likely = sorted(known.places, key=lambda place: -weight(kind(known.held), kind(place.name)))
    yield from (f"go to {place.name}" for place in _turned(likely, known.steps))


def _reach(known: Knowledge, index: int) -> Iterator[str]:
    """To a receptacle, and into it."""
    yield from _go(known, index)
    yield f"open {known.places[index].name}"


def _go(known: Knowledge, index: int) -> Iterator[str]:
    if index not in known.here:
        yield f"go to {known.places[index].name}"


def _nearest(known: Knowledge, indices: list[int]) -> list[int]:
    """Those here first, then those that are not closed."""
    return sorted(indices, key=lambda index: (index not in known.here, known.places[index].closed))


def _targets(known: Knowledge) -> list[int]:
    """Where to bring things: where one is already, if two are wanted; then here; then without opening a door."""

    def effort(index: int) -> tuple[int, bool, bool, bool]:
        place = known.places[index]
        brought = sum(kind(thing) == known.task.thing for thing in place.things) if known.task.type == 6 else 0
        return -brought, index not in known.here, place.closed, not place.seen

    return sorted(known.of_kinds((known.task.target,)), key=effort)


def _turned(places: Iterable[Place], by: int) -> list[Place]:
    """The same places, beginning further on, so that nothing is tried for ever."""
    places = list(places)
    start = by % len(places) if places else 0
    return places[start:] + places[:start]

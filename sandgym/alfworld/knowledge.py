"""What a player has been told.

Invariant: a ``Knowledge`` is an immutable value, folded from the observations and the names
of the commands that were admissible. Nothing here sees a game, and nothing raises, whatever
the texts are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

from sandgym.alfworld.priors import kind

TREATMENTS = {3: ("clean", ("sinkbasin", "sink")), 4: ("heat", ("microwave",)), 5: ("cool", ("fridge",))}
"""Task type -> verb, and the kinds of receptacles that do it."""
_TASKS = tuple(
    (task_type, re.compile(rf"Your task is to: {sentence}\."))
    for task_type, sentence in (
        (6, r"put two (\S+) in (\S+)"),
        (6, r"find two (\S+) and put them in (\S+)"),
        (2, r"look at (\S+) under the (\S+)"),
        (2, r"examine the (\S+) with the (\S+)"),
        (3, r"put a clean (\S+) in (\S+)"),
        (3, r"clean some (\S+) and put it in (\S+)"),
        (4, r"put a hot (\S+) in (\S+)"),
        (4, r"heat some (\S+) and put it in (\S+)"),
        (5, r"put a cool (\S+) in (\S+)"),
        (5, r"cool some (\S+) and put it in (\S+)"),
        (1, r"put a (\S+) in (\S+)"),
        (1, r"put some (\S+) on (\S+)"),
    )
)
_ROOM = re.compile(r"Looking quickly around you, you see (.+?)\.")
_CLOSED = re.compile(r"The (\S+ \d+) is closed\.")
_CONTENT = re.compile(r"(?:The (\S+ \d+) is open\. In it|On the (\S+ \d+)), you see (.+?)\.")
_TAKEN = re.compile(r"You pick up the (.+) from the (.+)\.")
_LEFT = re.compile(r"You (?:move the (.+) to|put the (.+) in/on) the (.+)\.")
_SHUT = re.compile(r"You close the (.+)\.")
_TREATED = re.compile(r"You (clean|heat|cool) the (.+) using the .+\.")
_CARRIED = re.compile(r"You are carrying: a (.+)\.")
_EXAMINE = "examine "


class Task(NamedTuple):
    """What is to be done.

    Attributes:
        type: as in ``gamefile.TASK_TYPES``, or 0 where the sentence is not understood.
        thing: kind of the things that it is about, such as ``mug``.
        target: kind of the receptacle to bring them to, or of the lamp.
    """

    type: int
    thing: str
    target: str


class Place(NamedTuple):
    """What is known of a receptacle.

    Attributes:
        name: its name.
        seen: whether its content was shown.
        closed: whether it was closed when last heard of.
        things: its content, as far as it is known.
    """

    name: str
    seen: bool = False
    closed: bool = False
    things: tuple[str, ...] = ()


class Knowledge(NamedTuple):
    """What is known of a game.

    Attributes:
        task: what to do.
        places: the receptacles, in the order of the first observation.
        here: indices of those at the player's place.
        held: name of the thing in the hands, or nothing.
        ready: things that are clean, hot or cool as the task wants.
        failed: what turned out to be impossible, such as ``take desklamp 1``, ``heat cup 2`` or ``put pen 1``.
        steps: observations after the first.
    """

    task: Task
    places: tuple[Place, ...]
    here: tuple[int, ...] = ()
    held: str = ""
    ready: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    steps: int = 0

    def useful(self, thing: str) -> bool:
        """Whether a thing is of the kind that the task is about, and can still serve."""
        if not thing or kind(thing) != self.task.thing:
            return False
        return not any(f"{verb} {thing}" in self.failed for verb in ("take", "clean", "heat", "cool", "put"))

    def with_things(self) -> list[int]:
        """Receptacles that have a useful thing."""
        return [index for index, place in enumerate(self.places) if any(map(self.useful, place.things))]

    def with_lamps(self) -> list[int]:
        """Receptacles that have a lamp of the task's kind."""
        if self.task.type != 2:
            return []
        return [index for index, place in enumerate(self.places) if self.lamps(place)]

    def lamps(self, place: Place) -> list[str]:
        """The lamps in a receptacle that can serve."""
        return [lamp for lamp in place.things if kind(lamp) == self.task.target and f"use {lamp}" not in self.failed]

    def of_kinds(self, kinds: Collection[str]) -> list[int]:
        """Receptacles of some kinds."""
        return [index for index, place in enumerate(self.places) if kind(place.name) in kinds]

    def unseen(self) -> list[int]:
        """Receptacles whose content was not shown yet."""
        return [index for index, place in enumerate(self.places) if not place.seen]

    def sought(self) -> tuple[str, ...]:
        """Kinds of things that must still be found."""
        thing = () if self.useful(self.held) else (self.task.thing,)
        lamp = (self.task.target,) if self.task.type == 2 and not self.with_lamps() else ()
        return (*thing, *lamp) if self.task.type else ()


def begin(observation: str) -> Knowledge:
    """What the first observation tells."""
    task = Task(0, "", "")
    for task_type, sentence in _TASKS:
        if found := sentence.search(observation):
            task = Task(task_type, found[1], found[2])
            break
    room = _ROOM.search(observation)
    return Knowledge(task, tuple(Place(name) for name in _names(room[1])) if room else ())


def learn(known: Knowledge, observation: str, admissible: Collection[str]) -> Knowledge:
    """What is known after an observation.

    Args:
        known: what was known before.
        observation: the answer to the last command.
        admissible: the commands that do something now; they tell which receptacles are here, and what fails.
    """
    known = _read(known._replace(steps=known.steps + 1), observation)
    reachable = {command[len(_EXAMINE) :] for command in admissible if command.startswith(_EXAMINE)}
    here = tuple(index for index, place in enumerate(known.places) if place.name in reachable)
    known = known._replace(here=here)
    failed = _failures(known, frozenset(admissible))
    return known._replace(failed=known.failed | failed) if failed - known.failed else known


def puts(thing: str, receptacle: str) -> tuple[str, str]:
    """Both spellings of putting a thing into a receptacle."""
    return f"move {thing} to {receptacle}", f"put {thing} in/on {receptacle}"


def _read(known: Knowledge, observation: str) -> Knowledge:
    for name in _CLOSED.findall(observation):
        known = _at(known, name, lambda place: place._replace(closed=True))
    for inside, on, content in _CONTENT.findall(observation):
        known = _at(known, inside or on, partial(_showing, things=_names(content)))
    if found := _TAKEN.fullmatch(observation):
        thing = found[1]
        return _at(known._replace(held=thing), found[2], lambda place: _without(place, thing))
    if found := _LEFT.fullmatch(observation):
        thing = found[1] or found[2]
        return _at(known._replace(held=""), found[3], lambda place: _with(place, thing))
    if found := _SHUT.fullmatch(observation):
        return _at(known, found[1], lambda place: place._replace(closed=True))
    if found := _TREATED.fullmatch(observation):
        return _treated(known, found[1], found[2])
    found = _CARRIED.fullmatch(observation)
    return known._replace(held=found[1]) if found else known


def _names(listing: str) -> tuple[str, ...]:
    """The names of ``a mug 1, a cup 2, and a pan 1``."""
    parts = listing.replace(", and ", ", ").split(", ")
    return tuple(part.removeprefix("a ") for part in parts if part.startswith("a "))


def _at(known: Knowledge, name: str, change: Callable[[Place], Place]) -> Knowledge:
    return known._replace(places=tuple(change(place) if place.name == name else place for place in known.places))


def _showing(place: Place, things: tuple[str, ...]) -> Place:
    return Place(place.name, seen=True, closed=False, things=things)


def _without(place: Place, thing: str) -> Place:
    return place._replace(things=tuple(other for other in place.things if other != thing))


def _with(place: Place, thing: str) -> Place:
    return place._replace(things=(*_without(place, thing).things, thing))


def _treated(known: Knowledge, verb: str, thing: str) -> Knowledge:
    wanted = TREATMENTS.get(known.task.type, ("", ()))[0]
    if verb == wanted:
        return known._replace(ready=known.ready | {thing})
    undone = {verb, wanted} == {"heat", "cool"}
    return known._replace(ready=known.ready - {thing}) if undone else known


def _failures(known: Knowledge, admissible: frozenset[str]) -> frozenset[str]:
    """What the task may need and should be possible now, but is not."""
    task, held = known.task, known.held
    failed: set[str] = set()
    for place in (known.places[index] for index in known.here):
        failed.update(f"use {lamp}" for lamp in known.lamps(place) if f"use {lamp}" not in admissible)
        accessible = f"open {place.name}" not in admissible
        if not held and accessible:
            things = (thing for thing in place.things if kind(thing) == task.thing)
            failed.update(f"take {thing}" for thing in things if f"take {thing} from {place.name}" not in admissible)
        if kind(held) != task.thing:
            continue
        verb, appliances = TREATMENTS.get(task.type, ("", ()))
        if kind(place.name) in appliances and f"{verb} {held} with {place.name}" not in admissible:
            failed.add(f"{verb} {held}")
        if kind(place.name) == task.target and accessible and admissible.isdisjoint(puts(held, place.name)):
            failed.add(f"put {held}")
    return frozenset(failed)

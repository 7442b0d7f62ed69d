"""A compiled game: what never changes while it is played.

Invariant: every field is a string, a number or a tuple of such, so that a game can be
stored as plain data and rebuilt in microseconds; everything else is derived from the
fields when first asked for. Objects, receptacles and locations are indices, in the order
of their ids in the file, which is the order of every listing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from sandgym.alfworld.names import renumber, shuffled_names
from sandgym.alfworld.state import State

WASHERS = ("sinktype", "sinkbasintype")
HEATERS = ("microwavetype",)
COOLERS = ("fridgetype",)
KNIVES = ("knifetype", "butterknifetype")


@dataclasses.dataclass(frozen=True, eq=False)
class Game:
    """One game. Sets of objects or receptacles are bit masks over their indices.

    Attributes:
        task: the sentence ``Your task is to: ...``.
        grammar: ``"move"`` or ``"put"``, the generation of texts and commands.
        task_type: 1 to 6, as in ``gamefile.TASK_TYPES``.
        wanted: objects that can fulfil the goal, by type and property.
        targets: receptacles where they must be; for task type 2 the lamps, which are objects.
        agent: name of the agent, as facts give it.
        objects: their names.
        object_types: their types, such as ``mugtype``; empty for an object without.
        receptacles: their names.
        receptacle_types: their types.
        locations: their names; only the old texts and the facts show them.
        where: for each receptacle, its location.
        fits: for each receptacle, the objects that may be put into it.
        pickupable: objects that can be taken.
        cleanable: objects that can be cleaned.
        heatable: objects that can be heated.
        coolable: objects that can be cooled.
        sliceable: objects that can be sliced.
        toggleable: objects that can be switched on.
        holders: objects that can hold others (``isReceptacleObject``).
        inside: for each object, the objects in it (``inReceptacleObject``); never changes.
        openable: receptacles that can be opened.
        can_contain: for each receptacle type, in order, that type and the object types that it can contain.
        other_facts: initial facts that change nothing here, as ``facts`` spells them.
        walkthrough: commands that win; empty where the file has none.
        solvable: whether the file says so.
        origin: the state at the start, as a plain tuple.
    """

    task: str
    grammar: str
    task_type: int
    wanted: int
    targets: int
    agent: str
    objects: tuple[str, ...]
    object_types: tuple[str, ...]
    receptacles: tuple[str, ...]
    receptacle_types: tuple[str, ...]
    locations: tuple[str, ...]
    where: tuple[int, ...]
    fits: tuple[int, ...]
    pickupable: int
    cleanable: int
    heatable: int
    coolable: int
    sliceable: int
    toggleable: int
    holders: int
    inside: tuple[int, ...]
    openable: int
    can_contain: tuple[tuple[str, ...], ...]
    other_facts: tuple[str, ...]
    walkthrough: tuple[str, ...]
    solvable: bool
    origin: tuple[Any, ...]

    def record(self) -> tuple[Any, ...]:
        """The game as nested tuples of strings and integers; see ``from_record``."""
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    @classmethod
    def from_record(cls, record: Iterable[Any]) -> Game:
        """The game that gave this record; a list, as JSON makes it, is turned into tuples first."""
        return cls(*(record if isinstance(record, tuple) else _tuples(record)))

    def shuffled(self, seed: int) -> Game:
        """The same game with the numbers in names dealt out anew (domain randomization)."""
        names = shuffled_names((*self.objects, *self.receptacles, *self.locations), seed)
        return dataclasses.replace(
            self,
            objects=tuple(names[name] for name in self.objects),
            receptacles=tuple(names[name] for name in self.receptacles),
            locations=tuple(names[name] for name in self.locations),
            other_facts=tuple(renumber(fact, names) for fact in self.other_facts),
            walkthrough=tuple(renumber(command, names) for command in self.walkthrough),
            origin=(*self.origin[:-1], seed),
        )

    @cached_property
    def start(self) -> State:
        """The state at the start."""
        return State(*self.origin)

    @cached_property
    def at(self) -> tuple[tuple[int, ...], ...]:
        """For each location, its receptacles in order."""
        found: list[list[int]] = [[] for _ in self.locations]
        for receptacle, location in enumerate(self.where):
            found[location].append(receptacle)
        return tuple(map(tuple, found))

    @cached_property
    def washers(self) -> int:
        """Receptacles in which things are cleaned."""
        return of_types(self.receptacle_types, WASHERS)

    @cached_property
    def heaters(self) -> int:
        """Receptacles in which things are heated."""
        return of_types(self.receptacle_types, HEATERS)

    @cached_property
    def coolers(self) -> int:
        """Receptacles in which things are cooled."""
        return of_types(self.receptacle_types, COOLERS)

    @cached_property
    def knives(self) -> int:
        """Objects with which things are sliced."""
        return of_types(self.object_types, KNIVES)

    @cached_property
    def object_index(self) -> dict[str, int]:
        """Index of an object by its name."""
        return {name: index for index, name in enumerate(self.objects)}

    @cached_property
    def receptacle_index(self) -> dict[str, int]:
        """Index of a receptacle by its name."""
        return {name: index for index, name in enumerate(self.receptacles)}

    @cached_property
    def departures(self) -> dict[int, tuple[str, ...]]:
        """Commands that lead away from a location, as far as ``commands`` has made them."""
        return {}


def of_types(types: Iterable[str], wanted: Iterable[str]) -> int:
    """Bit mask of the indices whose type is one of ``wanted``."""
    wanted = frozenset(wanted)
    return sum(1 << index for index, name in enumerate(types) if name in wanted)


def bits(mask: int) -> Iterator[int]:
    """Indices in a bit mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, tuple | list) else value

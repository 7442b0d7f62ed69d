"""A compiled game: what never changes while it is played.

Invariant: every field is a string, a number or a tuple of such, so that a game can be
stored as plain data and rebuilt in microseconds; everything else is derived from the
fields when first asked for. Objects, receptacles and locations are indices, in the order
of their ids in the file, which is the order of every listing.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from sandgym.alfworld.gamefile import Atom, GameFileError, GameSource
from sandgym.alfworld.names import display_names, renumber, shuffled_names
from sandgym.alfworld.state import NOTHING, State

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


def compile_game(source: GameSource, shuffle_seed: int | None = None) -> Game:
    """Compile what a game file says.

    Args:
        source: the file's content.
        shuffle_seed: see ``Game.shuffled``.

    Raises:
        GameFileError: facts that no game of ALFRED has, such as a receptacle in two places.
    """
    game = _Compiler(source).game()
    return game if shuffle_seed is None else game.shuffled(shuffle_seed)


class _Compiler:
    """Indices, tables and masks of one source."""

    def __init__(self, source: GameSource) -> None:
        self.source = source
        self.facts: dict[str, list[Atom]] = defaultdict(list)
        for predicate, *arguments in source.init:
            self.facts[predicate].append(tuple(arguments))
        used = sorted({argument for _, *arguments in source.init for argument in arguments})
        self.names = display_names(used)
        types = self.types = dict(source.types)
        undeclared = [name for name in used if name not in types]
        if undeclared:
            raise GameFileError(f"{undeclared[0]!r} is in (:init ...) but not in (:objects ...)")
        self.of = {kind: [name for name in used if types[name] == kind] for kind in _KINDS}
        self.index = {kind: {name: index for index, name in enumerate(names)} for kind, names in self.of.items()}

    def game(self) -> Game:
        """The compiled game."""
        source, goal = self.source, self.source.goal
        objects, receptacles, locations = (self.of[kind] for kind in ("object", "receptacle", "location"))
        object_types = self._single("objecttype", objects, default="")
        receptacle_types = self._single("receptacletype", receptacles, default="")
        contains: dict[str, set[str]] = defaultdict(set)
        for outer, inner in self._pairs("cancontain"):
            contains[outer].add(inner)
        wanted = of_types(object_types, [goal.object_type])
        for task_type, predicate in ((3, "cleanable"), (4, "heatable"), (5, "coolable")):
            if goal.task_type == task_type:
                wanted &= self._mask(predicate)
        if goal.task_type == 2:
            targets = of_types(object_types, [goal.target_type]) & self._mask("toggleable")
        else:
            targets = of_types(receptacle_types, [goal.target_type])
        where = [self._index(place, "location") for place in self._single("receptacleatlocation", receptacles)]
        return Game(
            task=source.task,
            grammar=source.grammar,
            task_type=goal.task_type,
            wanted=wanted,
            targets=targets,
            agent=self.names[self._agent()],
            objects=tuple(self.names[name] for name in objects),
            object_types=object_types,
            receptacles=tuple(self.names[name] for name in receptacles),
            receptacle_types=receptacle_types,
            locations=tuple(self.names[name] for name in locations),
            where=tuple(where),
            fits=tuple(of_types(object_types, contains.get(kind, ())) for kind in receptacle_types),
            **{name: self._mask(predicate) for name, predicate in _MASKS.items()},
            inside=self._table("inreceptacleobject", "object"),
            can_contain=tuple((outer, *sorted(contains[outer])) for outer in sorted(contains)),
            other_facts=tuple(
                f"{predicate}({', '.join(f'{self.names[name]}: {self.types[name]}' for name in arguments)})"
                for predicate, *arguments in source.init
                if predicate not in _UNDERSTOOD
            ),
            walkthrough=source.walkthrough,
            solvable=source.solvable is True,
            origin=tuple(self._origin()),
        )

    def _origin(self) -> State:
        held = [self._index(thing, "object") for _, thing in self._pairs("holds")]
        places = [self._index(place, "location") for _, place in self._pairs("atlocation")]
        if len(places) != 1 or len(held) > 1:
            raise GameFileError(f"the agent must be at one location with one thing at most, not {places} with {held}")
        return State(
            location=places[0],
            held=held[0] if held else NOTHING,
            contents=self._table("inreceptacle", "receptacle"),
            present=self._table("objectatlocation", "location"),
            taken=(0,) * len(self.of["receptacle"]),
            **{name: self._mask(predicate) for name, predicate in _STATE_MASKS.items()},
        )

    def _agent(self) -> str:
        if len(self.of["agent"]) != 1:
            raise GameFileError(f"a game has one agent, not {len(self.of['agent'])}")
        return self.of["agent"][0]

    def _pairs(self, predicate: str) -> list[tuple[str, str]]:
        return [(first, second) for first, second in self._checked(predicate, 2)]

    def _checked(self, predicate: str, arity: int) -> list[Atom]:
        for atom in self.facts[predicate]:
            if len(atom) != arity:
                raise GameFileError(f"the fact ({' '.join((predicate, *atom))}) should have {arity} arguments")
        return self.facts[predicate]

    def _single(self, predicate: str, names: list[str], default: str | None = None) -> tuple[str, ...]:
        """The one value of ``predicate`` for each name."""
        values: dict[str, str] = {}
        for name, value in self._pairs(predicate):
            if values.setdefault(name, value) != value:
                raise GameFileError(f"{name!r} has two values of {predicate}")
        missing = [name for name in names if name not in values]
        if missing and default is None:
            raise GameFileError(f"{missing[0]!r} has no {predicate}")
        return tuple(values.get(name, default or "") for name in names)

    def _mask(self, predicate: str) -> int:
        kind = "receptacle" if predicate in ("openable", "opened") else "object"
        return sum({1 << self._index(name, kind) for (name,) in self._checked(predicate, 1)})

    def _table(self, predicate: str, kind: str) -> tuple[int, ...]:
        """Masks of the objects that are first arguments, by the index of the second, which is of ``kind``."""
        table = [0] * len(self.of[kind])
        for first, second in self._pairs(predicate):
            table[self._index(second, kind)] |= 1 << self._index(first, "object")
        return tuple(table)

    def _index(self, name: str, kind: str) -> int:
        index = self.index[kind].get(name)
        if index is None:
            raise GameFileError(f"{name!r} stands in (:init ...) for a thing of type {kind}, which it is not")
        return index


_KINDS = ("agent", "object", "receptacle", "location")
_MASKS: Mapping[str, str] = {
    **{name: name for name in ("pickupable", "cleanable", "heatable", "coolable", "sliceable", "toggleable")},
    "holders": "isreceptacleobject",
    "openable": "openable",
}
_STATE_MASKS: Mapping[str, str] = {
    "opened": "opened",
    **{name: f"is{name}" for name in ("clean", "hot", "cool", "sliced", "toggled")},
}
_UNDERSTOOD = frozenset(
    {*_MASKS.values(), *_STATE_MASKS.values(), "objecttype", "receptacletype", "receptacleatlocation", "cancontain"}
    | {"inreceptacleobject", "inreceptacle", "objectatlocation", "atlocation", "holds", "holdsany"}
)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, tuple | list) else value

"""Facts of a game file compiled into a ``Game``.

Invariant: the compiled game depends on the set of facts only, not on their order in the
file. Facts that the engine could not play faithfully are errors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sandgym.alfworld.game import Game, of_types
from sandgym.alfworld.gamefile import Atom, GameFileError, GameSource
from sandgym.alfworld.names import display_names
from sandgym.alfworld.state import NOTHING, State


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

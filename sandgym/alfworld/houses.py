"""Rooms with a fixed layout: which furniture stands where, and what a room tends to have.

Invariant: a room is a function of (seed, number of the scene). Every receptacle has one
place from which it is reached; several may share it. Ids are unique in a room and hold
coordinates in metres, as ALFRED's do.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from sandgym.alfworld.household import HEIGHTS, OPENABLE, SHARES_PLACE, RoomKind
from sandgym.alfworld.rooms import ROOM_KINDS, ROOMS_OF_A_KIND
from sandgym.draws import Draw

Point = tuple[int, int, int]
MOST_AT_ONE_PLACE = 4
FREE_PLACES = 6
CAMERA_ANGLES = (-30, 0, 15, 30, 45, 60)


@dataclasses.dataclass(frozen=True)
class Receptacle:
    """A piece of furniture, or a part of it, that things can be in or on.

    Attributes:
        id: kind and coordinates, such as ``Drawer_bar__plus_01_dot_20_bar_...``.
        kind: such as ``Drawer``.
        place: id of the place from which it is reached.
        openable: whether it has a door.
        point: centimetres from the middle of the room: to the right, up, forward.
    """

    id: str
    kind: str
    place: str
    openable: bool
    point: Point


@dataclasses.dataclass(frozen=True)
class Fixture:
    """A thing that is in no receptacle, such as a window."""

    id: str
    kind: str
    place: str


@dataclasses.dataclass(frozen=True)
class Room:
    """A room.

    Attributes:
        scene: its number; hundreds give the kind of room.
        kind: of room.
        receptacles: all of them.
        fixtures: things that are in no receptacle.
        things: types of things that are always somewhere in the room.
        free_places: places at no receptacle, where a player can start.
    """

    scene: int
    kind: RoomKind
    receptacles: tuple[Receptacle, ...]
    fixtures: tuple[Fixture, ...]
    things: tuple[str, ...]
    free_places: tuple[str, ...]

    def receptacles_of(self, kind: str) -> list[Receptacle]:
        """Receptacles of a kind."""
        return [receptacle for receptacle in self.receptacles if receptacle.kind == kind]

    def priors_of(self, thing: str) -> dict[str, int]:
        """Where things of a type are kept in this room: receptacle type -> weight."""
        here = {receptacle.kind for receptacle in self.receptacles}
        return {kind: weight for kind, weight in self.kind.things[thing][1].items() if kind in here}


def scenes(unseen: bool) -> list[int]:
    """Numbers of the rooms, kinds taking turns: those of ``test`` (unseen), or of the other splits."""
    first_unseen = ROOMS_OF_A_KIND * 4 // 5
    chosen = range(first_unseen, ROOMS_OF_A_KIND) if unseen else range(first_unseen)
    return [kind.first_scene + index for index in chosen for kind in ROOM_KINDS]


def build_room(scene: int, seed: int = 0) -> Room:
    """The room of a scene.

    Raises:
        ValueError: no room has this number.
    """
    kind = next((k for k in ROOM_KINDS if k.first_scene <= scene < k.first_scene + ROOMS_OF_A_KIND), None)
    if kind is None:
        raise ValueError(f"there is no scene {scene}; known: {sorted(scenes(False) + scenes(True))}")
    builder = _Builder(Draw("room", seed, scene))
    for furniture, amount in kind.furniture.items():
        for _ in range(builder.how_many(amount.share, amount.low, amount.high)):
            builder.put_up(furniture)
    free_places = tuple(builder.new_place() for _ in range(FREE_PLACES))
    fixtures = tuple(
        Fixture(builder.names.new(fixture, builder.anywhere(0, 220)), fixture, builder.draw.pick(free_places))
        for fixture, amount in kind.fixtures.items()
        for _ in range(builder.how_many(amount.share, amount.low, amount.high))
    )
    here = {receptacle.kind for receptacle in builder.receptacles}
    things = tuple(
        thing
        for thing, (share, places) in kind.things.items()
        if builder.draw.chance(share) and not here.isdisjoint(places)
    )
    return Room(scene, kind, tuple(builder.receptacles), fixtures, things, free_places)


class Names:
    """Ids with coordinates; no two are equal."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def new(self, kind: str, point: Point) -> str:
        """An id of a thing at a point, moved aside by a centimetre as often as the id is taken."""
        right, up, forward = point
        while (name := f"{kind}{_coordinate(right)}{_coordinate(up)}{_coordinate(forward)}") in self._used:
            forward += 1
        self._used.add(name)
        return name


def _coordinate(centimetres: int) -> str:
    sign = "_minus_" if centimetres < 0 else "_plus_" if centimetres else ""
    metres, rest = divmod(abs(centimetres), 100)
    return f"_bar_{sign}{metres:02}_dot_{rest:02}"


def _whole(number: int) -> str:
    return f"_bar__minus_{-number}" if number < 0 else f"_bar_{number}"


class _Builder:
    """Puts up furniture, one piece after the other."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.names = Names()
        self.receptacles: list[Receptacle] = []
        self._places: set[str] = set()

    def how_many(self, share: float, low: int, high: int) -> int:
        return self.draw.between(low, high) if self.draw.chance(share) else 0

    def anywhere(self, low: int, high: int) -> Point:
        draw = self.draw
        return draw.between(-399, 399), draw.between(low, high), draw.between(-399, 399)

    def new_place(self) -> str:
        draw = self.draw
        while True:
            numbers = draw.between(-16, 16), draw.between(-16, 16), draw.below(4), draw.pick(CAMERA_ANGLES)
            name = "loc" + "".join(map(_whole, numbers))
            if name not in self._places:
                self._places.add(name)
                return name

    def put_up(self, kind: str) -> None:
        point = self.anywhere(*HEIGHTS.get(kind, (0, 95)))
        whole = kind.removesuffix("Basin")  # a basin is a part of a sink or of a bathtub
        name = self.names.new(whole, point) + ("" if whole == kind else f"_bar_{kind}")
        openable = self.draw.chance(OPENABLE.get(kind, 0.0))
        place = self._shared_place(kind) or self.new_place()
        self.receptacles.append(Receptacle(name, kind, place, openable, point))

    def _shared_place(self, kind: str) -> str | None:
        for own, other, share in SHARES_PLACE:
            neighbours = [receptacle for receptacle in self.receptacles if receptacle.kind == other]
            if own == kind and neighbours and self.draw.chance(share):
                place = neighbours[-1].place
                if Counter(receptacle.place for receptacle in self.receptacles)[place] < MOST_AT_ONE_PLACE:
                    return place
        return None

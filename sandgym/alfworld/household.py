"""What is in a household: kinds of rooms, furniture and things, and where things tend to be.

Invariant: a thing is only ever placed where ``CONTAINS`` lets a player put it, and the
tables hold for every room of a kind, so that what is learned in one room helps in the next.
"""

from __future__ import annotations

import dataclasses


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLEANABLE = _words(
    "Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Kettle Knife Ladle Lettuce Mug Pan Plate Pot Potato "
    "SoapBar Spatula Spoon Tomato"
)
HEATABLE = _words("Apple Bread Cup Egg Mug Plate Potato Tomato")
COOLABLE = _words("Apple Bowl Bread Cup Egg Lettuce Mug Pan Plate Pot Potato Tomato WineBottle")
SLICEABLE = _words("Apple Bread Egg Lettuce Potato Tomato")
TOGGLEABLE = _words("DeskLamp FloorLamp")
HOLDS_THINGS = _words("Bowl Box Cup Mug Pan Plate Pot")
HELD_IN_THINGS = _words("ButterKnife CellPhone DishSponge Fork Knife Ladle Pen Pencil Spatula Spoon")
FIXED = _words("DeskLamp HousePlant Television")  # stand on furniture and cannot be picked up

_FOOD = "Apple Bread Egg Lettuce Potato Tomato"
_DISHES = "Bowl Cup Mug Plate"
_CUTLERY = "ButterKnife Fork Knife Ladle Spatula Spoon"
_COOKWARE = "Kettle Pan Pot"
_BOTTLES = "Glassbottle WineBottle"
_SPICES = "PepperShaker SaltShaker"
_POCKET = "CellPhone CreditCard KeyChain"
_DESK = "AlarmClock Book CD Laptop Pen Pencil"
_DECORATION = "Box Statue TissueBox Vase WateringCan"
_BATH = "Candle Cloth HandTowel SoapBar SoapBottle SprayBottle TissueBox ToiletPaper"
_SEAT = f"{_POCKET} Book Box Laptop Newspaper Pillow RemoteControl"
_TABLE = f"{_POCKET} {_DESK} {_DECORATION} Bowl Candle Mug Newspaper Plate RemoteControl Watch DeskLamp HousePlant"
_SPORT = "BaseballBat BasketBall TennisRacket"

CONTAINS: dict[str, frozenset[str]] = {
    "ArmChair": _words(_SEAT),
    "BathtubBasin": _words("Cloth DishSponge HandTowel SoapBar"),
    "Bed": _words(f"Book CellPhone Laptop Pillow TeddyBear {_SPORT}"),
    "Cabinet": _words(
        f"{_DISHES} {_COOKWARE} {_BOTTLES} {_SPICES} {_BATH} Book Box CD DishSponge Ladle Newspaper Vase WateringCan"
    ),
    "Cart": _words(f"{_BATH} DishSponge"),
    "CoffeeMachine": _words("Mug"),
    "CoffeeTable": _words(_TABLE),
    "CounterTop": _words(
        f"{_FOOD} {_DISHES} {_CUTLERY} {_COOKWARE} {_BOTTLES} {_SPICES} {_POCKET} {_DESK} {_BATH} DishSponge "
        "HousePlant PaperTowelRoll RemoteControl Statue Vase"
    ),
    "Desk": _words(f"{_TABLE} {_SPORT}"),
    "DiningTable": _words(
        f"{_FOOD} {_DISHES} {_CUTLERY} {_COOKWARE} {_BOTTLES} {_SPICES} {_TABLE} DishSponge PaperTowelRoll "
        "SoapBottle SprayBottle"
    ),
    "Drawer": _words(
        f"{_CUTLERY} {_SPICES} {_POCKET} Book CD Candle Cloth DishSponge HandTowel Newspaper Pen Pencil RemoteControl "
        "SoapBar SoapBottle SprayBottle TissueBox ToiletPaper Watch"
    ),
    "Dresser": _words(f"{_TABLE} {_SPORT} Cloth SoapBottle SprayBottle Television ToiletPaper"),
    "Fridge": _words(f"{_FOOD} {_DISHES} {_BOTTLES} Pan Pot"),
    "GarbageCan": _words(
        f"{_FOOD} {_BOTTLES} CD Cloth DishSponge HandTowel Newspaper PaperTowelRoll Pen Pencil SoapBar SoapBottle "
        "SprayBottle TissueBox ToiletPaper"
    ),
    "HandTowelHolder": _words("HandTowel"),
    "LaundryHamper": _words("Cloth"),
    "Microwave": _words("Apple Bowl Bread Cup Egg Glassbottle Mug Plate Potato Tomato"),
    "Ottoman": _words(_SEAT),
    "Safe": _words("CD CellPhone CreditCard KeyChain Statue Vase Watch"),
    "Shelf": _words(f"{_TABLE} {_BATH} {_BOTTLES} {_SPICES} {_COOKWARE} Cup DishSponge PaperTowelRoll"),
    "SideTable": _words(f"{_FOOD} {_CUTLERY} {_SPICES} {_TABLE} {_BATH} Cup DishSponge Pan Pot WineBottle"),
    "SinkBasin": _words(
        f"{_DISHES} {_CUTLERY} {_COOKWARE} Apple Cloth DishSponge Egg Glassbottle HandTowel Lettuce Potato SoapBar "
        "Tomato"
    ),
    "Sofa": _words(_SEAT),
    "StoveBurner": _words(_COOKWARE),
    "TVStand": _words("Newspaper RemoteControl Statue Television TissueBox Vase"),
    "Toaster": frozenset(),
    "Toilet": _words(f"{_BATH} DishSponge"),
    "ToiletPaperHanger": _words("ToiletPaper"),
    "TowelHolder": _words("Towel"),
}

OPENABLE = {"Cabinet": 0.8, "Drawer": 0.85, "Fridge": 1.0, "Microwave": 1.0, "Safe": 1.0}
"""Share of receptacles of a type that have a door; a cabinet without one is an open one."""

HEIGHTS = {"Cabinet": (30, 210), "Drawer": (20, 90), "Shelf": (20, 180)}
"""Height above the floor in centimetres, from and to; other furniture is 0 to 95 high."""

SHARES_PLACE: tuple[tuple[str, str, float], ...] = (
    ("StoveBurner", "StoveBurner", 0.75),
    ("CoffeeMachine", "CounterTop", 0.5),
    ("Toaster", "CounterTop", 0.2),
    ("Cabinet", "Cabinet", 0.08),
    ("Drawer", "Drawer", 0.1),
    ("Drawer", "Dresser", 0.1),
    ("Shelf", "Shelf", 0.06),
)
"""A receptacle, one that was put up before it, and how often one stands before both at one place."""

TOUCHES: dict[tuple[str, str], str] = {
    ("Mug", "CoffeeMachine"): "CounterTop",
    ("Pot", "StoveBurner"): "StoveBurner",
    ("Pan", "StoveBurner"): "StoveBurner",
    ("Kettle", "StoveBurner"): "StoveBurner",
    ("DeskLamp", "Desk"): "Shelf",
    ("AlarmClock", "Desk"): "Shelf",
    ("Bowl", "Desk"): "Shelf",
}
"""A thing in a receptacle that at times counts as in a second one too."""


@dataclasses.dataclass(frozen=True)
class Amount:
    """How often a kind of furniture is in a room, and how many of it."""

    share: float
    low: int
    high: int


@dataclasses.dataclass(frozen=True)
class RoomKind:
    """One of the four kinds of rooms.

    Attributes:
        name: of the kind.
        first_scene: the number of its first room; there are 30 of a kind.
        furniture: receptacle type -> amount, in the order in which they are put up.
        fixtures: type of things that are in no receptacle (windows, chairs, pictures) -> amount.
        things: object type -> (share of rooms that have it, receptacle type -> weight).
    """

    name: str
    first_scene: int
    furniture: dict[str, Amount]
    fixtures: dict[str, Amount]
    things: dict[str, tuple[float, dict[str, int]]]


def amounts(text: str) -> dict[str, Amount]:
    """``"Safe 0.4 1-1, ..."`` as a table: type, share of rooms, lowest and highest number."""
    table: dict[str, Amount] = {}
    for entry in text.split(","):
        kind, share, numbers = entry.split()
        low, high = numbers.split("-")
        table[kind] = Amount(float(share), int(low), int(high))
    return table


def things(text: str) -> dict[str, tuple[float, dict[str, int]]]:
    """Lines ``"Egg 1.0: Fridge 4, CounterTop 3"`` as a table."""
    table: dict[str, tuple[float, dict[str, int]]] = {}
    for line in text.strip().splitlines():
        head, _, places = line.partition(":")
        kind, share = head.split()
        table[kind] = (float(share), {place: int(weight) for place, weight in map(str.split, places.split(","))})
    return table

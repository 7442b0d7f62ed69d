"""The four kinds of rooms: their furniture and what is kept where.

Invariant: the numbers are weights and shares of rooms, chosen by household sense; a room
of a kind always has what its kind is named for (a kitchen can cool, heat and clean).
"""

from __future__ import annotations

from sandgym.alfworld.household import RoomKind, amounts, things

ROOMS_OF_A_KIND = 30

KITCHEN = RoomKind(
    name="kitchen",
    first_scene=1,
    furniture=amounts(
        "CounterTop 1.0 1-4, Cabinet 1.0 4-15, DiningTable 0.4 1-2, SideTable 0.06 1-1, Drawer 1.0 2-8, "
        "Shelf 0.45 2-3, Fridge 1.0 1-1, Microwave 1.0 1-1, SinkBasin 1.0 1-1, StoveBurner 1.0 4-4, "
        "CoffeeMachine 1.0 1-1, Toaster 1.0 1-1, GarbageCan 1.0 1-1"
    ),
    fixtures=amounts(
        "LightSwitch 1.0 1-1, Window 0.9 1-2, Chair 0.8 1-3, StoveKnob 1.0 4-4, Sink 1.0 1-1, Curtains 0.1 1-1"
    ),
    things=things(
        """
Apple 1.0: Fridge 5, CounterTop 4, DiningTable 4, GarbageCan 2, Microwave 2, SinkBasin 2
Bowl 1.0: Cabinet 5, Fridge 4, CounterTop 3, DiningTable 3, Shelf 2, SinkBasin 1
Bread 1.0: CounterTop 7, DiningTable 5, Fridge 2
ButterKnife 1.0: CounterTop 5, Drawer 4, DiningTable 3, SinkBasin 1
Cup 1.0: Cabinet 5, CounterTop 3, Fridge 3, SinkBasin 3, DiningTable 2, Microwave 1, Shelf 1
DishSponge 1.0: CounterTop 4, SinkBasin 4, Cabinet 2, Drawer 2, GarbageCan 1
Egg 1.0: Fridge 5, CounterTop 4, SinkBasin 2, GarbageCan 2, Microwave 2, DiningTable 2
Fork 1.0: Drawer 5, CounterTop 4, DiningTable 3, SinkBasin 2
Knife 1.0: CounterTop 6, Drawer 4, DiningTable 3, SinkBasin 1
Lettuce 1.0: Fridge 5, CounterTop 5, DiningTable 3, SinkBasin 1, GarbageCan 1
Mug 1.0: CounterTop 4, CoffeeMachine 4, Cabinet 4, Fridge 1, Microwave 1, DiningTable 2, SinkBasin 1, Shelf 1
Pan 1.0: StoveBurner 7, CounterTop 3, Cabinet 2, Fridge 1, DiningTable 1
PepperShaker 1.0: Cabinet 4, CounterTop 4, Drawer 3, DiningTable 2, Shelf 2
Plate 1.0: Cabinet 5, CounterTop 3, DiningTable 3, Fridge 1, Shelf 1, SinkBasin 1
Pot 1.0: StoveBurner 7, CounterTop 2, Cabinet 2, Fridge 1, DiningTable 1
Potato 1.0: Fridge 4, CounterTop 4, SinkBasin 3, DiningTable 2, Microwave 1, GarbageCan 1
SaltShaker 1.0: Cabinet 4, CounterTop 4, Drawer 3, DiningTable 2, Shelf 2
SoapBottle 1.0: CounterTop 4, Cabinet 4, GarbageCan 2, DiningTable 1, Shelf 1
Spatula 1.0: Drawer 4, CounterTop 5, DiningTable 2, SinkBasin 2
Spoon 1.0: Drawer 5, CounterTop 4, DiningTable 3, SinkBasin 2
Tomato 1.0: Fridge 5, CounterTop 5, DiningTable 2, SinkBasin 2, GarbageCan 1
Glassbottle 0.5: Cabinet 4, CounterTop 4, Fridge 2, GarbageCan 1, SinkBasin 1, Shelf 1
HousePlant 0.6: CounterTop 6, DiningTable 1
Kettle 0.4: StoveBurner 5, CounterTop 3, Cabinet 3
Ladle 0.4: CounterTop 4, Drawer 3, Cabinet 2, DiningTable 2
PaperTowelRoll 0.5: CounterTop 5, GarbageCan 2, Shelf 2
Vase 0.3: Cabinet 3, Shelf 3, CounterTop 3
WineBottle 0.4: CounterTop 4, DiningTable 3, Cabinet 2, Fridge 2, GarbageCan 1
CellPhone 0.3: CounterTop 5, Drawer 2, Shelf 1
CreditCard 0.3: CounterTop 4, Drawer 3, Shelf 1
Book 0.15: CounterTop 4, DiningTable 3, Shelf 2
"""
    ),
)

LIVING_ROOM = RoomKind(
    name="living room",
    first_scene=201,
    furniture=amounts(
        "Sofa 1.0 1-2, ArmChair 1.0 1-2, CoffeeTable 0.5 1-2, DiningTable 0.4 1-1, SideTable 0.9 1-3, Dresser 0.5 1-1, "
        "TVStand 0.3 1-1, Drawer 0.85 2-9, Cabinet 0.45 2-6, Shelf 0.5 3-10, Safe 0.35 1-1, Ottoman 0.15 1-1, "
        "GarbageCan 1.0 1-1"
    ),
    fixtures=amounts(
        "LightSwitch 1.0 1-1, Painting 1.0 1-2, FloorLamp 0.9 1-1, Window 0.7 1-4, Chair 0.5 2-5, Curtains 0.2 1-1, "
        "Boots 0.1 1-1"
    ),
    things=things(
        """
Box 1.0: Sofa 4, Cabinet 3, DiningTable 3, Dresser 2, Shelf 2, SideTable 1, CoffeeTable 1
CreditCard 1.0: SideTable 4, Sofa 3, Drawer 3, ArmChair 2, Shelf 2, CoffeeTable 2, Dresser 2
HousePlant 0.5: SideTable 4, CoffeeTable 3, DiningTable 2, Shelf 1
KeyChain 1.0: SideTable 4, Drawer 3, Sofa 3, CoffeeTable 2, DiningTable 2, Dresser 2, Safe 1
Laptop 1.0: Sofa 4, DiningTable 4, CoffeeTable 4, ArmChair 3, Dresser 2
Pillow 1.0: Sofa 6, ArmChair 4, Ottoman 1
RemoteControl 1.0: Sofa 5, CoffeeTable 4, Dresser 3, SideTable 3, ArmChair 2, TVStand 2, Drawer 1
Statue 1.0: Shelf 4, SideTable 4, DiningTable 3, Dresser 3, TVStand 2, CoffeeTable 1, Safe 1
Television 1.0: TVStand 6, Dresser 4
CellPhone 0.6: ArmChair 4, Sofa 3, Dresser 3, SideTable 2, Drawer 2, Safe 1
DeskLamp 0.5: SideTable 6, Dresser 2
Newspaper 0.8: Sofa 5, CoffeeTable 3, SideTable 3, ArmChair 2, Shelf 2, Cabinet 1, DiningTable 1
TissueBox 0.6: SideTable 4, Cabinet 3, CoffeeTable 3, DiningTable 2, Dresser 2, Shelf 1
Vase 0.7: Shelf 5, CoffeeTable 2, DiningTable 2, SideTable 2, Safe 2, Cabinet 1, Dresser 1
Watch 0.7: SideTable 4, Drawer 3, CoffeeTable 3, Safe 2, Dresser 1, Shelf 1
Book 0.5: Sofa 3, CoffeeTable 3, SideTable 3, Shelf 3, Dresser 2, ArmChair 2, Drawer 1
Bowl 0.2: DiningTable 5, CoffeeTable 3
Candle 0.15: SideTable 4, CoffeeTable 3, DiningTable 2
Pen 0.2: SideTable 4, DiningTable 2, Drawer 2, CoffeeTable 2
Pencil 0.2: SideTable 4, CoffeeTable 3, Drawer 2
Plate 0.2: DiningTable 6, CoffeeTable 2, Shelf 1
WateringCan 0.3: SideTable 3, Shelf 3, Cabinet 3
"""
    ),
)

BEDROOM = RoomKind(
    name="bedroom",
    first_scene=301,
    furniture=amounts(
        "Bed 1.0 1-1, Desk 0.85 1-2, SideTable 0.5 1-2, Dresser 0.35 1-1, Drawer 1.0 2-9, Shelf 0.75 2-8, "
        "Safe 0.45 1-1, ArmChair 0.1 1-2, Cabinet 0.1 2-4, LaundryHamper 0.45 1-1, GarbageCan 1.0 1-1"
    ),
    fixtures=amounts(
        "LightSwitch 1.0 1-1, Mirror 1.0 1-1, Window 1.0 1-2, Blinds 0.9 1-2, Chair 0.85 1-2, Painting 0.3 1-2, "
        "Poster 0.15 1-2, LaundryHamperLid 0.4 1-1, Footstool 0.05 1-1"
    ),
    things=things(
        """
AlarmClock 1.0: Desk 4, SideTable 4, Shelf 3, Dresser 2
Book 1.0: Bed 6, Desk 4, Shelf 2, Drawer 2, SideTable 1, Dresser 1
CD 1.0: Drawer 4, Desk 4, GarbageCan 2, Dresser 2, SideTable 2, Shelf 1, Safe 1
CellPhone 1.0: Bed 5, Drawer 3, Desk 3, SideTable 2, Safe 2, Dresser 2, Shelf 1
CreditCard 1.0: Drawer 5, Shelf 3, Desk 3, SideTable 2, Dresser 1
KeyChain 1.0: Drawer 4, Desk 3, Shelf 3, Safe 2, SideTable 2, Dresser 2
Laptop 1.0: Bed 6, Desk 5
Pen 1.0: Desk 5, Drawer 4, Shelf 2, Dresser 2, SideTable 2, GarbageCan 1
Pencil 1.0: Desk 5, Drawer 3, Shelf 3, SideTable 2, Dresser 2, GarbageCan 1
Pillow 1.0: Bed 9, ArmChair 1
BaseballBat 0.4: Bed 2, Desk 1, Dresser 1
BasketBall 0.4: Bed 3, Desk 1, Dresser 1
Bowl 0.7: Desk 6, Shelf 3, Dresser 1, SideTable 1
Box 0.3: Desk 3, Shelf 3, Dresser 2
DeskLamp 0.85: Desk 6, SideTable 3, Dresser 2, Shelf 1
HousePlant 0.2: Shelf 3, Desk 3, Dresser 2
Mug 0.7: Desk 6, Shelf 3, SideTable 2, Dresser 1
RemoteControl 0.15: Drawer 4, Dresser 3, Desk 2
Statue 0.15: Shelf 4, Desk 3, Dresser 2
TeddyBear 0.3: Bed 1
TennisRacket 0.3: Bed 2, Desk 1, Dresser 1
TissueBox 0.2: Desk 4, SideTable 3, Shelf 2
Vase 0.1: Shelf 4, SideTable 2, Dresser 2, Desk 2
Watch 0.2: Drawer 4, SideTable 3, Shelf 2, Dresser 2
Cloth 0.1: LaundryHamper 3, Dresser 1, GarbageCan 1
"""
    ),
)

BATHROOM = RoomKind(
    name="bathroom",
    first_scene=401,
    furniture=amounts(
        "Toilet 1.0 1-1, SinkBasin 1.0 1-2, CounterTop 0.9 1-1, Cabinet 0.65 2-7, Drawer 0.4 2-7, "
        "BathtubBasin 0.5 1-1, Shelf 0.25 1-3, SideTable 0.06 1-1, Dresser 0.1 1-1, Cart 0.1 1-1, "
        "HandTowelHolder 1.0 1-2, TowelHolder 1.0 1-1, ToiletPaperHanger 1.0 1-1, GarbageCan 1.0 1-1"
    ),
    fixtures=amounts(
        "LightSwitch 1.0 1-1, Mirror 1.0 1-1, Sink 1.0 1-2, Plunger 1.0 1-1, ScrubBrush 1.0 1-1, ShowerDoor 0.6 1-1, "
        "ShowerGlass 0.5 1-1, Window 0.5 1-2, Painting 0.1 1-1"
    ),
    things=things(
        """
Candle 1.0: CounterTop 4, Toilet 4, Cabinet 2, Drawer 2, Shelf 2, Cart 1
Cloth 1.0: Cabinet 5, BathtubBasin 4, CounterTop 2, Drawer 2, Shelf 1, SinkBasin 1, Cart 1
HandTowel 1.0: HandTowelHolder 9, CounterTop 1
SoapBar 1.0: CounterTop 4, SinkBasin 3, Toilet 2, BathtubBasin 2, Drawer 2, Cabinet 2, Shelf 1, GarbageCan 1
SoapBottle 1.0: CounterTop 4, Cabinet 4, Toilet 3, GarbageCan 1, Shelf 1, Drawer 1, Dresser 1
SprayBottle 1.0: Cabinet 4, CounterTop 4, Toilet 3, GarbageCan 2, Shelf 1, Dresser 1, Cart 1
ToiletPaper 1.0: ToiletPaperHanger 4, Toilet 4, Cabinet 3, CounterTop 3, Drawer 2, GarbageCan 1, Shelf 1
Towel 1.0: TowelHolder 1
DishSponge 0.1: BathtubBasin 3, SinkBasin 2, Cart 2, CounterTop 1
TissueBox 0.25: Shelf 4, CounterTop 4, Toilet 2, Drawer 2, Cabinet 1
"""
    ),
)

ROOM_KINDS = (KITCHEN, LIVING_ROOM, BEDROOM, BATHROOM)

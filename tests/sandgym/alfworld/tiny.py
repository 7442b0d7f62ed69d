"""A room of eight receptacles in the official file format, written by hand.

The names that a player sees, worked out from the ids: receptacles countertop 1; desk 1 and
drawer 1 at one place; fridge 1; microwave 1; shelf 2 (``Shelf_bar_1``) and shelf 1; sinkbasin 1.
Objects apple 2 (``Apple_bar_1``, countertop), apple 1 (fridge), bowl 1 with creditcard 1 in it (shelf 2),
desklamp 1 and mug 2 (desk), mug 1 (drawer), knife 1 (countertop). ``loc_bar_0`` to ``loc_bar_7`` are loc 8 to loc 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sandgym.alfworld.compiler import compile_game
from sandgym.alfworld.game import Game
from sandgym.alfworld.gamefile import parse_game

OBJECTS = """
agent1 - agent
Vase - object
loc_bar_0 loc_bar_1 loc_bar_2 loc_bar_3 - location
loc_bar_4 loc_bar_5 loc_bar_6 loc_bar_7 - location
CounterTop_bar_1 Desk_bar_1 Drawer_bar_1 Fridge_bar_1 - receptacle
Microwave_bar_1 Shelf_bar_1 Shelf_bar_2 Sink_bar_1_bar_SinkBasin - receptacle
Apple_bar_1 Apple_bar_2 Bowl_bar_1 CreditCard_bar_1 DeskLamp_bar_1 - object
Knife_bar_1 Mug_bar_1 Mug_bar_2 Painting_bar_1 - object
AppleType BowlType CreditCardType DeskLampType KnifeType MugType PaintingType - otype
CounterTopType DeskType DrawerType FridgeType MicrowaveType ShelfType SinkBasinType - rtype
"""
FACTS = """
(atLocation agent1 loc_bar_0)
(receptacleType CounterTop_bar_1 CounterTopType) (receptacleAtLocation CounterTop_bar_1 loc_bar_1)
(receptacleType Desk_bar_1 DeskType) (receptacleAtLocation Desk_bar_1 loc_bar_2)
(receptacleType Drawer_bar_1 DrawerType) (receptacleAtLocation Drawer_bar_1 loc_bar_2) (openable Drawer_bar_1)
(receptacleType Fridge_bar_1 FridgeType) (receptacleAtLocation Fridge_bar_1 loc_bar_3) (openable Fridge_bar_1)
(receptacleType Microwave_bar_1 MicrowaveType) (receptacleAtLocation Microwave_bar_1 loc_bar_4)
(openable Microwave_bar_1)
(receptacleType Shelf_bar_1 ShelfType) (receptacleAtLocation Shelf_bar_1 loc_bar_5)
(receptacleType Shelf_bar_2 ShelfType) (receptacleAtLocation Shelf_bar_2 loc_bar_6)
(receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType) (receptacleAtLocation Sink_bar_1_bar_SinkBasin loc_bar_7)
(objectType Apple_bar_1 AppleType) (inReceptacle Apple_bar_1 CounterTop_bar_1) (objectAtLocation Apple_bar_1 loc_bar_1)
(objectType Apple_bar_2 AppleType) (inReceptacle Apple_bar_2 Fridge_bar_1) (objectAtLocation Apple_bar_2 loc_bar_3)
(isCool Apple_bar_2)
(objectType Bowl_bar_1 BowlType) (inReceptacle Bowl_bar_1 Shelf_bar_1) (objectAtLocation Bowl_bar_1 loc_bar_5)
(objectType CreditCard_bar_1 CreditCardType) (inReceptacle CreditCard_bar_1 Shelf_bar_1)
(objectAtLocation CreditCard_bar_1 loc_bar_5) (inReceptacleObject CreditCard_bar_1 Bowl_bar_1)
(inReceptacleObject Bowl_bar_1 Bowl_bar_1)
(objectType DeskLamp_bar_1 DeskLampType) (inReceptacle DeskLamp_bar_1 Desk_bar_1)
(objectAtLocation DeskLamp_bar_1 loc_bar_2) (toggleable DeskLamp_bar_1)
(objectType Knife_bar_1 KnifeType) (inReceptacle Knife_bar_1 CounterTop_bar_1) (objectAtLocation Knife_bar_1 loc_bar_1)
(objectType Mug_bar_1 MugType) (inReceptacle Mug_bar_1 Desk_bar_1) (objectAtLocation Mug_bar_1 loc_bar_2)
(objectType Mug_bar_2 MugType) (inReceptacle Mug_bar_2 Drawer_bar_1) (objectAtLocation Mug_bar_2 loc_bar_2)
(objectType Painting_bar_1 PaintingType) (objectAtLocation Painting_bar_1 loc_bar_1)
(pickupable Apple_bar_1) (pickupable Apple_bar_2) (pickupable Bowl_bar_1) (pickupable CreditCard_bar_1)
(pickupable Knife_bar_1) (pickupable Mug_bar_1) (pickupable Mug_bar_2)
(isReceptacleObject Bowl_bar_1)
(cleanable Apple_bar_1) (heatable Apple_bar_1) (coolable Apple_bar_1) (sliceable Apple_bar_1)
(cleanable Apple_bar_2) (heatable Apple_bar_2) (coolable Apple_bar_2) (sliceable Apple_bar_2)
(cleanable Mug_bar_1) (heatable Mug_bar_1) (coolable Mug_bar_1)
(cleanable Mug_bar_2) (heatable Mug_bar_2) (coolable Mug_bar_2)
(cleanable Knife_bar_1)
(canContain CounterTopType AppleType) (canContain CounterTopType KnifeType) (canContain CounterTopType MugType)
(canContain DeskType MugType) (canContain DeskType CreditCardType) (canContain DrawerType MugType)
(canContain FridgeType AppleType) (canContain FridgeType MugType) (canContain MicrowaveType AppleType)
(canContain ShelfType BowlType) (canContain ShelfType CreditCardType) (canContain ShelfType MugType)
(canContain SinkBasinType MugType)
"""
GOALS = {
    1: "(exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r) (objectType ?o {o}Type) "
    "(receptacleType ?r {r}Type))))",
    2: "(exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot {r}Type) (toggleable ?ot) "
    "(isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r))) "
    "(exists (?o - object ?a - agent) (and (objectType ?o {o}Type) (holds ?a ?o)))",
    **{
        number: f"(exists (?r - receptacle) (exists (?o - object) (and ({can} ?o) (objectType ?o {{o}}Type) "
        f"(receptacleType ?r {{r}}Type) ({done} ?o) (inReceptacle ?o ?r))))"
        for number, can, done in ((3, "cleanable", "isClean"), (4, "heatable", "isHot"), (5, "coolable", "isCool"))
    },
    6: "(exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 {o}Type) (receptacleType ?r {r}Type) "
    "(inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2)) (objectType ?o2 {o}Type) "
    "(receptacleType ?r {r}Type) (inReceptacle ?o2 ?r))))))",
}
TINY = "train/pick_and_place_simple-Mug-None-Shelf-1/trial_1"
TASK = "Your task is to: put a mug in shelf."
GRAMMARS = {"move": "move {o} to {r}", "put": "put {o} in/on {r}"}


def document(
    task_type: int = 1,
    thing: str = "Mug",
    target: str = "Shelf",
    generation: str = "move",
    facts: str = "",
    **changes: Any,
) -> dict[str, Any]:
    """Content of a game file.

    Args:
        task_type: of the goal.
        thing: what the goal wants.
        target: where, or the kind of lamp.
        generation: of texts and commands, ``"move"`` or ``"put"``.
        facts: further initial facts.
        changes: other values of the file; ``None`` leaves a key out.
    """
    goal = GOALS[task_type].format(o=thing, r=target)
    content = {
        "pddl_domain": "(define (domain alfred))",
        "grammar": f'grammar :: """{{"task": [{{"rhs": "{TASK}"}}]}}"""; template :: "{GRAMMARS[generation]}";',
        "pddl_problem": f"(define (problem plan_tiny) (:domain alfred) (:objects {OBJECTS}) "
        f"(:init {FACTS} {facts} ; a comment\n (= (distance loc_bar_1 loc_bar_2) 3) (= (total-cost) 0)) "
        f"(:goal (and {goal})))",
        "solvable": True,
        "walkthrough": ["go to desk 1", "take mug 2 from desk 1", "go to shelf 1", "move mug 2 to shelf 1"],
    } | changes
    return {key: value for key, value in content.items() if value is not None}


def game(*arguments: Any, **keywords: Any) -> Game:
    """The compiled game of a ``document``."""
    return compile_game(parse_game(json.dumps(document(*arguments, **keywords))))


def write(root: Path, task_id: str, content: dict[str, Any] | str | None) -> Path:
    """Put a game file (or, for ``None``, an empty trial folder) into a data folder; returns the trial's folder."""
    folder = root / task_id
    folder.mkdir(parents=True, exist_ok=True)
    if content is not None:
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / "game.tw-pddl").write_text(text, encoding="utf-8")
    return folder

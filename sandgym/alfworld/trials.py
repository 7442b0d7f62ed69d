"""One trial of a task in a room: a goal, things in their places, and commands that win.

Invariant: a trial is a function of its room, task type and seed. The goal does not hold at
the start, the walkthrough wins, and not before its last command.
"""

from __future__ import annotations

import dataclasses

from sandgym.alfworld.gamefile import TASK_TYPES
from sandgym.alfworld.household import (
    CLEANABLE,
    CONTAINS,
    COOLABLE,
    FIXED,
    HEATABLE,
    HELD_IN_THINGS,
    HOLDS_THINGS,
    TOUCHES,
)
from sandgym.alfworld.houses import Names, Receptacle, Room
from sandgym.alfworld.names import display_names
from sandgym.draws import Draw

LAMP = "DeskLamp"
MOST_COMMANDS = 10
TREATMENTS = {3: ("clean", "SinkBasin", CLEANABLE), 4: ("heat", "Microwave", HEATABLE), 5: ("cool", "Fridge", COOLABLE)}
"""Task type -> verb, receptacle that does it, object types that it can be done to."""
SECOND_RECEPTACLE = 0.5  # share of the things that could touch a second receptacle which do
COUNTS = {1: 5, 2: 4, 3: 1}
"""How many things of a type there are -> weight."""
SENTENCES = {
    1: ("put a {o} in {r}", "put some {o} on {r}"),
    2: ("look at {o} under the {r}", "examine the {o} with the {r}"),
    3: ("put a clean {o} in {r}", "clean some {o} and put it in {r}"),
    4: ("put a hot {o} in {r}", "heat some {o} and put it in {r}"),
    5: ("put a cool {o} in {r}", "cool some {o} and put it in {r}"),
    6: ("put two {o} in {r}", "find two {o} and put them in {r}"),
}


@dataclasses.dataclass(frozen=True)
class Task:
    """What to do: ``target`` is a receptacle type, or the type of the lamp."""

    task_type: int
    thing: str
    target: str

    @property
    def folder(self) -> str:
        """Name of its folder, without the scene."""
        return f"{TASK_TYPES[self.task_type]}-{self.thing}-None-{self.target}"


@dataclasses.dataclass(frozen=True)
class Thing:
    """A thing and the receptacles that it is in."""

    id: str
    kind: str
    inside: tuple[Receptacle, ...]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A game.

    Attributes:
        room: where it is played.
        task: what to do.
        sentence: the task in words.
        start: id of the place where the player starts.
        things: what is in receptacles.
        cool: ids of things that are cool at the start.
        nested: pairs of ids: what lies in a bowl or the like, and that bowl.
        walkthrough: commands that win.
    """

    room: Room
    task: Task
    sentence: str
    start: str
    things: tuple[Thing, ...]
    cool: tuple[str, ...]
    nested: tuple[tuple[str, str], ...]
    walkthrough: tuple[str, ...]


def possible_tasks(room: Room, task_type: int) -> dict[str, list[str]]:
    """Object types of a room that a task can be about, and the targets of each; empty if there are none."""
    here = {receptacle.kind for receptacle in room.receptacles}
    movable = [thing for thing in room.things if thing not in FIXED]
    if task_type == 2:
        return {thing: [LAMP] for thing in movable if LAMP in room.things}
    treatment = TREATMENTS.get(task_type)
    if treatment and treatment[1] not in here:
        return {}
    tasks = {}
    for thing in movable:
        if treatment and thing not in treatment[2]:
            continue
        kept = room.priors_of(thing)
        targets = [
            kind
            for kind in sorted(here)
            if thing in CONTAINS[kind]
            and not (treatment and kind == treatment[1])
            and (treatment or kept.keys() - {kind})  # elsewhere at the start, or it would be done already
        ]
        if targets:
            tasks[thing] = targets
    return tasks


def draw_task(room: Room, task_type: int, draw: Draw) -> Task:
    """A task that the room allows.

    Raises:
        ValueError: it allows none of this type.
    """
    tasks = possible_tasks(room, task_type)
    if not tasks:
        raise ValueError(f"scene {room.scene} has no {TASK_TYPES[task_type]}")
    thing = draw.pick(sorted(tasks))
    return Task(task_type, thing, draw.pick(tasks[thing]))


def make_trial(room: Room, task_type: int, *name: object) -> Trial:
    """The trial of a room, a task type and the name of a random stream."""
    draw = Draw("trial", room.scene, task_type, *name)
    task = draw_task(room, task_type, draw)
    sentence = draw.pick(SENTENCES[task_type]).format(o=task.thing.lower(), r=task.target.lower())
    while True:
        things = _place_things(room, task, draw)
        walkthrough = _walkthrough(room, task, things, draw)
        if len(walkthrough) <= MOST_COMMANDS:
            break
    in_fridge = [thing.id for thing in things if thing.kind in COOLABLE and thing.inside[0].kind == "Fridge"]
    return Trial(
        room=room,
        task=task,
        sentence=f"Your task is to: {sentence}.",
        start=draw.pick(room.free_places),
        things=things,
        cool=tuple(draw.sample(in_fridge, draw.between(1, 2))) if draw.chance(0.2) else (),
        nested=_nested(things, draw) if draw.chance(0.25) else (),
        walkthrough=walkthrough,
    )


def _place_things(room: Room, task: Task, draw: Draw) -> tuple[Thing, ...]:
    names = Names()
    things = []
    for kind in room.things:
        priors = room.priors_of(kind)
        about = kind == task.thing
        if about and task.task_type in (1, 6):
            priors.pop(task.target, None)
        count = 1 if kind in FIXED else draw.weighted(COUNTS)
        if about and task.task_type == 6:
            count = max(2, count)
        for _ in range(count):
            receptacle = draw.pick(room.receptacles_of(draw.weighted(priors)))
            inside = (receptacle,) if about else (receptacle, *_second(room, kind, receptacle, draw))
            things.append(Thing(names.new(kind, _near(receptacle, draw)), kind, inside))
    return tuple(things)


def _second(room: Room, kind: str, first: Receptacle, draw: Draw) -> tuple[Receptacle, ...]:
    """The second receptacle that a thing touches, or nothing; one at the same place is preferred."""
    other = TOUCHES.get((kind, first.kind))
    if other is None or not draw.chance(SECOND_RECEPTACLE):
        return ()
    found = [receptacle for receptacle in room.receptacles_of(other) if receptacle != first]
    found = [receptacle for receptacle in found if receptacle.place == first.place] or found
    return (draw.pick(found),) if found else ()


def _near(receptacle: Receptacle, draw: Draw) -> tuple[int, int, int]:
    right, up, forward = receptacle.point
    return right + draw.between(-30, 30), up + draw.between(0, 12), forward + draw.between(-30, 30)


def _nested(things: tuple[Thing, ...], draw: Draw) -> tuple[tuple[str, str], ...]:
    pairs = [
        (inner.id, outer.id)
        for inner in things
        if inner.kind in HELD_IN_THINGS
        for outer in things
        if outer.kind in HOLDS_THINGS and inner.inside[0] == outer.inside[0]
    ]
    return tuple(draw.sample(pairs, 1))


class _Walk:
    """Commands so far, where they lead, and what they open."""

    def __init__(self, names: dict[str, str]) -> None:
        self.commands: list[str] = []
        self._names = names
        self._place = ""
        self._opened: set[str] = set()

    def name(self, thing: Thing | Receptacle) -> str:
        return self._names[thing.id.lower()]

    def go(self, receptacle: Receptacle) -> None:
        if self._place != receptacle.place:
            self.commands.append(f"go to {self.name(receptacle)}")
            self._place = receptacle.place

    def reach(self, receptacle: Receptacle) -> None:
        self.go(receptacle)
        if receptacle.openable and receptacle.id not in self._opened:
            self.commands.append(f"open {self.name(receptacle)}")
            self._opened.add(receptacle.id)

    def take(self, thing: Thing) -> None:
        self.reach(thing.inside[0])
        self.commands.append(f"take {self.name(thing)} from {self.name(thing.inside[0])}")

    def move(self, thing: Thing, receptacle: Receptacle) -> None:
        self.reach(receptacle)
        self.commands.append(f"move {self.name(thing)} to {self.name(receptacle)}")


def _walkthrough(room: Room, task: Task, things: tuple[Thing, ...], draw: Draw) -> tuple[str, ...]:
    ids = [r.id for r in room.receptacles] + [f.id for f in room.fixtures] + [thing.id for thing in things]
    walk = _Walk(display_names(name.lower() for name in ids))
    brought = draw.sample([t for t in things if t.kind == task.thing], 2 if task.task_type == 6 else 1)
    if task.task_type == 2:
        lamp = next(thing for thing in things if thing.kind == LAMP)
        walk.take(brought[0])
        walk.go(lamp.inside[0])
        walk.commands.append(f"use {walk.name(lamp)}")
        return tuple(walk.commands)
    target = draw.pick(room.receptacles_of(task.target))
    for thing in brought:
        walk.take(thing)
        if task.task_type in TREATMENTS:
            verb, appliance, _ = TREATMENTS[task.task_type]
            found = room.receptacles_of(appliance)[0]
            walk.go(found)
            walk.commands.append(f"{verb} {walk.name(thing)} with {walk.name(found)}")
        walk.move(thing, target)
    return tuple(walk.commands)

"""A trial as the text of a PDDL problem, in ALFRED's shape.

Invariant: the text is a function of the trial; every symbol that a fact or the domain
names is declared, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from sandgym.alfworld.domain import DOMAIN_OBJECT_TYPES, DOMAIN_RECEPTACLE_TYPES
from sandgym.alfworld.household import (
    CLEANABLE,
    CONTAINS,
    COOLABLE,
    FIXED,
    HEATABLE,
    HOLDS_THINGS,
    SLICEABLE,
    TOGGLEABLE,
)
from sandgym.alfworld.trials import Task, Trial

LOOSE_FIXTURES = frozenset({"Boots", "Footstool", "Plunger", "ScrubBrush"})
AGENT = "agent1"
_FLAGS = {
    "isReceptacleObject": HOLDS_THINGS,
    "cleanable": CLEANABLE,
    "heatable": HEATABLE,
    "coolable": COOLABLE,
    "toggleable": TOGGLEABLE,
    "sliceable": SLICEABLE,
}
_TREATED = {3: ("cleanable", "isClean"), 4: ("heatable", "isHot"), 5: ("coolable", "isCool")}


def problem_text(trial: Trial, name: str) -> str:
    """The PDDL problem of a trial.

    Args:
        trial: the game.
        name: of the trial's folder.
    """
    kinds = {thing.kind for thing in trial.things} | {fixture.kind for fixture in trial.room.fixtures}
    receptacle_kinds = {receptacle.kind for receptacle in trial.room.receptacles}
    facts = list(_facts(trial, kinds, receptacle_kinds))
    places = sorted({place for fact in facts for place in fact if place.startswith("loc_bar_")})
    things = [*(thing.id for thing in trial.things), *(fixture.id for fixture in trial.room.fixtures)]
    declared = [
        (AGENT, "agent"),
        *((f"{kind}Type", "otype") for kind in sorted(kinds.union(DOMAIN_OBJECT_TYPES))),
        *((f"{kind}Type", "rtype") for kind in sorted(receptacle_kinds.union(DOMAIN_RECEPTACLE_TYPES))),
        *((thing, "object") for thing in sorted(things)),
        *((receptacle.id, "receptacle") for receptacle in trial.room.receptacles),
        *((place, "location") for place in places),
    ]
    objects = "\n".join(f"{symbol} - {type_}" for symbol, type_ in declared)
    init = "\n".join(f"({' '.join(fact)})" for fact in facts)
    return (
        f"(define (problem plan_{name})\n(:domain alfred)\n(:objects\n{objects}\n)\n(:init\n{init}\n)\n"
        f"(:goal\n{_goal(trial.task)}\n))\n"
    )


def _facts(trial: Trial, kinds: set[str], receptacle_kinds: set[str]) -> Iterable[tuple[str, ...]]:
    room, things = trial.room, trial.things
    whole = [*((thing.id, thing.kind) for thing in things), *((fixture.id, fixture.kind) for fixture in room.fixtures)]
    yield from (("receptacleType", r.id, f"{r.kind}Type") for r in room.receptacles)
    yield from (("objectType", name, f"{kind}Type") for name, kind in whole)
    for receptacle in sorted(receptacle_kinds):
        for kind in sorted(kinds & CONTAINS[receptacle]):
            yield "canContain", f"{receptacle}Type", f"{kind}Type"
    yield from (("pickupable", thing.id) for thing in things if thing.kind not in FIXED)
    yield from (("pickupable", fixture.id) for fixture in room.fixtures if fixture.kind in LOOSE_FIXTURES)
    yield from (("openable", r.id) for r in room.receptacles if r.openable)
    yield "atLocation", AGENT, trial.start
    for flag, having in _FLAGS.items():
        yield from ((flag, name) for name, kind in whole if kind in having)
    yield from (("isCool", name) for name in trial.cool)
    yield from (("inReceptacleObject", *pair) for pair in trial.nested)
    yield from (("inReceptacle", thing.id, r.id) for thing in things for r in thing.inside)
    yield from (("receptacleAtLocation", r.id, r.place) for r in room.receptacles)
    yield from (("objectAtLocation", thing.id, thing.inside[0].place) for thing in things)
    yield from (("objectAtLocation", fixture.id, fixture.place) for fixture in room.fixtures)


def _goal(task: Task) -> str:
    thing, target = f"(objectType {{}} {task.thing}Type)", f"(receptacleType ?r {task.target}Type)"
    if task.task_type == 2:
        return (
            "(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location)\n"
            f"(and (objectType ?ot {task.target}Type) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l)\n"
            "(atLocation ?a ?l) (inReceptacle ?ot ?r)))\n"
            f"(exists (?o - object ?a - agent) (and {thing.format('?o')} (holds ?a ?o))))"
        )
    if task.task_type == 6:
        second = f"(not (= ?o1 ?o2)) {thing.format('?o2')} {target} (inReceptacle ?o2 ?r)"
        return (
            f"(and (exists (?r - receptacle) (exists (?o1 - object)\n(and {thing.format('?o1')} {target} "
            f"(inReceptacle ?o1 ?r)\n(exists (?o2 - object) (and {second}))))))"
        )
    inside = "(inReceptacle ?o ?r)"
    if task.task_type == 1:
        conditions = f"{inside} {thing.format('?o')} {target}"
    else:
        can_be, is_so = _TREATED[task.task_type]
        conditions = f"({can_be} ?o) {thing.format('?o')} {target} ({is_so} ?o) {inside}"
    return f"(and (exists (?r - receptacle) (exists (?o - object)\n(and {conditions}))))"

"""The rules of the household games as TextWorld reads them: a PDDL domain and a text grammar.

Invariant: whoever plays a game with these two texts sees, character for character, what
ALFWorld shows; predicates and actions have ALFRED's names, which its problems use.
"""

from __future__ import annotations

import json

DOMAIN = """\
; Household games: an agent walks between receptacles, carries one thing at a time and changes it with appliances.
(define (domain alfred)
(:requirements :adl :typing :action-costs)
(:types agent location receptacle object rtype otype)
(:predicates
 (atLocation ?a - agent ?l - location) (holds ?a - agent ?o - object) (holdsAny ?a - agent)
 (receptacleType ?r - receptacle ?rt - rtype) (receptacleAtLocation ?r - receptacle ?l - location)
 (openable ?r - receptacle) (opened ?r - receptacle) (checked ?r - receptacle)
 (objectType ?o - object ?ot - otype) (objectAtLocation ?o - object ?l - location)
 (inReceptacle ?o - object ?r - receptacle) (canContain ?rt - rtype ?ot - otype)
 (isReceptacleObject ?o - object) (inReceptacleObject ?inner - object ?outer - object)
 (pickupable ?o - object) (cleanable ?o - object) (heatable ?o - object) (coolable ?o - object)
 (sliceable ?o - object) (toggleable ?o - object)
 (isClean ?o - object) (isHot ?o - object) (isCool ?o - object) (isSliced ?o - object)
 (isToggled ?o - object) (isOn ?o - object))
(:functions (total-cost) - number)

; Perceive. Nothing in the world changes.
(:action look :parameters (?a - agent ?l - location)
 :precondition (atLocation ?a ?l) :effect (checked ?l))
(:action inventory :parameters (?a - agent) :precondition () :effect (checked ?a))
(:action help :parameters (?a - agent) :precondition () :effect (checked ?a))
(:action examineReceptacle :parameters (?a - agent ?r - receptacle)
 :precondition (exists (?l - location) (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)))
 :effect (checked ?r))
(:action examineObject :parameters (?a - agent ?o - object)
 :precondition (holds ?a ?o) :effect (checked ?o))

; Walk, and use doors.
(:action GotoLocation :parameters (?a - agent ?lstart - location ?lend - location ?r - receptacle)
 :precondition (and (receptacleAtLocation ?r ?lend) (atLocation ?a ?lstart))
 :effect (and (atLocation ?a ?lend) (not (atLocation ?a ?lstart)) (increase (total-cost) 1)))
(:action OpenObject :parameters (?a - agent ?l - location ?r - receptacle)
 :precondition (and (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (openable ?r) (not (opened ?r)))
 :effect (and (opened ?r) (checked ?r) (increase (total-cost) 1)))
(:action CloseObject :parameters (?a - agent ?l - location ?r - receptacle)
 :precondition (and (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (openable ?r) (opened ?r))
 :effect (and (not (opened ?r)) (increase (total-cost) 1)))

; Carry. What has a door must stand open.
(:action PickupObject :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
 :precondition (and (inReceptacle ?o ?r) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (pickupable ?o)
  (not (holdsAny ?a)) (or (opened ?r) (not (openable ?r))))
 :effect (and (holds ?a ?o) (holdsAny ?a) (not (inReceptacle ?o ?r)) (not (objectAtLocation ?o ?l))
  (increase (total-cost) 1)))
(:action PutObject
 :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
 :precondition (and (holds ?a ?o) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (objectType ?o ?ot)
  (receptacleType ?r ?rt) (canContain ?rt ?ot) (or (opened ?r) (not (openable ?r))))
 :effect (and (inReceptacle ?o ?r) (objectAtLocation ?o ?l) (not (holds ?a ?o)) (not (holdsAny ?a))
  (increase (total-cost) 1)))

; Change the thing in hand with an appliance, open or not.
(:action CleanObject :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
 :precondition (and (holds ?a ?o) (cleanable ?o) (receptacleType ?r SinkBasinType)
  (receptacleAtLocation ?r ?l) (atLocation ?a ?l))
 :effect (and (isClean ?o) (increase (total-cost) 5)))
(:action HeatObject :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
 :precondition (and (holds ?a ?o) (heatable ?o) (receptacleType ?r MicrowaveType)
  (receptacleAtLocation ?r ?l) (atLocation ?a ?l))
 :effect (and (isHot ?o) (not (isCool ?o)) (increase (total-cost) 5)))
(:action CoolObject :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
 :precondition (and (holds ?a ?o) (coolable ?o) (receptacleType ?r FridgeType)
  (receptacleAtLocation ?r ?l) (atLocation ?a ?l))
 :effect (and (isCool ?o) (not (isHot ?o)) (increase (total-cost) 5)))

; Change a thing that lies here.
(:action ToggleObject :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
 :precondition (and (toggleable ?o) (inReceptacle ?o ?r) (receptacleAtLocation ?r ?l) (atLocation ?a ?l))
 :effect (and (isToggled ?o) (when (isOn ?o) (not (isOn ?o))) (when (not (isOn ?o)) (isOn ?o))
  (increase (total-cost) 5)))
(:action SliceObject :parameters (?a - agent ?l - location ?co - object ?ko - object)
 :precondition (and (holds ?a ?ko) (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))
  (sliceable ?co) (objectAtLocation ?co ?l) (atLocation ?a ?l))
 :effect (and (isSliced ?co) (increase (total-cost) 5)))
)
"""

DOMAIN_RECEPTACLE_TYPES = ("SinkBasin", "Microwave", "Fridge")
DOMAIN_OBJECT_TYPES = ("Knife", "ButterKnife")
"""Types that ``DOMAIN`` names, so that every problem must declare them."""

_HERE = "atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)"
_FLOOR = f"{_HERE} & objectatlocation(o:object, l:location) & not_inreceptacle(o:object, r:receptacle)"
_ROOM = "You are in the middle of a room. Looking quickly around you, you see"


def _listing(condition: str, variable: str = "o", article: bool = True) -> str:
    name = f"{variable}.indefinite + ' ' + {variable}.name" if article else f"{variable}.name"
    return f"[{{{name} | {condition}}}]"


_INSIDE = _listing("inreceptacle(o:object, r:receptacle)")
_IN_OBJECT = _listing("inreceptacleobject(o2:object, o:object)", "o2")

_TEXTS: dict[str, list[tuple[str, str]]] = {
    "intro": [
        (
            "",
            "-= Welcome to TextWorld, ALFRED! =-\n\n"
            f"{_ROOM} {_listing('receptacleatlocation(r:receptacle, l:location)', 'r')}.\n\n#task#",
        )
    ],
    "list_empty": [("", "nothing")],
    "list_separator": [("", ", ")],
    "list_last_separator": [("", ", and ")],
    "place": [
        (
            _HERE,
            f"You are facing the {_listing(_HERE, 'r', article=False)}. Next to it, you see #floor#.",
        ),
        ("", f"{_ROOM} nothing."),
    ],
    "floor": [(_FLOOR, _listing(_FLOOR)), ("", "nothing")],
    "hands": [
        ("holdsany(a:agent)", f"You are carrying: {_listing('holds(a:agent, o:object)')}."),
        ("", "You are not carrying anything."),
    ],
    "inside": [
        ("openable(r:receptacle) & opened(r:receptacle)", f"The {{r.name}} is open. In it, you see {_INSIDE}."),
        ("openable(r:receptacle)", "The {r.name} is closed."),
        ("", f"On the {{r.name}}, you see {_INSIDE}."),
    ],
}
"""Symbol -> (condition, text); the first whose condition holds is shown."""

_LOOKS: tuple[tuple[str, str], ...] = (
    ("isclean ishot issliced", "a hot and clean sliced {}"),
    ("isclean iscool issliced", "a cool and clean sliced {}"),
    ("isclean issliced", "a clean sliced {}"),
    ("ishot issliced", "a hot sliced {}"),
    ("iscool issliced", "a cool sliced {}"),
    ("isclean ishot", "a hot and clean {}"),
    ("isclean iscool", "a cool and clean {}"),
    ("ishot", "a hot {}"),
    ("isclean", "a clean {}"),
    ("iscool", "a cold {}"),
    ("sliceable issliced", "a sliced {}"),
)
"""What a thing in hand looks like, by what is true of it. Lamps cannot be held, so that none is seen on or off."""

_HELP = """
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""

_ACTIONS: dict[str, tuple[str, str]] = {
    "look": ("look", "#place#"),
    "inventory": ("inventory", "#hands#"),
    "help": ("help", _HELP),
    "examineReceptacle": ("examine {r}", "#inside#"),
    "examineObject": ("examine {o}", "#seen#"),
    "GotoLocation": ("go to {r}", "You arrive at {r.name}. #inside#"),
    "OpenObject": ("open {r}", "You open the {r.name}. #inside#"),
    "CloseObject": ("close {r}", "You close the {r.name}."),
    "PickupObject": ("take {o} from {r}", "You pick up the {o.name} from the {r.name}."),
    "PutObject": ("move {o} to {r}", "You move the {o.name} to the {r.name}."),
    "CleanObject": ("clean {o} with {r}", "You clean the {o.name} using the {r.name}."),
    "HeatObject": ("heat {o} with {r}", "You heat the {o.name} using the {r.name}."),
    "CoolObject": ("cool {o} with {r}", "You cool the {o.name} using the {r.name}."),
    "ToggleObject": ("use {o}", "You turn on the {o.name}."),
    "SliceObject": ("slice {co} with {ko}", "You sliced the {co.name} with the {ko.name}."),
}
"""PDDL action -> (command, what is shown afterwards)."""


def _seen() -> list[tuple[str, str]]:
    looks = [("isreceptacleobject(o:object)", f"This is a normal {{o.name}}. In it, you see {_IN_OBJECT}.")]
    for facts, look in _LOOKS:
        condition = " & ".join(f"{fact}(o:object)" for fact in facts.split())
        looks.append((condition, f"This is {look.format('{o.name}')}."))
    return [*looks, ("", "There's nothing special about {o.name}.")]


def _rule(symbol: str, choices: list[tuple[str, str]]) -> str:
    rules = [{"condition": condition, "rhs": text} if condition else {"rhs": text} for condition, text in choices]
    return f"{json.dumps(symbol)}: {json.dumps(rules)}"


def grammar(task: str) -> str:
    """The text grammar of a game.

    Args:
        task: the sentence that tells the player what to do.
    """
    symbols = {"task": [("", task)], **_TEXTS, "seen": _seen()}
    rules = ",\n".join(_rule(symbol, choices) for symbol, choices in symbols.items())
    actions = "\n".join(
        f'action {name} {{ template :: "{template}"; feedback :: "{feedback}"; }}'
        for name, (template, feedback) in _ACTIONS.items()
    )
    return f'grammar :: """{{\n{rules}\n}}""";\n{actions}\n'

"""A ``game.tw-pddl`` file read into plain facts.

Invariant: a ``GameSource`` holds what the file says, in the file's order, in lower case
as TextWorld reads it; nothing is resolved, numbered or left out except distances. What
the engine could not play faithfully is an error.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandgym.core import SandboxError

TASK_TYPES = {
    1: "pick_and_place_simple",
    2: "look_at_obj_in_light",
    3: "pick_clean_then_place_in_recep",
    4: "pick_heat_then_place_in_recep",
    5: "pick_cool_then_place_in_recep",
    6: "pick_two_obj_and_place",
}
Atom = tuple[str, ...]
_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\n]*")
_BRACKET = re.compile(r"[()]")
_DEFINE = re.compile(r"\(\s*define\s")
_HEAD = re.compile(r"\s*:([a-z]+)\b")
_FACT = re.compile(r"\(([^()]*)\)")
_NUMBER = re.compile(r"\(\s*=\s*\([^()]*\)\s*[^()\s]+\s*\)")  # distances and costs, which change nothing
_TASK = re.compile(r'"(Your task is to: (?:[^"\\]|\\.)*)"')
_PUT_TEMPLATES = {"move {o} to {r}": "move", "put {o} in/on {r}": "put"}
# The goals of ALFRED as flat token lists; <o> stands for the type of the object to bring, <r> for that of the
# receptacle to bring it to, or of the lamp.
_PLACE = "( and ( exists ( ?r - receptacle ) ( exists ( ?o - object ) ( and {} ) ) ) )"
_KIND = "( objecttype ?o <o> ) ( receptacletype ?r <r> )"
_GOALS = {
    1: _PLACE.format(f"( inreceptacle ?o ?r ) {_KIND}"),
    2: "( and ( exists ( ?ot - object ?r - receptacle ?a - agent ?l - location ) ( and ( objecttype ?ot <r> ) "
    "( toggleable ?ot ) ( istoggled ?ot ) ( receptacleatlocation ?r ?l ) ( atlocation ?a ?l ) ( inreceptacle ?ot ?r )"
    " ) ) ( exists ( ?o - object ?a - agent ) ( and ( objecttype ?o <o> ) ( holds ?a ?o ) ) ) )",
    3: _PLACE.format(f"( cleanable ?o ) {_KIND} ( isclean ?o ) ( inreceptacle ?o ?r )"),
    4: _PLACE.format(f"( heatable ?o ) {_KIND} ( ishot ?o ) ( inreceptacle ?o ?r )"),
    5: _PLACE.format(f"( coolable ?o ) {_KIND} ( iscool ?o ) ( inreceptacle ?o ?r )"),
    6: "( and ( exists ( ?r - receptacle ) ( exists ( ?o1 - object ) ( and ( objecttype ?o1 <o> ) "
    "( receptacletype ?r <r> ) ( inreceptacle ?o1 ?r ) ( exists ( ?o2 - object ) ( and ( not ( = ?o1 ?o2 ) ) "
    "( objecttype ?o2 <o> ) ( receptacletype ?r <r> ) ( inreceptacle ?o2 ?r ) ) ) ) ) ) )",
}


class GameFileError(SandboxError):
    """A game file that is damaged, or that is no game of ALFRED."""


@dataclasses.dataclass(frozen=True)
class Goal:
    """What wins a game.

    Attributes:
        task_type: 1 to 6, as in ``TASK_TYPES``.
        object_type: type of the object to bring, such as ``mugtype``.
        target_type: type of the receptacle to bring it to; for task type 2 the type of the lamp.
    """

    task_type: int
    object_type: str
    target_type: str


@dataclasses.dataclass(frozen=True)
class GameSource:
    """What a game file says.

    Attributes:
        types: declared symbols and their types, in order.
        init: initial facts as (predicate, arguments...), in order.
        goal: what wins.
        task: the sentence ``Your task is to: ...``.
        grammar: ``"move"`` or ``"put"``: which generation of texts and commands the file has.
        walkthrough: commands that win; empty where the file has none.
        solvable: what the file says; ``None`` when it does not say.
    """

    types: tuple[tuple[str, str], ...]
    init: tuple[Atom, ...]
    goal: Goal
    task: str
    grammar: str
    walkthrough: tuple[str, ...]
    solvable: bool | None


def read_game(path: str | Path) -> GameSource:
    """Read a game file.

    Raises:
        GameFileError: it cannot be read, is cut off, or is not a game of ALFRED; the message says which.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise GameFileError(f"there is no game file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise GameFileError(f"cannot read the game file {path}: {error}") from error
    try:
        return parse_game(text)
    except GameFileError as error:
        raise GameFileError(f"{path}: {error}") from None


def parse_game(text: str) -> GameSource:
    """Read the content of a game file.

    Raises:
        GameFileError: see ``read_game``.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise GameFileError(f"not valid JSON, probably cut off ({error}); unpack or download the game again") from error
    except RecursionError:
        raise GameFileError("not a game: nested too deeply") from None
    if not isinstance(document, dict):
        raise GameFileError("not a game: a JSON object is expected")
    problem = _string(document, "pddl_problem")
    grammar = _string(document, "grammar")
    sections = _sections(problem)
    return GameSource(
        types=tuple(_declarations(sections["objects"])),
        init=tuple(_atoms(sections["init"])),
        goal=_goal(sections["goal"]),
        task=_task(grammar),
        grammar=_generation(grammar),
        walkthrough=_walkthrough(document.get("walkthrough")),
        solvable=_solvable(document),
    )


def peek_game(text: str) -> tuple[int, bool | None]:
    """Task type and ``solvable`` of a game file's content, without reading its facts.

    Raises:
        GameFileError: the file is cut off, or its goal is not one of ALFRED's.
    """
    document = _document(text)
    problem = _string(document, "pddl_problem")
    start = problem.lower().rfind("(:goal")
    goal = _sections(f"(define (:objects) (:init) {problem[start:]}" if start >= 0 else problem)["goal"]
    return _goal(goal).task_type, _solvable(document)


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise GameFileError(f"not valid JSON, probably cut off ({error}); unpack or download it again") from error
    except RecursionError:
        raise GameFileError("not a game: nested too deeply") from None
    if not isinstance(document, dict):
        raise GameFileError("not a game: a JSON object is expected")
    return document


def _string(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str):
        raise GameFileError(f"not a game: it has no text {key!r}")
    return value


def _solvable(document: dict[str, Any]) -> bool | None:
    value = document.get("solvable")
    if value is not None and not isinstance(value, bool):
        raise GameFileError(f"'solvable' is {value!r}, neither true nor false")
    return value


def _walkthrough(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(command, str) for command in value):
        raise GameFileError("'walkthrough' is not a list of commands")
    return tuple(value)


def _task(grammar: str) -> str:
    found = _TASK.search(grammar)
    if found is None:
        raise GameFileError("the grammar has no sentence 'Your task is to: ...'")
    sentence: str = json.loads(f'"{found[1]}"')
    return sentence


def _generation(grammar: str) -> str:
    for template, generation in _PUT_TEMPLATES.items():
        if f'"{template}"' in grammar:
            return generation
    raise GameFileError(f"the grammar has no action for putting things down; known: {', '.join(_PUT_TEMPLATES)}")


def _sections(problem: str) -> dict[str, str]:
    """What stands in ``(:objects ...)``, ``(:init ...)`` and ``(:goal ...)``, in lower case."""
    problem = _COMMENT.sub("", problem).lower().strip()
    if _DEFINE.match(problem) is None:
        raise GameFileError("the problem does not begin with (define")
    sections: dict[str, str] = {}
    depth = start = end = 0
    for bracket in _BRACKET.finditer(problem):
        if bracket[0] == "(":
            depth += 1
            if depth == 2:
                start = bracket.end()
            continue
        depth -= 1
        end = bracket.end()
        if depth == 1:
            head = _HEAD.match(problem, start, bracket.start())
            if head is not None:
                sections.setdefault(head[1], problem[head.end() : bracket.start()])
        elif depth <= 0:
            break
    if depth != 0 or end != len(problem):
        raise GameFileError("the brackets of the problem do not match; it is probably cut off")
    for name in ("objects", "init", "goal"):
        if name not in sections:
            raise GameFileError(f"the problem has no (:{name} ...)")
    return sections


def _declarations(section: str) -> Iterator[tuple[str, str]]:
    names: list[str] = []
    tokens = iter(section.split())
    for token in tokens:
        if token != "-":
            names.append(token)
            continue
        kind = next(tokens, None)
        if kind is None:
            raise GameFileError("a declaration in (:objects ...) has no type")
        yield from ((name, kind) for name in names)
        names = []
    if names:
        raise GameFileError(f"{names[0]!r} is declared without a type")


def _atoms(section: str) -> list[Atom]:
    section = _NUMBER.sub("", section)
    atoms = [tuple(fact.split()) for fact in _FACT.findall(section)]
    rest = _FACT.sub("", section).split()
    if rest or not all(atoms):
        raise GameFileError(f"(:init ...) has something that is no fact: {' '.join(rest)[:100]!r}")
    return atoms


def _goal(section: str) -> Goal:
    tokens = _TOKEN.findall(section)
    for task_type, pattern in _GOALS.items():
        wanted = pattern.split()
        found: dict[str, str] = {}
        if len(wanted) == len(tokens) and all(
            want == token or (want in ("<o>", "<r>") and found.setdefault(want, token) == token)
            for want, token in zip(wanted, tokens, strict=True)
        ):
            return Goal(task_type, found["<o>"], found["<r>"])
    raise GameFileError(f"the goal is none of ALFRED's six: {' '.join(tokens)[:200]}")

"""Issues as users write them: a symptom with a call, what was expected and what came.

Invariant: a text is a function of (bug, draw), and what it says about the behaviour comes from
running the package with and without the bug.
"""

from __future__ import annotations

import ast
import dataclasses
import re

from sandgym.draws import Draw
from sandgym.swebench.bugs import Bug, Example

_OPENINGS = (
    "I use {package} in a small project and ran into this:",
    "Since the last update I see this:",
    "This does not do what its docstring says:",
    "Found while writing a script with {package}:",
    "Minimal example:",
    "How to reproduce:",
)
_PLACES = (
    "The mistake seems to be in {place}.",
    "I think {place} is wrong.",
    "As far as I can see the problem is {place}.",
    "It must come from {place}.",
)
_FIXES = (
    "I think `{path}:{line}` should be `{good}`.",
    "With `{good}` in `{path}:{line}` it works for me.",
    "It is right when `{path}:{line}` says `{good}`.",
)
_CLOSINGS = ("Everything else works for me.", "Could you have a look?", "Other calls are fine.", "")
_HINTS = (
    "Thanks for the report. There is {kind} in {place}.",
    "Confirmed: {kind} in {place}.",
    "I can reproduce this. It is {kind} in {place}.",
)


def readable(example: Example) -> Example:
    """An example that speaks of a value and not of its ``repr``."""
    call = re.fullmatch(r"repr\((.*)\)", example.call, re.DOTALL)
    if call is None or example.raises or example.raised:
        return example
    expected, actual = (str(ast.literal_eval(text)) for text in (example.expected, example.actual))
    return dataclasses.replace(example, call=call[1], expected=expected, actual=actual)


def symptom(example: Example) -> str:
    """What should happen and what does."""
    call = f"`{example.call}`" if "\n" not in example.call else "The last statement"
    is_value = bool(example.expected) and not example.raises
    if example.raises:
        wish = f"{call} should raise {example.expected}"
    elif is_value:
        wish = f"{call} should give `{example.expected}`"
    else:
        wish = f"{call} should work"
    if example.raised:
        return f"{wish}, but it raises {example.actual}."
    return f"{wish}, but it does not." if example.raises else f"{wish}, but I get `{example.actual}`."


def _title(example: Example, name: str, draw: Draw) -> str:
    if example.raised and not example.raises:
        return draw.pick((f"`{name}` raises {example.actual}", f"{example.actual} in `{name}`"))
    if example.raises and not example.raised:
        return draw.pick((f"No {example.expected} from `{name}`", f"`{name}` accepts what it should refuse"))
    if example.raises:
        return f"`{name}` raises {example.actual} instead of {example.expected}"
    choices = [f"`{name}` gives a wrong result", f"Wrong result of `{name}`"]
    if len(example.expected) + len(example.actual) < 30:
        choices.append(f"`{name}` gives {example.actual} instead of {example.expected}")
    return draw.pick(choices)


def place_of(bug: Bug) -> str:
    """Function and file of a bug in words."""
    function = f"`{bug.mutation.function}`" if bug.mutation.function else "a table"
    return f"{function} in `{bug.path}`"


def _called(example: Example) -> str:
    """Name of the last function that an example calls."""
    names = [ast.unparse(node.func) for node in ast.walk(ast.parse(example.call)) if isinstance(node, ast.Call)]
    plain = [name.rpartition(".")[2] for name in names if name not in ("len", "sorted", "repr", "list")]
    return plain[0] if plain else example.call.partition("\n")[0]


def one_line(bug: Bug) -> tuple[int, str] | None:
    """Number of the only line that a bug changes, from 1, and the line without it; None where there are more."""
    bad, good = bug.bad.splitlines(), bug.good.splitlines()
    changed = [n for n, pair in enumerate(zip(bad, good, strict=False)) if pair[0] != pair[1]]
    if len(bad) != len(good) or len(changed) != 1:
        return None
    return changed[0] + 1, good[changed[0]].strip()


def issue_text(bug: Bug, located: bool, solved: bool, draw: Draw) -> str:
    """The problem statement.

    Args:
        bug: what it is about.
        located: whether the user says in which function the mistake is.
        solved: whether the user says what the line should be instead, where it is one line.
        draw: of the wording.
    """
    example = readable(bug.example)
    imports = [line for line in example.setup if line.startswith("from ")]
    rest = [line for line in example.setup if not line.startswith("from ")]
    code = "\n".join((*imports, "", *rest, example.call))
    line = one_line(bug) if solved else None
    if line is not None:
        last = draw.pick(_FIXES).format(path=bug.path, line=line[0], good=line[1])
    else:
        last = draw.pick(_PLACES).format(place=place_of(bug)) if located else draw.pick(_CLOSINGS)
    paragraphs = [
        _title(example, _called(example), draw),
        draw.pick(_OPENINGS).format(package=bug.package.name),
        f"```python\n{code}\n```",
        symptom(example),
        last,
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def hints_text(bug: Bug, draw: Draw) -> str:
    """What a maintainer answered."""
    kind = bug.mutation.kind
    article = "an" if kind[0] in "aeiou" else "a"
    return draw.pick(_HINTS).format(kind=f"{article} {kind}", place=place_of(bug)) + "\n"

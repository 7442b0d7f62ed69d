"""Test modules as text: taking tests out, and reading what a test tries.

Invariant: a module from which tests were taken out has the others unchanged.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import textwrap
from collections.abc import Iterator, Set
from typing import Literal


@dataclasses.dataclass(frozen=True)
class Step:
    """One statement of a test.

    Attributes:
        kind: ``"setup"``, ``"value"`` (a test compares it) or ``"error"`` (a test expects it to raise).
        code: the statement, or the expression that is compared.
    """

    kind: Literal["setup", "value", "error"]
    code: str


@dataclasses.dataclass(frozen=True)
class Trial:
    """What a test does.

    Attributes:
        imports: import statements of the names that it uses.
        constants: assignments of its module that it uses.
        steps: its statements, in order.
    """

    imports: tuple[str, ...]
    constants: tuple[str, ...]
    steps: tuple[Step, ...]


def test_name(test_id: str) -> tuple[str, str, str]:
    """Path of the module, class and method of a test such as ``test_a (tests.test_b.C.test_a)``."""
    module, name, method = test_id[test_id.index("(") + 1 : -1].rsplit(".", 2)
    return f"{module.replace('.', '/')}.py", name, method


def without_tests(text: str, tests: Set[tuple[str, str]]) -> str:
    """A test module without some tests (class, method), and without classes that have no other."""
    lines = text.splitlines(keepends=True)
    dropped: set[int] = set()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ClassDef):
            continue
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        gone = [method for method in methods if (node.name, method.name) in tests]
        for item in [node] if len(gone) == len(methods) else gone:
            dropped.update(range(item.lineno - 1, item.end_lineno or item.lineno))
    kept = "".join(line for number, line in enumerate(lines) if number not in dropped)
    kept = re.sub(r"\n{3,}(?=    )", "\n\n", re.sub(r"\n{4,}", "\n\n\n", kept))
    return re.sub(r":\n\n(?=    def )", ":\n", kept).rstrip("\n") + "\n"


def trial(text: str, name: str, method: str) -> Trial:
    """What a test of a module does, written without ``self``."""
    tree = ast.parse(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    body = next(n for n in classes[name].body if isinstance(n, ast.FunctionDef) and n.name == method).body
    steps = tuple(step for statement in body for step in _steps(text, statement))
    constants = tuple(
        code
        for node in tree.body
        if isinstance(node, ast.Assign) and _names(code := _code(text, node)) & _names(*(s.code for s in steps))
    )
    used = _names(*constants, *(step.code for step in steps))
    imports = tuple(
        f"from {node.module} import {', '.join(names)}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (names := [a.name for a in node.names if a.name in used])
    )
    return Trial(imports, constants, steps)


def _steps(text: str, statement: ast.stmt) -> Iterator[Step]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(statement, ast.With):
        yield from (Step("error", _code(text, inner)) for inner in statement.body)
    elif isinstance(call, ast.Call) and ast.unparse(call.func) == "self.assertEqual":
        yield Step("value", _code(text, call.args[0]))
    else:
        yield Step("setup", _code(text, statement))


def _code(text: str, node: ast.expr | ast.stmt) -> str:
    return textwrap.dedent(ast.get_source_segment(text, node, padded=True) or "").strip()


def _names(*codes: str) -> set[str]:
    return {node.id for code in codes for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}

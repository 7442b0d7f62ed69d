"""Small edits of Python source that are likely to break it: at each place, of many kinds.

Invariant: a place is named by the order of its node in the syntax tree, never by names or
values, so that the same place in two packages of a family has the same name.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from sandgym.swebench.mutators import expression_edits, statement_edits
from sandgym.swebench.sourcecode import Edit, Scope, Source


class Place(NamedTuple):
    """Where a mutation is: number of the node in the syntax tree, and number among the node's mutations."""

    node: int
    number: int


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One edit.

    Attributes:
        place: the same in all packages of a family.
        kind: of the mistake, in words.
        function: name of the function or method (``Class.method``) that it is in; empty outside of any.
        start: offset of the text that is replaced.
        end: offset behind it.
        new: what stands there instead.
    """

    place: Place
    kind: str
    function: str
    start: int
    end: int
    new: str

    def apply(self, text: str) -> str:
        """The text with the mistake."""
        return text[: self.start] + self.new + text[self.end :]


def mutations(text: str) -> list[Mutation]:
    """All mutations of a module, in the order of its syntax tree; no two give the same text."""
    source = Source(text)
    numbers = itertools.count()
    found: list[Mutation] = []
    seen = {text}

    def visit(node: ast.AST, scope: Scope) -> None:
        number = next(numbers)
        scope = _inner(node, scope)
        edits: Iterator[Edit] = iter(())
        if isinstance(node, ast.expr):
            edits = expression_edits(source, node, scope)
        elif isinstance(node, ast.stmt):
            edits = statement_edits(source, node)
        for place, edit in enumerate(edits):
            mutation = Mutation(Place(number, place), edit.kind, scope.function, *edit[1:])
            if (result := mutation.apply(text)) not in seen:
                seen.add(result)
                found.append(mutation)
        if not isinstance(node, ast.JoinedStr):
            for child in ast.iter_child_nodes(node):
                visit(child, scope)

    visit(source.tree, Scope())
    return found


def _inner(node: ast.AST, scope: Scope) -> Scope:
    """The scope inside a node."""
    if isinstance(node, ast.ClassDef):
        return Scope(node.name, (), _attributes(node))
    if isinstance(node, ast.FunctionDef):
        name = f"{scope.function}.{node.name}" if scope.attributes else node.name
        return Scope(name, _variables(node), scope.attributes)
    return scope


def _variables(function: ast.FunctionDef) -> tuple[str, ...]:
    """Parameters and local names in order of appearance, without ``self``."""
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    names += [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return tuple(dict.fromkeys(name for name in names if name != "_"))


def _attributes(node: ast.ClassDef) -> tuple[str, ...]:
    """Names that methods assign on ``self``, in order of appearance."""
    names = [
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)
    ]
    return tuple(dict.fromkeys(names)) or ("",)

"""Python source with its syntax tree, and edits of it by offsets.

Invariant: offsets count characters of the text as it was parsed; sources are ASCII.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator
from typing import NamedTuple


class Edit(NamedTuple):
    """An edit before it has a place."""

    kind: str
    start: int
    end: int
    new: str


class Source:
    """Text with its syntax tree and the offsets of its nodes; ASCII only."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Offset of a node."""
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Offset behind a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Text of a node."""
        return self.text[self.start(node) : self.end(node)]

    def lines(self, first: ast.stmt, last: ast.stmt) -> tuple[int, int]:
        """Offsets of the whole lines from one statement to another."""
        assert last.end_lineno is not None
        return self._starts[first.lineno - 1], self._starts[last.end_lineno]

    def replace(self, kind: str, node: ast.expr | ast.stmt, new: str) -> Edit:
        """The edit that puts a text in the place of a node."""
        return Edit(kind, self.start(node), self.end(node), new)

    def between(self, kind: str, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Edit]:
        """The edit of an operator between two nodes, brackets around them left alone."""
        gap = self.text[self.end(left) : self.start(right)]
        at = gap.find(old)
        if at >= 0:
            start = self.end(left) + at
            yield Edit(kind, start, start + len(old), new)


@dataclasses.dataclass
class Scope:
    """What is known where a node is: the function's name, its variables, the attributes of its class."""

    function: str = ""
    variables: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

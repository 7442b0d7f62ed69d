"""Tasks as people name them: by id or by index.

Invariant: whatever does not name a task is an error that says which there are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any


def index_of_task(task: Any, ids: Sequence[str], position: Callable[[str], int]) -> int:
    """The index of a task of a split.

    Args:
        task: its id or its index.
        ids: of the split.
        position: index of an id; raises ``KeyError`` for an unknown one.

    Raises:
        TypeError: ``task`` is neither.
        LookupError: there is no such task.
    """
    if isinstance(task, str):
        try:
            return position(task)
        except KeyError:
            known = f", {ids[0]!r} to {ids[-1]!r}" if ids else ""
            raise LookupError(f"no task {task!r} in this split of {len(ids)} tasks{known}") from None
    if isinstance(task, bool):
        raise TypeError("a task is an id or an index, not bool")
    try:
        index = operator.index(task)
    except TypeError:
        raise TypeError(f"a task is an id or an index, not {type(task).__name__}") from None
    if not 0 <= index < len(ids):
        raise LookupError(f"task {index} is out of range: this split has {len(ids)} tasks")
    return index

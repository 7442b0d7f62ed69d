"""The tasks of an environment, by id and by index.

Invariant: the order is that of the data, and an index means the same task for the same data,
split and selection.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from sandgym.swebench.rows import Row


class Tasks:
    """Some rows.

    Args:
        rows: at least one.

    Attributes:
        rows: in order.
        ids: of the rows.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)
        self.ids = tuple(row.instance_id for row in self.rows)
        self._positions = {task_id: index for index, task_id in enumerate(self.ids)}

    def row(self, task_id: str) -> Row:
        """The row of an id; ``KeyError`` when it is not here."""
        return self.rows[self._positions[task_id]]

    def index(self, task: Any) -> int:
        """The index of a task that is given by id or by index.

        Raises:
            TypeError: it is neither.
            LookupError: there is no such task.
        """
        if isinstance(task, str):
            if task not in self._positions:
                raise LookupError(
                    f"no task {task!r} in this split of {len(self.ids)} tasks, {self.ids[0]!r} to {self.ids[-1]!r}"
                )
            return self._positions[task]
        if isinstance(task, bool):
            raise TypeError("a task is an id or an index, not bool")
        try:
            index = operator.index(task)
        except TypeError:
            raise TypeError(f"a task is an id or an index, not {type(task).__name__}") from None
        if not 0 <= index < len(self.ids):
            raise LookupError(f"task {index} is out of range: this split has {len(self.ids)} tasks")
        return index

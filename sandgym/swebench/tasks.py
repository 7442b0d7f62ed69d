"""The tasks of an environment, by id and by index.

Invariant: the order is that of the data, and an index means the same task for the same data,
split and selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandgym.swebench.rows import Row
from sandgym.tasks import index_of_task


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
        return index_of_task(task, self.ids, self._positions.__getitem__)

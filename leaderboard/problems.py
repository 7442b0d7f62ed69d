"""What is wrong with a submission, and where.

Invariant: what a submission says is shown escaped and cut short, so that a message stays one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SHOWN = 120  # characters of a value in a message


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        what: is wrong, with what was submitted and what is true.
        task: of the episode; empty when it is not about one.
        seed: of the episode.
        sample: of the episode.
        step: 1 for the first action, 0 when it is not about an action.
    """

    what: str
    task: str = ""
    seed: int = 0
    sample: int = 0
    step: int = 0

    def __str__(self) -> str:
        if not self.task:
            return self.what
        place = f"task {shown(self.task)}, seed {self.seed}, sample {self.sample}"
        return f"{place}, step {self.step}: {self.what}" if self.step else f"{place}: {self.what}"


class SubmissionError(Exception):
    """A submission is refused.

    Attributes:
        problems: at least one.
    """

    def __init__(self, *problems: Problem | str) -> None:
        self.problems: Sequence[Problem] = tuple(Problem(p) if isinstance(p, str) else p for p in problems)
        super().__init__("; ".join(map(str, self.problems)))


def shown(value: Any) -> str:
    """A submitted value for a message: printable ASCII, cut short."""
    text = value if isinstance(value, str) else repr(value)
    text = text if text.isascii() and text.isprintable() else ascii(text)[1:-1]
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

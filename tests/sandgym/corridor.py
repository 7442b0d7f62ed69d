"""A corridor with a goal: a small environment on ``InMemoryEnv``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sandgym.memory import InMemoryEnv, Outcome

LENGTHS = (2, 3, 5)


class CorridorEnv(InMemoryEnv):
    """``left`` and ``right`` move; the end of the corridor is worth 1. The start is random."""

    instructions = "Walk to the end of the corridor. Actions: left, right."

    def __init__(self, max_steps: int = 6, render_mode: str | None = None) -> None:
        super().__init__("corridor", max_steps, render_mode)

    @property
    def task_ids(self) -> Sequence[str]:
        return [f"corridor-{length}" for length in LENGTHS]

    def task_index(self, task_id: str) -> int:
        return {name: index for index, name in enumerate(self.task_ids)}[task_id]

    def _begin(self, task: int, rng_key: tuple[int, int]) -> int:
        return int(np.random.default_rng(rng_key).integers(LENGTHS[task]))

    def _advance(self, task: int, state: int, action: str) -> tuple[int, Outcome]:
        if action not in ("left", "right"):
            return state, Outcome(extra={"problem": "unknown action"})
        place = max(0, state + (1 if action == "right" else -1))
        there = place == LENGTHS[task]
        return place, Outcome(float(there), there, there, float(there))

    def _observe(self, task: int, state: int) -> tuple[str, dict[str, Any]]:
        return f"{state} of {LENGTHS[task]}", {"admissible_actions": ("left", "right")}

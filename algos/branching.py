"""Rules for where an episode branches; see ``algos.base.BranchRule``.

Invariant: a rule is fixed before the rollout and changes nothing while it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algos.base import Turn


@dataclass(frozen=True)
class ThresholdRule:
    """Branch before the first token of a turn whose entropy crosses; causal."""

    children: int
    threshold: float
    max_branches: int
    retrospective: bool = False

    def share(self, branches: int) -> float:
        """As much as a sibling's."""
        return 1.0

    def choose(self, turn: Turn) -> int | None:
        """First crossing token of the turn, while branches are left."""
        if turn.branches >= self.max_branches:
            return None
        return next((j for j, h in enumerate(turn.entropies) if h >= self.threshold), None)

    def choose_finished(self, turns: Sequence[Turn]) -> list[tuple[int, int]]:
        """Nothing: a causal rule decides on the way."""
        return []


@dataclass(frozen=True)
class PosthocRule:
    """Branch at the most uncertain token of the most uncertain turns; looks at the future."""

    children: int
    branches: int
    retrospective: bool = True

    def share(self, branches: int) -> float:
        """As much as a sibling's."""
        return 1.0

    def choose(self, turn: Turn) -> int | None:
        """Nothing: decided at the end."""
        return None

    def choose_finished(self, turns: Sequence[Turn]) -> list[tuple[int, int]]:
        """The ``branches`` turns with the highest entropies, in order of time."""
        peaks = [(max(t.entropies), n, int(np.argmax(t.entropies))) for n, t in enumerate(turns) if t.entropies]
        best = sorted(peaks, key=lambda p: (-p[0], p[1]))[: self.branches]
        return sorted((n, j) for _, n, j in best)

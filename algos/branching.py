"""Rules for where an episode branches; see ``algos.base.BranchRule``.

Invariant: a rule is fixed before the rollout and changes nothing while it lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from algos.base import Turn
from algos.seeds import TURN_DRAWS, uniforms
from algos.spread import SpreadTable

Measure = Literal["entropy", "influence", "lowest"]


def score(measure: Measure, entropy: float, value: float, spread: SpreadTable | None) -> float:
    """How much a token is worth branching at: what is compared with a threshold.

    ``"entropy"`` in nats; ``"influence"`` is entropy times the variance of the return about its prediction;
    ``"lowest"`` is the negative entropy, for comparison.
    """
    if measure == "influence":
        if spread is None:
            raise ValueError("influence needs to know how open returns are: record the values of a value head")
        return entropy * spread(value)
    return -entropy if measure == "lowest" else entropy


class _Causal:
    """What rules that decide on the way have in common."""

    children: int
    max_branches: int
    later: tuple[float, ...]
    retrospective: ClassVar[bool] = False

    def share(self, branches: int) -> float:
        """Leaves that are expected on the backbone's child, where a sibling has one."""
        later = self.later[branches] if branches < len(self.later) else 0.0
        return 1.0 + later * (self.children - 1)

    def choose_finished(self, turns: Sequence[Turn]) -> list[tuple[int, int]]:
        """Nothing: a causal rule decides on the way."""
        return []


@dataclass(frozen=True)
class ThresholdRule(_Causal):
    """Branch before the first token of a turn whose score crosses; causal.

    Attributes:
        children: of a branch, the backbone's continuation included.
        threshold: of ``score``.
        max_branches: of a backbone.
        measure: what is compared with the threshold.
        spread: for ``"influence"``.
        later: branch points that are expected after the first, second, ... one; none given, siblings weigh the same.
    """

    children: int
    threshold: float
    max_branches: int
    measure: Measure = "entropy"
    spread: SpreadTable | None = None
    later: tuple[float, ...] = ()

    def choose(self, turn: Turn) -> int | None:
        """First crossing token of the turn, while branches are left."""
        if turn.branches >= self.max_branches:
            return None
        values = turn.values or [0.0] * len(turn.entropies)
        scores = (score(self.measure, h, v, self.spread) for h, v in zip(turn.entropies, values, strict=True))
        return next((j for j, s in enumerate(scores) if s >= self.threshold), None)


@dataclass(frozen=True)
class UniformRule(_Causal):
    """Branch at the beginning of every turn with the same probability; causal."""

    children: int
    rate: float
    max_branches: int
    later: tuple[float, ...] = ()

    def choose(self, turn: Turn) -> int | None:
        """The first token, by the turn's own draw."""
        if turn.branches >= self.max_branches:
            return None
        return 0 if uniforms(turn.seed, TURN_DRAWS + turn.step) < self.rate else None


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

"""A threshold for branching that is fixed in each batch and moves between batches to meet a budget.

Invariant: what a batch of rollouts uses was computed from earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from algos.tree import ROOT, Tree


class Steering:
    """Keeps branch points a backbone near a number.

    Args:
        threshold: for the first batch.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.share: float | None = None

    def learn_from(
        self, trees: Sequence[Tree], branches: float, score: Callable[[float, float], float]
    ) -> dict[str, float]:
        """Move the threshold.

        Args:
            trees: the last batch.
            branches: wanted a backbone in the next one.
            score: of a token, from its entropy and the recorded value before it.
        """
        peaks: list[float] = []
        backbones = found = 0
        for tree in trees:
            for root in tree.segments[ROOT].children:
                path = [root]
                while tree.segments[path[-1]].children:
                    path.append(tree.segments[path[-1]].children[0])
                    found += tree.segments[path[-1]].survival == 1.0  # else it follows a roulette
                backbones += 1
                peaks += turn_peaks(tree, path, score)
        if not peaks or not backbones:
            return {}
        realised = found / backbones
        turns = len(peaks) / backbones
        share = self.share if self.share is not None else branches / turns
        correction = (branches / max(realised, 0.05)) ** 0.5
        self.share = float(np.clip(share * np.clip(correction, 0.5, 2.0), 0.02, 1.0))
        target = float(np.quantile(peaks, 1.0 - self.share))
        self.threshold = 0.5 * self.threshold + 0.5 * target
        return {"branches_per_root": realised, "threshold": self.threshold}

    def state_dict(self) -> dict[str, Any]:
        """The threshold and the share of turns that should cross it."""
        return {"threshold": self.threshold, "share": self.share}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self.threshold, self.share = state["threshold"], state["share"]


def turn_peaks(tree: Tree, path: Sequence[int], score: Callable[[float, float], float]) -> list[float]:
    """Highest score of a token in each turn along a path."""
    peaks: dict[int, float] = {}
    for index in path:
        segment = tree.segments[index]
        columns = zip(segment.steps, segment.written, segment.entropies, segment.values, strict=True)
        for step, written, entropy, value in columns:
            if written:
                peaks[step] = max(peaks.get(step, -np.inf), score(entropy, value))
    return list(peaks.values())

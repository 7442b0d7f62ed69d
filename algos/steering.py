"""A threshold for branching that is fixed in each batch and moves between batches to meet a budget.

Invariant: what a batch of rollouts uses was computed from earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from algos.tree import ROOT, Tree

Score = Callable[[float, float], float]
GAIN = 0.3
"""Of every batch but the first, which counts alone: the given threshold knows nothing."""


class Steering:
    """Keeps branch points a backbone near a number.

    A branch leaves its backbone as it was, so a finished batch tells how often any other threshold would have been
    crossed. The threshold moves ``GAIN`` of the way to the one that would have given the wanted number.

    Args:
        threshold: for the first batch.

    Attributes:
        threshold: for the next batch.
        rate: share of turns that would give the wanted number if all were as likely to branch; None before a batch.
        later: branch points that follow on the same backbone, expected at its first, second, ... one.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.rate: float | None = None
        self.later: tuple[float, ...] = ()

    def learn_from(self, trees: Sequence[Tree], branches: float, max_branches: int, score: Score) -> dict[str, float]:
        """Move the threshold.

        Args:
            trees: the last batch.
            branches: wanted a backbone in the next one.
            max_branches: of a backbone there.
            score: of a token, from its entropy and the recorded value before it.
        """
        peaks: list[list[float]] = []
        found = 0
        for tree in trees:
            for root in tree.segments[ROOT].children:
                path = [root]
                while tree.segments[path[-1]].children:
                    path.append(tree.segments[path[-1]].children[0])
                    found += tree.segments[path[-1]].survival == 1.0  # else it follows a roulette
                peaks.append(turn_peaks(tree, path, score))
        turns = sum(map(len, peaks))
        if not turns:
            return {}
        crossings = sorted((peak for each in peaks for peak in sorted(each)[-max_branches:]), reverse=True)
        target = float(np.interp(branches * len(peaks), np.arange(len(crossings)) + 0.5, crossings))
        self.threshold += (target - self.threshold) * (GAIN if self.rate is not None else 1.0)
        self.threshold = min(self.threshold, crossings[0])  # or equal scores, approached from above, would never cross
        self.rate = min(branches * len(peaks) / turns, 1.0)
        counts = np.minimum([sum(peak >= self.threshold for peak in each) for each in peaks], max_branches)
        following = [counts[counts > n] - n - 1 for n in range(max_branches)]
        # One backbone more, of the least that the number can be, since a mean of none is none.
        self.later = tuple(float(each.sum() / (len(each) + 1)) for each in following)
        return {"branches_per_root": found / len(peaks), "threshold": self.threshold}

    def state_dict(self) -> dict[str, Any]:
        """What is fixed for the next batch."""
        return {"threshold": self.threshold, "rate": self.rate, "later": list(self.later)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self.threshold, self.rate = state["threshold"], state["rate"]
        self.later = tuple(state["later"])


def turn_peaks(tree: Tree, path: Sequence[int], score: Score) -> list[float]:
    """Highest score of a token in each turn along a path."""
    peaks: dict[int, float] = {}
    for index in path:
        segment = tree.segments[index]
        columns = zip(segment.steps, segment.written, segment.entropies, segment.values, strict=True)
        for step, written, entropy, value in columns:
            if written:
                peaks[step] = max(peaks.get(step, -np.inf), score(entropy, value))
    return list(peaks.values())

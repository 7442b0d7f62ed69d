"""How open a return still is: its variance about the predicted value, measured in earlier batches.

Invariant: what a batch of rollouts uses was measured before it. A value estimate that calls
open states decided is found out here, since the squared errors of its own predictions are
what is averaged; so whatever trusts the estimate less where this is larger, is bounded by
how wrong the estimate has been.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from algos.credit import Floats, alive, group_shares, living_children, paid_before, segment_weights
from algos.tree import Tree

EDGES = (0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.94, 0.97, 0.99, 0.997)
"""Bins of predictions, as a share of the range of returns; finer where a return is nearly decided."""
PRIOR_WEIGHT = 1.0
"""Turns that a coin's variance counts for in a bin: what was never measured is open."""
DECAY = 0.9
"""What a batch's weight is multiplied by with every further batch."""


@dataclass(frozen=True)
class SpreadTable:
    """Expected squared error of a prediction, by bins.

    Attributes:
        variances: for each bin of ``EDGES``.
        typical: mean over all states.
        low, high: range of returns that the bins divide.
    """

    variances: tuple[float, ...]
    typical: float
    low: float = 0.0
    high: float = 1.0

    def __call__(self, value: float) -> float:
        """Expected squared difference between an episode's rewards to come and their prediction."""
        return self.variances[bisect_right(EDGES, (value - self.low) / (self.high - self.low))]


class Spread:
    """Running measurement of ``SpreadTable``."""

    def __init__(self) -> None:
        self._weights = np.zeros(len(EDGES) + 1)
        self._squares = np.zeros(len(EDGES) + 1)
        self._low, self._high = 0.0, 1.0

    def table(self) -> SpreadTable:
        """What has been measured so far; with nothing measured, that every return is a coin between the extremes."""
        coin = (self._high - self._low) ** 2 / 4
        variances = (self._squares + PRIOR_WEIGHT * coin) / (self._weights + PRIOR_WEIGHT)
        total = self._weights.sum()
        typical = float(self._squares.sum() / total) if total > 0 else coin
        return SpreadTable(tuple(variances.tolist()), typical, self._low, self._high)

    def learn_from(self, trees: Sequence[Tree]) -> None:
        """Add a batch: the first token of every turn of every episode, weighted as in ``credit.segment_weights``."""
        returns = [outcome.return_ for tree in trees for outcome in tree.outcomes()]
        self._low, self._high = min([self._low, *returns]), max([self._high, *returns])
        self._weights *= DECAY
        self._squares *= DECAY
        for tree in trees:
            weights = segment_weights(tree, living_children(tree, alive(tree)))
            columns = zip(
                tree.segments, paid_before(tree), return_moments(tree), weights, _turn_starts(tree), strict=True
            )
            for segment, paid, (mass, first, second), weight, begins in columns:
                if not weight or not begins.any():
                    continue
                values = np.asarray(segment.values)[begins]
                expected = paid[begins] + values
                squares = weight * (second - 2 * expected * first + expected**2 * mass)
                bins = np.searchsorted(EDGES, (values - self._low) / (self._high - self._low), side="right")
                np.add.at(self._squares, bins, squares)
                np.add.at(self._weights, bins, weight * mass)

    def state_dict(self) -> dict[str, Any]:
        """Plain lists."""
        return {"weights": self._weights.tolist(), "squares": self._squares.tolist(), "range": [self._low, self._high]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self._weights, self._squares = np.array(state["weights"]), np.array(state["squares"])
        self._low, self._high = state["range"]


def return_moments(tree: Tree) -> Floats:
    """Weight, weighted return and weighted squared return of the single episodes below each segment's end.

    Stopped episodes count nothing and the others on their level 1 / survival, so that all three are right on average.

    Returns:
        Shape (segments, 3).
    """
    children = living_children(tree, alive(tree))
    moments = np.zeros((len(tree.segments), 3))
    for index in reversed(tree.parents_first()):
        outcome = tree.segments[index].outcome
        if outcome is not None:
            if not outcome.failed and not outcome.stopped:
                moments[index] = 1.0, outcome.return_, outcome.return_**2
            continue
        group = children[index]
        shares = group_shares(tree, group)
        for child, share in zip(group, shares, strict=True):
            moments[index] += share / shares.sum() / tree.segments[child].survival * moments[child]
    return moments


def _turn_starts(tree: Tree) -> list[npt.NDArray[np.bool_]]:
    """Which tokens begin an action: those that the policy wrote after text that it did not."""
    starts: list[npt.NDArray[np.bool_]] = [np.zeros(0, bool)] * len(tree.segments)
    ends = np.zeros(len(tree.segments), bool)
    for index in tree.parents_first():
        segment = tree.segments[index]
        before = bool(ends[segment.parent]) if segment.parent is not None else False
        written = np.array([before, *segment.written], bool)
        starts[index], ends[index] = written[1:] & ~written[:-1], written[-1]
    return starts

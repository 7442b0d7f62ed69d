"""What the pages say of verified episodes: means, intervals, comparisons, ranks.

Invariant: a statistic is a function of the episodes; running it again, anywhere, gives the same number.

Intervals are 95 % percentile bootstraps over tasks (Efron, 1979), stratified: each kind of task is
resampled by itself, so that every resample has the panel's composition. A task comes with all of its
episodes, because episodes of one task are not independent. The interquartile mean is that of Agarwal et al.
(2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice"): the mean of all episodes'
scores without the lowest and the highest quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
RESAMPLES = 10_000
LEVEL = 0.95
_SEED = 0
_AT_ONCE = 500  # resamples; bounds memory


@dataclass(frozen=True)
class Interval:
    """A statistic and its 95 % interval."""

    value: float
    low: float
    high: float

    def overlaps(self, other: Interval) -> bool:
        """Whether the intervals have a point in common."""
        return self.low <= other.high and other.low <= self.high


def interval(
    values: Floats,
    strata: Sequence[str],
    statistic: Callable[[Floats], Floats] | None = None,
    resamples: int = RESAMPLES,
) -> Interval:
    """A statistic of tasks, and its stratified bootstrap interval.

    Args:
        values: of shape (tasks, episodes of each).
        strata: the kind of each task.
        statistic: from shape (resamples, tasks, episodes) to (resamples,); the mean by default.
        resamples: how many.
    """
    statistic = statistic or mean
    groups = [np.flatnonzero(np.array(strata) == kind) for kind in sorted(set(strata))]
    rng = np.random.default_rng(_SEED)
    drawn = []
    for start in range(0, resamples, _AT_ONCE):
        count = min(_AT_ONCE, resamples - start)
        rows = [group[rng.integers(len(group), size=(count, len(group)))] for group in groups]
        drawn.append(statistic(values[np.concatenate(rows, axis=1)]))
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(np.concatenate(drawn), (tail, 100 - tail))
    return Interval(float(statistic(values[None])[0]), float(low), float(high))


def mean(values: Floats) -> Floats:
    """Of shape (resamples, tasks, episodes) over tasks and episodes."""
    means: Floats = values.mean((1, 2))
    return means


def interquartile_mean(values: Floats) -> Floats:
    """Like ``mean``, without the lowest and the highest quarter of the values, rounded down."""
    flat = np.sort(values.reshape(len(values), -1), axis=1)
    cut = flat.shape[1] // 4
    means: Floats = flat[:, cut : flat.shape[1] - cut].mean(1)
    return means


def paired(values: Floats, reference: Floats, strata: Sequence[str]) -> Interval:
    """The difference of two players' means on the same tasks, which are resampled together.

    Args:
        values: of shape (tasks, episodes of each).
        reference: of shape (tasks, episodes of each, which may be another number).
        strata: the kind of each task.
    """
    return interval(values.mean(1, keepdims=True) - reference.mean(1, keepdims=True), strata)


def ranks(intervals: Sequence[Interval]) -> list[int]:
    """One more than the number of players that are better beyond the intervals.

    Players whose intervals overlap are never ranked by their difference from each other.
    """
    return [1 + sum(other.low > own.high for other in intervals) for own in intervals]


def stratum(task: str) -> str:
    """The kind of a task, as far as its id tells: the first word of its last folder, or of its name.

    That is the type of a household task, the repository of an issue, and one kind for all shopping goals.
    """
    *folders, name = task.split("/")
    return (folders[-1] if folders else name).partition("-")[0]

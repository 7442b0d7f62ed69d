"""Means, intervals and ranks beside SciPy, enumeration and arithmetic by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from leaderboard.statistics import Interval, interquartile_mean, interval, mean, paired, ranks, stratum


def column(*values: float) -> np.ndarray:
    return np.array(values, float)[:, None]


def bounds(means: list[float]) -> tuple[float, ...]:
    """2.5 and 97.5 percent of means that are equally likely, without interpolation between them."""
    return tuple(np.percentile(np.repeat(means, 1000), (2.5, 97.5)))


def test_the_interval_of_three_tasks_is_that_of_all_their_resamples() -> None:
    values = (0.0, 0.5, 1.0)
    means = [np.mean(drawn) for drawn in itertools.product(values, repeat=3)]  # 27, each as likely
    found = interval(column(*values), ["a"] * 3)
    assert found.value == 0.5
    assert (found.low, found.high) == bounds(means) == (0.0, 1.0)  # each end has 1/27


def test_strata_are_resampled_by_themselves() -> None:
    """With one kind all 0 and the other all 1, every resample has the same mean; unstratified ones have not."""
    values = column(0, 0, 0, 1, 1, 1)
    assert interval(values, ["a"] * 3 + ["b"] * 3) == Interval(0.5, 0.5, 0.5)
    spread = interval(values, ["a"] * 6)
    assert spread.low < 0.5 < spread.high


def test_strata_beside_enumeration() -> None:
    first, second = (0.0, 1.0), (0.0, 0.2, 0.7)
    means = [
        sum((*a, *b)) / 5
        for a in itertools.product(first, repeat=2)
        for b in itertools.product(second, repeat=3)
    ]  # fmt: skip
    found = interval(column(0.0, 0.0, 1.0, 0.2, 0.7), ["a", "b", "a", "b", "b"], resamples=40_000)
    low, high = bounds(means)
    assert found.value == pytest.approx(0.38)
    assert found.low == pytest.approx(low, abs=1e-12)
    assert found.high == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("sizes", [(60,), (25, 60, 15)])
def test_intervals_beside_scipy(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    strata = [str(kind) for kind, size in enumerate(sizes) for _ in range(size)]
    centre = rng.beta(0.4 + np.array([int(kind) for kind in strata]), 1.0)
    values = centre[:, None] + rng.normal(0, 0.1, (len(strata), 3))
    samples = [values[[kind == each for each in strata]].mean(1) for kind in sorted(set(strata))]

    def weighted(*parts: np.ndarray, axis: int) -> np.ndarray:
        return sum(part.sum(axis=axis) for part in parts) / len(strata)

    expected = scipy.stats.bootstrap(
        samples, weighted, method="percentile", n_resamples=40_000, vectorized=True, rng=np.random.default_rng(5)
    ).confidence_interval
    found = interval(values, strata, resamples=40_000)
    width = expected.high - expected.low
    assert found.low == pytest.approx(expected.low, abs=0.02 * width)
    assert found.high == pytest.approx(expected.high, abs=0.02 * width)
    assert found.value == pytest.approx(values.mean())


def test_a_task_comes_with_all_of_its_episodes() -> None:
    """Ten equal episodes a task are no more certain than one."""
    once = column(0, 0, 1, 1, 1)
    tenfold = np.repeat(once, 10, axis=1)
    assert vars(interval(tenfold, ["a"] * 5)) == pytest.approx(vars(interval(once, ["a"] * 5)))


def test_the_interquartile_mean_by_hand_and_beside_scipy() -> None:
    values = np.array([[[0, 0, 10, 10], [1, 2, 3, 100]]], float)  # 0 0 | 1 2 3 10 | 10 100
    assert interquartile_mean(values).tolist() == [4.0]
    rng = np.random.default_rng(0)
    for tasks, episodes in ((5, 1), (7, 3), (50, 4)):
        drawn = rng.random((6, tasks, episodes))
        expected = [scipy.stats.trim_mean(each.ravel(), 0.25) for each in drawn]
        assert interquartile_mean(drawn) == pytest.approx(expected)


def test_the_mean_by_hand() -> None:
    assert mean(np.array([[[0, 1], [1, 1]], [[0, 0], [0, 1]]], float)).tolist() == [0.75, 0.25]


def test_a_paired_comparison_knows_that_the_tasks_are_the_same() -> None:
    reference = column(0, 0.2, 0.4, 0.6, 0.8)
    better = reference + 0.1
    found = paired(np.repeat(better, 3, axis=1), reference, ["a"] * 5)
    assert vars(found) == pytest.approx({"value": 0.1, "low": 0.1, "high": 0.1})
    assert vars(paired(reference, reference, ["a"] * 5)) == {"value": 0.0, "low": 0.0, "high": 0.0}
    differences = (1.0, 0.0, -0.5)  # by hand: 27 resamples
    means = [np.mean(drawn) for drawn in itertools.product(differences, repeat=3)]
    found = paired(column(1, 0.5, 0), column(0, 0.5, 0.5), ["a"] * 3)
    assert found.value == pytest.approx(1 / 6)
    assert (found.low, found.high) == pytest.approx(bounds(means))


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ([(0.8, 0.9), (0.5, 0.6), (0.1, 0.2)], [1, 2, 3]),
        ([(0.5, 0.9), (0.4, 0.6), (0.1, 0.2)], [1, 1, 3]),
        ([(0.5, 0.9), (0.4, 0.5), (0.1, 0.2)], [1, 1, 3]),  # a common point is an overlap
        ([(0.7, 0.9), (0.5, 0.75), (0.4, 0.6)], [1, 1, 2]),  # the last overlaps the second but not the first
        ([(0.1, 0.2), (0.8, 0.9), (0.8, 0.9)], [3, 1, 1]),
        ([], []),
    ],
)
def test_ranks_tie_where_intervals_overlap(bounds: list[tuple[float, float]], expected: list[int]) -> None:
    intervals = [Interval((low + high) / 2, low, high) for low, high in bounds]
    assert ranks(intervals) == expected
    for one, other in itertools.combinations(range(len(intervals)), 2):
        overlap = intervals[one].low <= intervals[other].high and intervals[other].low <= intervals[one].high
        assert intervals[one].overlaps(intervals[other]) == overlap


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("goal-17", "goal"),
        ("valid_unseen/pick_two_obj_and_place-Pen-None-Desk-1/trial_T2019", "pick_two_obj_and_place"),
        ("django__django-11099", "django__django"),
        ("alone", "alone"),
    ],
)
def test_kinds_of_tasks(task: str, kind: str) -> None:
    assert stratum(task) == kind

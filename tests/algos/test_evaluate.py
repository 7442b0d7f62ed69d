"""Evaluation: the same numbers twice, failures left out, intervals."""

import numpy as np
import pytest
from letters import BrokenLettersEnv
from scipy.stats import binom

from algos.evaluate import EvaluationConfig, Statistic, evaluate

CONFIG = EvaluationConfig(samples=3, temperature=0.9, max_turn_tokens=5)


def test_the_same_numbers_twice_and_others_for_another_seed(policy, letters):
    tasks = list(letters.task_ids)
    one, two = (evaluate(policy, letters, tasks, CONFIG) for _ in range(2))
    for name, samples in (("greedy", 1), ("sampled", 3)):
        assert one[name].score.shape == (5, samples)
        for column in ("success", "score", "steps"):
            assert np.array_equal(getattr(one[name], column), getattr(two[name], column))
        assert one[name].summary() == two[name].summary()
    other = evaluate(policy, letters, tasks, EvaluationConfig(3, 0.9, 5, seed=1))
    assert np.array_equal(other["greedy"].score, one["greedy"].score)
    assert not np.array_equal(other["sampled"].score, one["sampled"].score)


def test_a_task_plays_the_same_in_a_longer_panel(policy, letters):
    few = evaluate(policy, letters, ["apple", "brook"], CONFIG)
    many = evaluate(policy, letters, ["apple", "brook", "cedar", "delta"], CONFIG)
    for name in ("greedy", "sampled"):
        assert np.array_equal(many[name].score[:2], few[name].score)


def test_a_bound_on_live_episodes_changes_no_number(policy, letters, monkeypatch):
    widths: list[int] = []
    generate = type(policy.engine()).generate

    def counted(self, requests, *rest):
        widths.append(len(requests))
        return generate(self, requests, *rest)

    monkeypatch.setattr(type(policy.engine()), "generate", counted)
    tasks = list(letters.task_ids)
    free = evaluate(policy, letters, tasks, CONFIG)
    assert max(widths) == 15
    widths.clear()
    bounded = evaluate(policy, letters, tasks, CONFIG, max_live=6)
    assert max(widths) == 6
    for name in ("greedy", "sampled"):
        assert np.array_equal(bounded[name].score, free[name].score)


def test_failures_are_left_out_and_not_counted_as_zero(policy):
    result = evaluate(policy, BrokenLettersEnv(), ["apple", "delta", "cedar"], CONFIG)["sampled"]
    assert np.isnan(result.success[1]).all()
    assert np.isfinite(result.success).any()
    means = [np.mean(row[~np.isnan(row)]) for row in result.score if not np.isnan(row).all()]
    assert result.summary()["score"]["mean"] == pytest.approx(np.mean(means))


def test_progress_ends_with_every_episode(policy, letters):
    seen: list[tuple[int, int]] = []
    evaluate(policy, letters, ["apple", "brook"], CONFIG, progress=lambda n, total: seen.append((n, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (8, 8)


def test_a_statistic_is_the_mean_of_the_tasks_means():
    # tasks 1, 0 and 0.5; the failed sample and the failed task are left out
    values = np.array([[1.0, 1.0], [0.0, np.nan], [0.0, 1.0], [np.nan, np.nan]])
    assert Statistic.of(values).mean == 0.5


def test_equal_tasks_have_no_interval_and_no_tasks_no_mean():
    assert Statistic.of(np.full((4, 2), 0.25)) == Statistic(0.25, 0.25, 0.25)
    for nothing in (np.zeros((0, 3)), np.full((2, 3), np.nan)):
        assert np.isnan(Statistic.of(nothing).mean)


def test_the_interval_is_that_of_the_bootstrap_distribution():
    """For 0/1 tasks the bootstrap mean is binomial, whose quantiles are exact."""
    values = np.repeat([[1.0], [0.0]], [30, 70], 0)
    statistic = Statistic.of(values)
    low, high = binom.ppf([0.025, 0.975], 100, 0.3) / 100
    assert statistic.mean == pytest.approx(0.3)
    assert (statistic.low, statistic.high) == pytest.approx((low, high), abs=0.0101)

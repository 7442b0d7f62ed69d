"""Evaluation on fixed tasks with the training harness, and its statistics.

Invariant: an evaluation is a function of policy, tasks, sampling and seed; running it
again gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

from algos.actions import Turns, turns
from algos.base import Plan
from algos.engines.base import Engine, Sampling
from algos.episodes import TextEnv
from algos.ledger import Ledger
from algos.policy import Policy
from algos.rollout import Rollout, RolloutConfig
from algos.tree import ROOT

EVALUATION_SEED = 20_000


@dataclass(frozen=True)
class EvaluationConfig:
    """How a policy is evaluated.

    Attributes:
        samples: sampled episodes a task.
        temperature, top_p, top_k: of the sampled episodes (see ``Sampling``); greedy ones are always played too.
        max_turn_tokens: tokens of one action at most.
        seed: of the sampled episodes.
    """

    samples: int = 4
    temperature: float = 1.0
    max_turn_tokens: int = 32
    seed: int = EVALUATION_SEED
    top_p: float = 1.0
    top_k: int = 0

    def sampling(self, temperature: float) -> Sampling:
        """How tokens are drawn at a temperature; 0 is greedy."""
        return Sampling(temperature, self.max_turn_tokens, self.top_p, self.top_k)


@dataclass(frozen=True)
class Statistic:
    """A mean with its 95 % interval: percentile bootstrap over tasks of the tasks' means."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: npt.NDArray[np.float64]) -> Statistic:
        """Of an array of shape (tasks, samples); tasks of no sample (NaN rows) are left out."""
        played = values[~np.isnan(values).all(1)]
        if not played.size:
            return cls(float("nan"), float("nan"), float("nan"))
        tasks = np.nanmean(played, 1)
        mean = float(tasks.mean())
        if np.ptp(tasks) == 0:
            return cls(mean, mean, mean)
        interval = bootstrap((tasks,), np.mean, method="percentile", n_resamples=2000, rng=0).confidence_interval
        return cls(mean, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Evaluation:
    """Results of one way of playing: arrays of shape (tasks, samples), NaN where the infrastructure failed.

    ``actions`` has the tokens of each task's and sample's actions, empty where the infrastructure failed.
    """

    tasks: tuple[str, ...]
    temperature: float
    success: npt.NDArray[np.float64]
    score: npt.NDArray[np.float64]
    steps: npt.NDArray[np.float64]
    actions: tuple[tuple[Turns, ...], ...] = field(default=(), compare=False, repr=False)

    def summary(self) -> dict[str, Any]:
        """Success and score with intervals, mean steps, and what was played."""
        return {
            "temperature": self.temperature,
            "tasks": len(self.tasks),
            "samples": self.success.shape[1],
            "success": asdict(Statistic.of(self.success)),
            "score": asdict(Statistic.of(self.score)),
            "steps": float(np.nanmean(self.steps)),
        }


def evaluate(
    policy: Policy,
    env: TextEnv,
    tasks: Sequence[str],
    config: EvaluationConfig,
    ledger: Ledger | None = None,
    progress: Callable[[int, int], None] | None = None,
    engine: Engine | None = None,
    max_live: int = RolloutConfig.max_live,
) -> dict[str, Evaluation]:
    """Play every task greedily and ``config.samples`` times sampled, to the environment's own horizon.

    Args:
        policy: who plays.
        env: any instance of the environment.
        tasks: task ids.
        config: sampling.
        ledger: counts what is spent.
        progress: called with (episodes ended, episodes in all).
        engine: with the policy's weights; None: one over the policy's own model.
        max_live: episodes played at once; bounds memory.

    Returns:
        ``"greedy"`` and ``"sampled"``.
    """
    settings = RolloutConfig(0.0, max_invalid_actions=None, max_live=max_live)
    rollout = Rollout(env, engine or policy.engine(), policy.prompts, settings, ledger or Ledger())
    total = len(tasks) * (1 + config.samples)
    results: dict[str, Evaluation] = {}
    for name, samples, temperature, before in (
        ("greedy", 1, 0.0, 0),
        ("sampled", config.samples, config.temperature, len(tasks)),
    ):
        sampling = config.sampling(temperature)
        report = (lambda n, before=before: progress(before + n, total)) if progress is not None else None
        trees = rollout.collect(tasks, Plan(samples), sampling, config.seed, progress=report)
        columns = np.full((3, len(tasks), samples), np.nan)
        actions: list[list[Turns]] = [[()] * samples for _ in tasks]
        for t, tree in enumerate(trees):
            for s, child in enumerate(tree.segments[ROOT].children):
                outcome = tree.segments[child].outcome
                if outcome is not None and not outcome.failed:
                    columns[:, t, s] = outcome.success, outcome.score, outcome.steps
                    actions[t][s] = turns(tree, child)
        success, score, steps = columns
        results[name] = Evaluation(tuple(tasks), temperature, success, score, steps, tuple(map(tuple, actions)))
    return results

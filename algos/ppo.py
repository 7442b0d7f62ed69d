"""PPO: clipped surrogate with GAE over policy tokens (arXiv 1707.06347, 1506.02438).

Text that the environment inserted is part of the state, not a time step: advantages
and discounts skip it. A truncated episode is bootstrapped with the value of its last
state, a terminated one is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algos.base import Algorithm, Plan
from algos.credit import Credit, gae
from algos.losses import LossConfig
from algos.tree import Tree


@dataclass(frozen=True)
class PPOConfig:
    """Settings of PPO; ``gamma`` and ``lam`` are per policy token."""

    episodes: int = 8
    gamma: float = 1.0
    lam: float = 0.98
    clip: float = 0.2
    kl_coefficient: float = 0.0
    entropy_coefficient: float = 0.0
    value_coefficient: float = 0.5
    epochs: int = 1
    minibatches: int = 2
    whiten: bool = True


class PPO(Algorithm):
    """Actor and critic on one trunk."""

    name = "ppo"
    needs_values = True
    Config = PPOConfig

    def __init__(self, config: PPOConfig) -> None:
        self.config: PPOConfig = config
        self.epochs, self.minibatches = config.epochs, config.minibatches
        self.loss = LossConfig(
            clip_low=config.clip,
            clip_high=config.clip,
            kl_coefficient=config.kl_coefficient,
            entropy_coefficient=config.entropy_coefficient,
            value_coefficient=config.value_coefficient,
        )

    def plan(self) -> Plan:
        """Independent episodes."""
        return Plan(self.config.episodes)

    def credit(self, trees: Sequence[Tree], values: Sequence[Sequence[Any]] | None = None) -> list[Credit]:
        """GAE along each episode; with ``whiten`` advantages get mean 0 and deviation 1 over the batch."""
        if values is None:
            raise ValueError("PPO needs a value for every token")
        credits = [self._episode_credit(tree, tree_values) for tree, tree_values in zip(trees, values, strict=True)]
        if self.config.whiten:
            _whiten(trees, credits)
        return credits

    def _episode_credit(self, tree: Tree, values: Sequence[Any]) -> Credit:
        credit = Credit.zeros(tree)
        credit.value_targets = [np.zeros(len(s)) for s in tree.segments]
        leaves = [i for i in tree.leaves() if not tree.segments[i].outcome.failed]  # type: ignore[union-attr]
        for index in leaves:
            segment = tree.segments[index]
            outcome = segment.outcome
            assert outcome is not None
            written = np.flatnonzero(segment.written)
            if not len(written):
                continue
            bootstrap = float(values[index][-1]) if outcome.truncated else 0.0
            rewards = np.add.reduceat(np.asarray(segment.rewards, np.float64), written)
            advantages, targets = gae(
                rewards, np.asarray(values[index])[written], bootstrap, self.config.gamma, self.config.lam
            )
            credit.advantages[index][written] = advantages
            credit.value_targets[index][written] = targets
            credit.weights[index][:] = 1.0 / len(leaves)
        return credit


def _whiten(trees: Sequence[Tree], credits: Sequence[Credit]) -> None:
    taken = [
        advantages[np.asarray(segment.written, bool) & (weights > 0)]
        for tree, credit in zip(trees, credits, strict=True)
        for segment, advantages, weights in zip(tree.segments, credit.advantages, credit.weights, strict=True)
    ]
    everything = np.concatenate(taken)
    if len(everything) < 2:
        return
    mean, std = everything.mean(), everything.std() + 1e-8
    for credit in credits:
        credit.advantages = [(a - mean) / std for a in credit.advantages]

"""RLOO: REINFORCE with the other episodes' mean return as the baseline (arXiv 2402.14740)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algos.base import Algorithm, Plan
from algos.credit import Credit, tree_credit
from algos.losses import LossConfig
from algos.tree import Tree


@dataclass(frozen=True)
class RLOOConfig:
    """Settings of RLOO: ``episodes`` independent episodes a task, one gradient step."""

    episodes: int = 8
    entropy_coefficient: float = 0.0


class RLOO(Algorithm):
    """Leave-one-out baseline; the plain policy gradient of the return."""

    name = "rloo"
    Config = RLOOConfig

    def __init__(self, config: RLOOConfig) -> None:
        self.config: RLOOConfig = config
        self.loss = LossConfig(entropy_coefficient=config.entropy_coefficient)

    def plan(self) -> Plan:
        """Independent episodes."""
        return Plan(self.config.episodes)

    def credit(self, trees: Sequence[Tree], values: Sequence[Sequence[Any]] | None = None) -> list[Credit]:
        """Sibling credit of a tree that branches at its prompt only is leave-one-out."""
        return [tree_credit(tree) for tree in trees]

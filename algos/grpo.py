"""GRPO: group-normalised advantages, per-token clip, k3 KL (arXiv 2402.03300).

``scale="none"`` is Dr. GRPO (arXiv 2503.20783). Deviation from the first paper: token
losses are summed and divided by a fixed number, not by each episode's own length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from algos.base import Algorithm, Plan
from algos.credit import Credit, group_credit
from algos.losses import LossConfig
from algos.tree import Tree


@dataclass(frozen=True)
class GRPOConfig:
    """Settings of GRPO.

    Attributes:
        episodes: independent episodes a task.
        scale: ``"std"`` divides by the group's standard deviation, ``"none"`` does not.
        clip: the probability ratio stays within 1 +- clip.
        kl_coefficient: weight of the KL to the policy that training started from.
        minibatches: gradient steps a batch; more than 1 makes the clip matter.
    """

    episodes: int = 8
    scale: Literal["std", "none"] = "std"
    clip: float = 0.2
    kl_coefficient: float = 0.0
    entropy_coefficient: float = 0.0
    minibatches: int = 1


class GRPO(Algorithm):
    """Group-relative advantages."""

    name = "grpo"
    Config = GRPOConfig

    def __init__(self, config: GRPOConfig) -> None:
        if config.scale not in ("std", "none"):
            raise ValueError(f"unknown scale {config.scale!r}; known: 'std', 'none'")
        self.config: GRPOConfig = config
        self.minibatches = config.minibatches
        self.loss = LossConfig(
            clip_low=config.clip,
            clip_high=config.clip,
            kl_coefficient=config.kl_coefficient,
            entropy_coefficient=config.entropy_coefficient,
        )

    def plan(self) -> Plan:
        """Independent episodes."""
        return Plan(self.config.episodes)

    def credit(self, trees: Sequence[Tree], values: Sequence[Sequence[Any]] | None = None) -> list[Credit]:
        """(return - mean) / standard deviation within each task's group."""
        return [group_credit(tree, self.config.scale) for tree in trees]

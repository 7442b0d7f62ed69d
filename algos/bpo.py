"""BPO: branch where the policy is uncertain, learn from siblings (arXiv 2607.14171).

Where the paper is loose, the default is the version whose expected gradient is the
gradient of the expected return: branch points are decided by a threshold fixed before
the rollout, and the shared prefix is credited with the value of its subtree. The
paper's own rules are ``selection="posthoc"`` and ``prefix_credit="lambda" | "none"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from algos.base import Algorithm, Plan
from algos.branching import PosthocRule, ThresholdRule
from algos.credit import Credit, alive, living_children, sibling_credit, tree_values
from algos.losses import LossConfig
from algos.tree import ROOT, Tree


@dataclass(frozen=True)
class BPOConfig:
    """Settings of BPO.

    Attributes:
        roots: independent backbones a task.
        branches: branch points a backbone, on average; the threshold is steered to it.
        max_branches: branch points a backbone at most.
        children: children of a branch, the backbone's own continuation included.
        selection: ``"threshold"`` branches at the first tokens whose entropy crosses a
            threshold fixed before the rollout (causal); ``"posthoc"`` at the turns of
            highest entropy of the finished backbone (the paper's rule; biased).
        prefix_credit: ``"tree"``, or the paper's ``"lambda"`` / ``"none"`` (biased).
        lam: decay per environment step of ``prefix_credit="lambda"``.
        include_backbone: whether the backbone's continuation is one of the siblings;
            without it ``posthoc`` is unbiased at the branch.
        initial_threshold: nats, for the first batch.
    """

    roots: int = 3
    branches: float = 1.0
    max_branches: int = 2
    children: int = 3
    selection: Literal["threshold", "posthoc"] = "threshold"
    prefix_credit: Literal["tree", "lambda", "none"] = "tree"
    lam: float = 0.9
    include_backbone: bool = True
    entropy_coefficient: float = 0.0
    initial_threshold: float = 0.7

    def __post_init__(self) -> None:
        if self.selection not in ("threshold", "posthoc"):
            raise ValueError(f"unknown selection {self.selection!r}; known: 'threshold', 'posthoc'")
        if self.prefix_credit not in ("tree", "lambda", "none"):
            raise ValueError(f"unknown prefix_credit {self.prefix_credit!r}; known: 'tree', 'lambda', 'none'")
        if self.children < 2 or self.roots < 2 or self.max_branches < 1:
            raise ValueError("BPO needs roots >= 2 (a lone one has no baseline), max_branches >= 1 and children >= 2")
        if self.prefix_credit != "tree" and not self.include_backbone:
            raise ValueError("prefix_credit 'lambda' and 'none' need the backbone among the siblings")


class BPO(Algorithm):
    """Sibling advantages on branching rollouts."""

    name = "bpo"
    Config = BPOConfig

    def __init__(self, config: BPOConfig) -> None:
        self.config: BPOConfig = config
        self.loss = LossConfig(entropy_coefficient=config.entropy_coefficient)
        self._threshold = config.initial_threshold
        self._share: float | None = None

    def plan(self) -> Plan:
        """Backbones that branch."""
        config = self.config
        if config.selection == "posthoc":
            return Plan(config.roots, PosthocRule(config.children, max(1, round(config.branches))))
        return Plan(config.roots, ThresholdRule(config.children, self._threshold, config.max_branches))

    def credit(self, trees: Sequence[Tree], values: Sequence[Sequence[Any]] | None = None) -> list[Credit]:
        """Sibling credit; see ``prefix_credit``."""
        return [self._tree_credit(tree) for tree in trees]

    def _tree_credit(self, tree: Tree) -> Credit:
        children = living_children(tree, alive(tree))
        if not self.config.include_backbone:
            children = [
                c if i == ROOT or len(c) < 2 else [k for k in c if k != segment.children[0]]
                for i, (c, segment) in enumerate(zip(children, tree.segments, strict=True))
            ]
        credit = sibling_credit(tree, children)
        if self.config.prefix_credit != "tree":
            self._credit_prefixes_locally(tree, children, credit)
        return credit

    def _credit_prefixes_locally(self, tree: Tree, children: list[list[int]], credit: Credit) -> None:
        """The paper's rule: a segment before the first branch gets the backbone's decayed advantage, or none."""
        for root in children[ROOT]:
            group = children[root]
            if len(group) < 2:
                continue
            credit.advantages[root][:] = 0.0
            if self.config.prefix_credit == "lambda":
                segment, child = tree.segments[root], tree.segments[group[0]]
                branch_step = child.steps[0] if child.steps else segment.steps[-1]
                local = tree_values(tree, children)
                advantage = local[group[0]] - np.mean([local[c] for c in group[1:]])
                distance = branch_step - np.asarray(segment.steps)
                credit.advantages[root][:] = self.config.lam**distance * advantage

    def learn_from(self, trees: Sequence[Tree]) -> dict[str, float]:
        """Steer the threshold so that the next batch has ``branches`` a backbone."""
        peaks, backbones, branches = [], 0, 0
        for tree in trees:
            for root in tree.segments[ROOT].children:
                path = [root]
                while tree.segments[path[-1]].children:
                    path.append(tree.segments[path[-1]].children[0])
                backbones += 1
                branches += len(path) - 1
                peaks += _turn_peaks(tree, path)
        if not peaks or not backbones:
            return {}
        realised = branches / backbones
        turns = len(peaks) / backbones
        share = self._share if self._share is not None else self.config.branches / turns
        correction = (self.config.branches / max(realised, 0.05)) ** 0.5
        self._share = float(np.clip(share * np.clip(correction, 0.5, 2.0), 0.02, 1.0))
        target = float(np.quantile(peaks, 1.0 - self._share))
        self._threshold = 0.5 * self._threshold + 0.5 * target
        return {"branches_per_root": realised, "threshold": self._threshold}

    def state_dict(self) -> dict[str, Any]:
        """The threshold and the share of turns that should cross it."""
        return {"threshold": self._threshold, "share": self._share}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self._threshold, self._share = state["threshold"], state["share"]


def _turn_peaks(tree: Tree, path: list[int]) -> list[float]:
    """Highest entropy of each turn along a path."""
    peaks: dict[int, float] = {}
    for index in path:
        segment = tree.segments[index]
        for step, written, entropy in zip(segment.steps, segment.written, segment.entropies, strict=True):
            if written:
                peaks[step] = max(peaks.get(step, 0.0), entropy)
    return list(peaks.values())

"""BPO: branch where the policy is uncertain, learn from siblings (arXiv 2607.14171).

Where the paper is loose, the default is the version whose expected gradient is the
gradient of the expected return: branch points are decided by a threshold fixed before
the rollout, and the shared prefix is credited with the value of its subtree. The
paper's own rules are ``selection="posthoc"`` and ``prefix_credit="lambda" | "none"``.
Everything else (baselines, where to branch, roulette) changes the variance only; see
``docs/estimator.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from algos.allocation import Allocation, Allocator
from algos.base import Algorithm, BranchRule, Plan
from algos.baselines import Kind, RunningBaseline
from algos.branching import Measure, PosthocRule, ThresholdRule, UniformRule, score
from algos.credit import Credit, alive, living_children, paid_before, sibling_credit, tree_values
from algos.losses import LossConfig
from algos.roulette import WeightWindow
from algos.spread import Spread
from algos.steering import Steering
from algos.tree import ROOT, Tree

Selection = Literal["threshold", "influence", "uniform", "lowest", "posthoc"]
PrefixCredit = Literal["tree", "lambda", "none"]
MEASURES: dict[str, Measure] = {"threshold": "entropy", "influence": "influence", "lowest": "lowest"}


@dataclass(frozen=True)
class BPOConfig:
    """Settings of BPO.

    Attributes:
        roots: independent backbones a task.
        branches: branch points a backbone, on average; selection is steered to it.
        max_branches: branch points a backbone at most.
        children: children of a branch, the backbone's own continuation included.
        selection: ``"threshold"`` branches at the first tokens whose entropy crosses a
            threshold fixed before the rollout; ``"influence"`` at those whose entropy
            times predicted return variance does; ``"uniform"`` and ``"lowest"`` (entropy)
            are for comparison. All of these are causal; ``"posthoc"`` at the turns of
            highest entropy of the finished backbone is not (the paper's rule; biased).
        baseline: ``"sibling"``: the other siblings' mean; ``"value"``: an estimate learned from earlier batches;
            ``"shrunk"``: the former shrunk toward the latter in proportion to its noise.
        value_head: whether the estimate is a value head's; else it is the mean return of earlier batches.
        roulette: highest probability with which a decided episode may be stopped; needs a value head.
        openness: an episode is safe from roulette while its return's predicted variance is this times the mean one.
        allocate: whether roots, branches and children are chosen by what earlier batches measured
            (``algos.allocation``); those given here are then for the first one.
        budget: tokens to generate for a task, with ``allocate``; None: as many as the given ones take.
        shares: weights of siblings: ``"equal"``, or by the ``"leaves"`` that each is expected to get.
        prefix_credit: ``"tree"``, or the paper's ``"lambda"`` / ``"none"`` (biased).
        lam: decay per environment step of ``prefix_credit="lambda"``.
        include_backbone: whether the backbone's continuation is one of the siblings;
            without it ``posthoc`` is unbiased at the branch.
        value_coefficient: weight of the value head's loss.
        kl_coefficient: weight of the KL term to the policy that learning starts from.
        initial_threshold: nats, for the first batch.
    """

    roots: int = 3
    branches: float = 1.0
    max_branches: int = 2
    children: int = 3
    selection: Selection = "influence"
    baseline: Kind = "shrunk"
    value_head: bool = True
    roulette: float = 0.9
    openness: float = 1.0
    allocate: bool = True
    budget: int | None = None
    shares: Literal["equal", "leaves"] = "leaves"
    prefix_credit: PrefixCredit = "tree"
    lam: float = 0.9
    include_backbone: bool = True
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.0
    kl_coefficient: float = 0.0
    initial_threshold: float = 0.7

    def __post_init__(self) -> None:
        for name, known in (
            ("selection", get_args(Selection)),
            ("baseline", get_args(Kind)),
            ("shares", ("equal", "leaves")),
            ("prefix_credit", get_args(PrefixCredit)),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; known: {', '.join(map(repr, known))}"
                )  # fmt: skip
        if self.children < 2 or self.roots < 2 or self.max_branches < 1 or self.branches <= 0:
            raise ValueError(
                "BPO needs roots >= 2 (a lone one has no baseline), branches > 0, max_branches >= 1 and children >= 2"
            )
        if self.prefix_credit != "tree" and not self.include_backbone:
            raise ValueError("prefix_credit 'lambda' and 'none' need the backbone among the siblings")
        if not 0.0 <= self.roulette < 1.0:
            raise ValueError(f"roulette is a probability below 1, not {self.roulette}")
        if not self.value_head and (self.roulette or self.selection == "influence"):
            raise ValueError(
                "roulette and selection 'influence' go by predicted returns: set value_head=true, or roulette=0 and "
                "selection=threshold"
            )
        if self.budget is not None and not self.allocate:
            raise ValueError("a budget needs allocate=true: else roots, branches and children are as given")
        if self.roulette and (self.selection == "posthoc" or self.prefix_credit != "tree"):
            raise ValueError("roulette needs a causal selection and prefix_credit 'tree'; set roulette=0")
        if self.allocate and self.selection == "posthoc":
            raise ValueError("posthoc branches every backbone as often as it is told; set allocate=false")


class BPO(Algorithm):
    """Sibling advantages on branching rollouts."""

    name = "bpo"
    Config = BPOConfig

    def __init__(self, config: BPOConfig) -> None:
        self.config: BPOConfig = config
        self.loss = LossConfig(
            kl_coefficient=config.kl_coefficient,
            entropy_coefficient=config.entropy_coefficient,
            value_coefficient=config.value_coefficient,
        )
        self.records_values = config.value_head
        scale = {"influence": 0.25, "lowest": -1.0}.get(config.selection, 1.0)
        self._steering = Steering(config.initial_threshold * scale)
        self._baseline = RunningBaseline(config.baseline, config.value_head)
        self._spread = Spread()
        self._given = Allocation(config.roots, config.branches, config.max_branches, config.children)
        self._allocator = Allocator(self._given, config.budget) if config.allocate else None

    def plan(self) -> Plan:
        """Backbones that branch, and the roulette."""
        config = self.config
        window = WeightWindow(1.0 - config.roulette, config.openness, self._spread.table()) if config.roulette else None
        allocation = self._allocation()
        return Plan(allocation.roots, self._rule(allocation), window)

    def _allocation(self) -> Allocation:
        return self._allocator.allocation() if self._allocator is not None else self._given

    def _rule(self, allocation: Allocation) -> BranchRule:
        config = self.config
        later = self._steering.later if config.shares == "leaves" else ()
        children, most = allocation.children, allocation.max_branches
        if config.selection == "posthoc":
            return PosthocRule(children, max(1, round(allocation.branches)))
        if config.selection == "uniform":
            rate = self._steering.rate if self._steering.rate is not None else 0.2
            return UniformRule(children, rate, most, later)
        measure = MEASURES[config.selection]
        spread = self._spread.table() if measure == "influence" else None
        threshold = self._steering.threshold
        return ThresholdRule(children, threshold, most, measure, spread, later)

    def credit(self, trees: Sequence[Tree], values: Sequence[Sequence[Any]] | None = None) -> list[Credit]:
        """Sibling credit; see ``baseline`` and ``prefix_credit``."""
        return [self._tree_credit(tree) for tree in trees]

    def _tree_credit(self, tree: Tree) -> Credit:
        children = living_children(tree, alive(tree))
        if not self.config.include_backbone:
            children = [
                c if i == ROOT or len(c) < 2 else [k for k in c if k != segment.children[0]]
                for i, (c, segment) in enumerate(zip(children, tree.segments, strict=True))
            ]
        credit = sibling_credit(tree, children, self._baseline.baseline())
        if self.config.prefix_credit != "tree":
            self._credit_prefixes_locally(tree, children, credit)
        if self.config.value_head:
            returns = np.nan_to_num(tree_values(tree, children))
            credit.value_targets = [v - paid for v, paid in zip(returns, paid_before(tree), strict=True)]
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
        """Steer the selection so that the next batch has ``branches`` a backbone; measure what baselines need."""
        if self._allocator is not None:
            self._allocator.learn_from(trees, self._baseline.baseline())
        if self.config.value_head:
            self._spread.learn_from(trees)
        measure = MEASURES.get(self.config.selection, "entropy")
        table = self._spread.table() if measure == "influence" else None
        after = self._allocation()
        metrics = self._steering.learn_from(
            trees, after.branches, after.max_branches, lambda h, v: score(measure, h, v, table)
        )
        return metrics | self._baseline.learn_from(trees)

    def state_dict(self) -> dict[str, Any]:
        """What earlier batches said: of thresholds, baselines, values and, where it chooses, the allocator."""
        parts = {"baseline": self._baseline.state_dict(), "spread": self._spread.state_dict()}
        if self._allocator is not None:
            parts["allocator"] = self._allocator.state_dict()
        return self._steering.state_dict() | parts

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self._steering.load_state_dict(state)
        self._baseline.load_state_dict(state["baseline"])
        self._spread.load_state_dict(state["spread"])
        if self._allocator is not None:
            self._allocator.load_state_dict(state["allocator"])

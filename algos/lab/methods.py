"""The algorithms and options that the lab compares, each with about the tokens of RLOO's eight episodes a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from algos.base import Algorithm
from algos.bpo import BPO, BPOConfig
from algos.grpo import GRPO, GRPOConfig
from algos.lab.problems import Problem
from algos.ppo import PPO, PPOConfig
from algos.rloo import RLOO, RLOOConfig

EPISODES = 8
DEFAULT = BPOConfig()
MEAN = BPOConfig(selection="threshold", value_head=False, roulette=0.0, allocate=False, shares="equal")
"""BPO for engines that record no values: siblings shrunk toward the mean return of earlier batches."""
SIBLINGS = replace(MEAN, baseline="sibling")


@dataclass(frozen=True)
class Method:
    """An algorithm with options.

    Attributes:
        name: for tables.
        what: in words.
        make: the algorithm for a problem.
        exact_values: whether values are exact and not learned.
    """

    name: str
    what: str
    make: Callable[[Problem], Algorithm]
    exact_values: bool = False


def _bpo(name: str, what: str, exact_values: bool = False, **changes: Any) -> Method:
    config = replace(DEFAULT, **changes)
    return Method(name, what, lambda problem: BPO(config), exact_values)


METHODS = {
    m.name: m
    for m in (
        Method("rloo", "eight episodes, leave-one-out", lambda p: RLOO(RLOOConfig(EPISODES))),
        Method("grpo", "eight episodes, group mean, not scaled", lambda p: GRPO(GRPOConfig(EPISODES, "none"))),
        Method("grpo-std", "eight episodes, divided by their deviation", lambda p: GRPO(GRPOConfig(EPISODES, "std"))),
        Method("ppo", "eight episodes, GAE 0.98, not whitened", lambda p: PPO(PPOConfig(EPISODES, whiten=False))),
        Method("bpo-sibling", "the paper's with the bias repaired", lambda p: BPO(SIBLINGS)),
        Method("bpo-mean", "without a value head: siblings shrunk toward the mean return", lambda p: BPO(MEAN)),
        _bpo("bpo", "the default: value head, influence, roulette, allocation, shares by leaves"),
        _bpo("bpo-exact", "the same with exact values", exact_values=True),
        _bpo("bpo-value", "with values as the only baseline", baseline="value"),
        _bpo("bpo-no-roulette", "every episode played to its end", roulette=0.0),
        _bpo("bpo-given", "three roots, one branch of three", allocate=False),
        _bpo("bpo-equal", "equal weights of siblings", shares="equal"),
        _bpo("bpo-entropy", "branches by entropy alone", selection="threshold"),
        _bpo("bpo-uniform", "branches anywhere", selection="uniform"),
        _bpo("bpo-lowest", "branches by lowest entropy", selection="lowest"),
        Method(
            "paper",
            "posthoc selection, lambda credit",
            lambda p: BPO(replace(SIBLINGS, selection="posthoc", prefix_credit="lambda")),
        ),
        Method("posthoc", "posthoc selection, tree credit", lambda p: BPO(replace(SIBLINGS, selection="posthoc"))),
    )
}
MAIN = ("rloo", "grpo", "bpo-sibling", "bpo-mean", "bpo", "bpo-exact")

"""The algorithms and options that the lab compares, each with about the tokens of RLOO's eight episodes a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from algos.base import Algorithm
from algos.bpo import BPO, BPOConfig
from algos.grpo import GRPO, GRPOConfig
from algos.lab.exact import expected_tokens
from algos.lab.problems import Problem
from algos.ppo import PPO, PPOConfig
from algos.rloo import RLOO, RLOOConfig

EPISODES = 8
FULL = BPOConfig(value_head=True, selection="influence", baseline="shrunk", shares="leaves", roulette=0.9, openness=1.0)
"""BPO with everything that lowers the variance in the lab; the budget is the problem's."""
SIBLINGS = BPOConfig(baseline="sibling")


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


def _bpo(config: BPOConfig, budgeted: bool = False) -> Callable[[Problem], Algorithm]:
    def make(problem: Problem) -> Algorithm:
        budget = round(EPISODES * expected_tokens(problem)) if budgeted else None
        return BPO(replace(config, budget=budget))

    return make


METHODS = {
    m.name: m
    for m in (
        Method("rloo", "eight episodes, leave-one-out", lambda p: RLOO(RLOOConfig(EPISODES))),
        Method("grpo", "eight episodes, group mean, not scaled", lambda p: GRPO(GRPOConfig(EPISODES, "none"))),
        Method("grpo-std", "eight episodes, divided by their deviation", lambda p: GRPO(GRPOConfig(EPISODES, "std"))),
        Method("ppo", "eight episodes, GAE 0.98, not whitened", lambda p: PPO(PPOConfig(EPISODES, whiten=False))),
        Method("bpo", "the default: siblings shrunk toward the mean return", _bpo(BPOConfig())),
        Method("bpo-sibling", "the paper's with the bias repaired", _bpo(SIBLINGS)),
        Method("bpo-full", "value head, influence, shrunk, roulette, leaves, budget", _bpo(FULL, True)),
        Method("bpo-exact", "the same with exact values", _bpo(FULL, True), True),
        Method("bpo-value", "bpo-full with values as the only baseline", _bpo(replace(FULL, baseline="value"), True)),
        Method("bpo-no-roulette", "bpo-full, every episode played to its end", _bpo(replace(FULL, roulette=0.0), True)),
        Method("bpo-no-budget", "bpo-full with three roots, one branch of three", _bpo(FULL)),
        Method("bpo-equal", "bpo-full with equal weights of siblings", _bpo(replace(FULL, shares="equal"), True)),
        Method("bpo-entropy", "bpo-full, branches by entropy alone", _bpo(replace(FULL, selection="threshold"), True)),
        Method("bpo-uniform", "bpo-full, branches anywhere", _bpo(replace(FULL, selection="uniform"), True)),
        Method("bpo-lowest", "bpo-full, branches by lowest entropy", _bpo(replace(FULL, selection="lowest"), True)),
        Method(
            "paper",
            "posthoc selection, lambda credit",
            _bpo(replace(SIBLINGS, selection="posthoc", prefix_credit="lambda")),
        ),
        Method("posthoc", "posthoc selection, tree credit", _bpo(replace(SIBLINGS, selection="posthoc"))),
    )
}
MAIN = ("rloo", "grpo", "bpo-sibling", "bpo", "bpo-full", "bpo-exact")

"""Algorithms on tabular problems, through the harness that trains real policies.

Invariant: the gradient of a tree is the sum over written tokens of weight * advantage *
grad log pi with respect to the policy's logits; nothing is trained, so that every batch is
played by the same policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from algos.base import Algorithm, Plan
from algos.credit import Credit, Floats
from algos.engines.base import Sampling
from algos.lab.engine import StatesFormat, TabularEngine, row_after
from algos.lab.env import TASK, TabularEnv
from algos.lab.exact import Tape
from algos.lab.problems import Problem
from algos.ledger import Ledger
from algos.rollout import Rollout, RolloutConfig
from algos.seeds import derive_seed
from algos.tree import Tree

SETTINGS = RolloutConfig(success_weight=0.0, max_invalid_actions=None)
PRIOR_WEIGHT = 1.0


@dataclass
class ValueTable:
    """A value head for tabular problems: running means of the targets that algorithms give it.

    Attributes:
        problem: whose rows it values.
        keep: how much of its weight a row keeps with every batch.
    """

    problem: Problem
    keep: float = 0.97
    weights: Floats = field(init=False)
    sums: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.weights = np.zeros(len(self.problem.probs))
        self.sums = np.zeros(len(self.problem.probs))

    def values(self) -> Floats:
        """Of each row; rows that were seldom seen are drawn to the mean of all."""
        mean = self.sums.sum() / max(self.weights.sum(), 1e-12)
        values: Floats = (self.sums + PRIOR_WEIGHT * mean) / (self.weights + PRIOR_WEIGHT)
        return values

    def learn_from(self, trees: Sequence[Tree], credits: Sequence[Credit]) -> None:
        """Take a batch's value targets with its weights."""
        self.weights *= self.keep
        self.sums *= self.keep
        for tree, credit in zip(trees, credits, strict=True):
            if credit.value_targets is None:
                continue
            for index, at, row in written_rows(self.problem, tree):
                weight = credit.weights[index][at]
                self.weights[row] += weight
                self.sums[row] += weight * credit.value_targets[index][at]


def written_rows(problem: Problem, tree: Tree) -> list[tuple[int, int, int]]:
    """For each written token its segment, its place there and the row that it was chosen from."""
    found: list[tuple[int, int, int]] = []
    tails: dict[int | None, list[int]] = {None: []}
    for index in tree.parents_first():
        segment = tree.segments[index]
        past = list(tails[segment.parent])
        for at, (token, written) in enumerate(zip(segment.tokens, segment.written, strict=True)):
            if written:
                found.append((index, at, row_after(problem, past)))
            else:
                past.clear()  # a state's name; nothing before it matters
            past.append(token)
        tails[index] = past
    return found


def tree_gradient(problem: Problem, tree: Tree, credit: Credit) -> Floats:
    """The gradient estimate of one tree, shape (rows, choices)."""
    gradient = np.zeros_like(problem.probs)
    for index, at, row in written_rows(problem, tree):
        factor = credit.weights[index][at] * credit.advantages[index][at]
        gradient[row] -= factor * problem.probs[row]
        gradient[row, tree.segments[index].tokens[at]] += factor
    return gradient


class Player:
    """An algorithm, a problem, and what it learns of its values.

    Args:
        problem: what is played.
        algorithm: what plays it.
        values: of each row, given; None: learned.
    """

    def __init__(self, problem: Problem, algorithm: Algorithm, values: Floats | None = None) -> None:
        self.problem, self.algorithm = problem, algorithm
        self._given = values
        self._table = ValueTable(problem)
        self._env, self._format = TabularEnv(problem), StatesFormat(problem)
        self.ledger = Ledger()

    def values(self) -> Floats | None:
        """What the algorithm's value head predicts of each row."""
        if not (self.algorithm.records_values or self.algorithm.needs_values):
            return None
        return self._given if self._given is not None else self._table.values()

    def batch(self, trees: int, seed: int) -> tuple[list[Tree], list[Credit]]:
        """Play and credit; nothing is learned."""
        engine = TabularEngine(self.problem, self.values())
        rollout = Rollout(self._env, engine, self._format, SETTINGS, self.ledger)
        played = rollout.collect([TASK] * trees, self.algorithm.plan(), self.sampling, seed)
        return played, credits_of(self.algorithm, played)

    def learn(self, batches: int, trees: int, seed: int) -> None:
        """Play batches and learn from each, as training does, but for the policy."""
        for n in range(batches):
            played, credits = self.batch(trees, derive_seed(seed, n))
            self._table.learn_from(played, credits)
            self.algorithm.learn_from(played)

    @property
    def sampling(self) -> Sampling:
        """How tokens are drawn."""
        return Sampling(1.0, self.problem.turn_tokens)


def credits_of(algorithm: Algorithm, trees: Sequence[Tree]) -> list[Credit]:
    """Credit, with recorded values where the algorithm asks for a learner's."""
    values = [[np.append(s.values, 0.0) for s in tree.segments] for tree in trees] if algorithm.needs_values else None
    return algorithm.credit(trees, values)


def play_tape(problem: Problem, plan: Plan, tape: Tape, values: Floats | None = None) -> Tree:
    """One tree whose tokens and roulettes are a tape's choices; see ``exact.every_run``."""

    def coin(probability: float, seed: int, step: int) -> bool:
        return tape.choose([1.0 - probability, probability]) == 1

    def pick(probabilities: Floats, seeds: Sequence[int], draws: Sequence[int]) -> list[int]:
        return [tape.choose(row) for row in probabilities.tolist()]

    engine = TabularEngine(problem, values, pick)
    rollout = Rollout(TabularEnv(problem), engine, StatesFormat(problem), SETTINGS, Ledger(), coin)
    return rollout.collect([TASK], plan, Sampling(1.0, problem.turn_tokens), 0)[0]

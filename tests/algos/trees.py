"""Trees by hand: shapes with returns, and exact enumeration over a tabular policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from algos.base import Turn
from algos.tree import ROOT, Outcome, Tree

FAILED = None
Node = tuple[int, Any]  # number of tokens, and a leaf's return, FAILED, or a list of nodes


def build(*roots: Node, prompt: int = 2) -> Tree:
    """A tree of written tokens behind a prompt; segments are numbered parents first, in the order given."""
    tree = Tree("task")
    tree.segments[ROOT].read([1] * prompt, 0)
    for root in roots:
        _add(tree, ROOT, root, 0)
    return tree


def _add(tree: Tree, parent: int, node: Node, step: int) -> None:
    length, content = node
    index = tree.grow(parent)
    tree.segments[index].write([2] * length, [-1.0] * length, [0.5] * length, step)
    if isinstance(content, list):
        for child in content:
            _add(tree, index, child, step + 1)
    elif content is FAILED:
        tree.segments[index].outcome = Outcome(failed=True)
    else:
        tree.segments[index].outcome = Outcome(return_=content)


def constant(arrays: Sequence[Any]) -> list[float]:
    """The one value of each non-empty segment (fails when there are several)."""
    values = []
    for array in arrays:
        distinct = set(np.asarray(array).tolist())
        assert len(distinct) == 1, distinct
        values.append(distinct.pop())
    return values


@dataclass
class Table:
    """A softmax policy with its own logits after every history of actions, and a return for every full one."""

    logits: dict[tuple[int, ...], Any]
    returns: dict[tuple[int, ...], float]
    steps: int
    actions: int

    @classmethod
    def random(cls, steps: int, actions: int, seed: int) -> "Table":
        rng = np.random.default_rng(seed)
        histories = [h for n in range(steps) for h in product(range(actions), repeat=n)]
        ends = product(range(actions), repeat=steps)
        return cls({h: rng.normal(0, 1.5, actions) for h in histories}, {e: rng.normal() for e in ends}, steps, actions)

    def probs(self, history: tuple[int, ...]) -> Any:
        weights = np.exp(self.logits[history])
        return weights / weights.sum()

    def entropy(self, history: tuple[int, ...]) -> float:
        probs = self.probs(history)
        return float(-(probs * np.log(probs)).sum())

    def score(self, history: tuple[int, ...], action: int) -> Any:
        """Gradient of log pi(action | history) with respect to all logits."""
        rows = list(self.logits)
        gradient = np.zeros((len(rows), self.actions))
        gradient[rows.index(history)] = np.eye(self.actions)[action] - self.probs(history)
        return gradient.ravel()

    def chance(self, start: tuple[int, ...], end: tuple[int, ...]) -> float:
        return float(np.prod([self.probs(end[:t])[end[t]] for t in range(len(start), len(end))]))

    def completions(self, start: tuple[int, ...]) -> list[tuple[float, tuple[int, ...]]]:
        """Every way to go on, with its probability."""
        ends = [start + rest for rest in product(range(self.actions), repeat=self.steps - len(start))]
        return [(self.chance(start, end), end) for end in ends]

    def true_gradient(self) -> Any:
        return sum(
            chance * self.returns[end] * sum(self.score(end[:t], end[t]) for t in range(self.steps))
            for chance, end in self.completions(())
        )

    def rollouts(self, rule: Any) -> list[tuple[float, tuple[int, ...], list[tuple[int, list[tuple[int, ...]]]]]]:
        """Every rollout of one root: probability, backbone, and at each branch step the other children."""
        found = []
        for chance, backbone in self.completions(()):
            steps = self._branch_steps(rule, backbone)
            sibling_sets = [product(self.completions(backbone[:t]), repeat=rule.children - 1) for t in steps]
            for siblings in product(*sibling_sets):
                p = chance * float(np.prod([q for group in siblings for q, _ in group]))
                ends = [[end for _, end in group] for group in siblings]
                found.append((p, backbone, list(zip(steps, ends, strict=True))))
        return found

    def _branch_steps(self, rule: Any, backbone: tuple[int, ...]) -> list[int]:
        turns = [Turn(t, (self.entropy(backbone[:t]),), 0) for t in range(self.steps)]
        if rule is None:
            return []
        if rule.retrospective:
            return [turn for turn, _ in rule.choose_finished(turns)]
        steps: list[int] = []
        for turn in turns:
            if rule.choose(Turn(turn.step, turn.entropies, len(steps))) is not None:
                steps.append(turn.step)
        return steps

    def trees(self, roots: int, rule: Any) -> Iterator[tuple[float, Tree]]:
        """Every tree that the rule can give, with its probability; token = action, step = time."""
        for chosen in product(self.rollouts(rule), repeat=roots):
            tree = Tree("")
            tree.segments[ROOT].read([0], 0)
            for _, backbone, branches in chosen:
                leaf = self._episode(tree, ROOT, (), backbone)
                for t, siblings in branches:
                    head, tail = tree.branch(leaf, 1 + t)
                    leaf = tail
                    for end in siblings:
                        self._episode(tree, head, backbone[:t], end)
            yield float(np.prod([p for p, _, _ in chosen])), tree

    def _episode(self, tree: Tree, parent: int, start: tuple[int, ...], end: tuple[int, ...]) -> int:
        index = tree.grow(parent)
        for t in range(len(start), len(end)):
            tree.segments[index].write([end[t]], [0.0], [self.entropy(end[:t])], t)
        tree.segments[index].outcome = Outcome(return_=self.returns[end], steps=self.steps)
        return index

    def estimate(self, tree: Tree, credit: Any) -> Any:
        """The gradient estimate that a credit gives: every token once."""
        total = np.zeros(len(self.logits) * self.actions)
        for index, segment in enumerate(tree.segments):
            history = tuple(t for i in tree.path(index)[1:-1] for t in tree.segments[i].tokens)
            if index == ROOT:
                continue
            for j, action in enumerate(segment.tokens):
                factor = credit.weights[index][j] * credit.advantages[index][j]
                total += factor * self.score(history, action)
                history = (*history, action)
        return total

    def expected(self, roots: int, rule: Any, credit_of: Any) -> Any:
        """Exact expectation of the estimate; checks that the probabilities sum to 1."""
        mass, total = 0.0, np.zeros(len(self.logits) * self.actions)
        for chance, tree in self.trees(roots, rule):
            mass += chance
            total += chance * self.estimate(tree, credit_of(tree))
        assert abs(mass - 1.0) < 1e-12
        return total

"""How many roots and forks a number of tokens buys, from what earlier batches measured.

Invariant: what a batch of rollouts uses was measured before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algos.credit import Baseline, Floats, alive, living_children, tree_values
from algos.tree import ROOT, Tree

DECAY = 0.9
MAX_LEAVES, MAX_BRANCHES, MAX_ROOTS = 9.0, 6, 32


@dataclass(frozen=True)
class Allocation:
    """Roots of a task, branch points a root (on average, and at most) and children of each."""

    roots: int
    branches: float
    max_branches: int
    children: int


class Allocator:
    """Chooses the number n of leaves a root that makes variance times tokens least.

    A branch behind a prefix of ``before`` tokens, whose leaves take ``after`` tokens each, has with n leaves the
    variance ``shared + own / n`` and the cost ``before + n * after``; the product is least at
    ``n = sqrt(own * before / (shared * after))`` (two-stage sampling: W. G. Cochran, Sampling Techniques, chapter 10).
    Variances are sums over tokens of entropy times squared difference of return and estimate: entropy stands for the
    squared score. ``shared`` is what the prefix's tokens have beyond the noise of the leaves below them.

    Args:
        start: for the first batch.
        budget: tokens a task; None: as many as ``start`` takes.
    """

    def __init__(self, start: Allocation, budget: int | None = None) -> None:
        self._start, self._budget = start, budget
        self._means = np.zeros(5)
        self._weight = 0.0

    def allocation(self) -> Allocation:
        """For the next batch."""
        start = self._start
        if not self._weight:
            return start
        before, after, shared, own, root_tokens = self._means / self._weight
        leaves = math.sqrt(max(own * before, 1e-12) / max(shared * after, 1e-12))
        leaves = min(max(leaves, 1.2), MAX_LEAVES)
        children = 3 if leaves > 2.0 else 2
        branches = (leaves - 1.0) / (children - 1)
        tokens = root_tokens + (leaves - 1.0) * after
        given = start.roots * (root_tokens + start.branches * (start.children - 1) * after)
        budget = given if self._budget is None else self._budget
        roots = min(max(2, round(budget / max(tokens, 1.0))), max(MAX_ROOTS, start.roots))
        return Allocation(roots, branches, min(MAX_BRANCHES, math.ceil(branches) + 1), children)

    def learn_from(self, trees: Sequence[Tree], baseline: Baseline) -> None:
        """Measure a batch; ``baseline`` is the one that it was credited with."""
        self._means *= DECAY
        self._weight *= DECAY
        for tree in trees:
            children = living_children(tree, alive(tree))
            values = tree_values(tree, children)
            estimates = baseline.estimates(tree)
            for root in children[ROOT]:
                path = [root]
                while children[path[-1]]:
                    path.append(children[path[-1]][0])
                tokens = float(sum(sum(tree.segments[i].written) for i in path))
                for n, index in enumerate(path):
                    if len(children[index]) > 1:
                        parts = _branch(tree, children, path[: n + 1], values, estimates)
                        self._means += [*parts, tokens]
                        self._weight += 1.0

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"means": self._means.tolist(), "weight": self._weight}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self._means, self._weight = np.array(state["means"]), state["weight"]


def _branch(
    tree: Tree, children: list[list[int]], prefix: Sequence[int], values: Floats, estimates: list[Floats]
) -> tuple[float, float, float, float]:
    """Tokens before a branch and after it, variance that its leaves share and variance of one leaf's own."""
    group = children[prefix[-1]]
    noise = float(np.var([values[c] for c in group], ddof=1))
    before, entropy, squared = _along(tree, prefix, float(values[prefix[-1]]), estimates)
    after = own = 0.0
    for child in group:
        path = [child]
        while children[path[-1]]:
            path.append(children[path[-1]][0])
        tokens, _, squares = _along(tree, path, float(values[child]), estimates)
        after += tokens / len(group)
        own += squares / len(group)
    return before, after, squared - entropy * noise / len(group), own + entropy * noise


def _along(tree: Tree, path: Sequence[int], value: float, estimates: list[Floats]) -> tuple[float, float, float]:
    """Written tokens, their entropy, and their entropy times squared difference of ``value`` and estimate."""
    tokens = entropy = squares = 0.0
    for index in path:
        segment = tree.segments[index]
        written = np.asarray(segment.written, bool)
        entropies = np.asarray(segment.entropies)[written]
        tokens += float(written.sum())
        entropy += float(entropies.sum())
        squares += float(entropies @ (value - estimates[index][written]) ** 2)
    return tokens, entropy, squares

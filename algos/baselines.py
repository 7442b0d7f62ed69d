"""What earlier batches say about how far a group's own mean is to be trusted.

Invariant: everything here is measured after a batch and used for the next ones, so a
baseline never depends on the tokens that it is subtracted from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from algos.credit import (
    ALWAYS_SIBLINGS,
    SIBLINGS,
    Baseline,
    Shrinkage,
    alive,
    at_branch,
    living_children,
    seen,
    tree_values,
)
from algos.tree import ROOT, Tree

Kind = Literal["sibling", "value", "shrunk"]
DECAY = 0.9
NEVER_SIBLINGS = Shrinkage(0.0, 1.0)


class RunningBaseline:
    """The baseline of the next batch.

    Args:
        kind: ``"sibling"``: the others' mean; ``"value"``: the estimate alone; ``"shrunk"``: the others' mean shrunk
            toward the estimate in proportion to their noise.
        recorded: whether the estimate is the value head's recorded prediction, or else the mean return of earlier
            batches.
    """

    def __init__(self, kind: Kind, recorded: bool) -> None:
        self._kind, self._recorded = kind, recorded
        self._mean = _Mean()
        self._error = {"root": _Mean(), "branch": _Mean()}
        self._noise = {"root": _Mean(), "branch": _Mean()}

    def baseline(self) -> Baseline:
        """For trees whose rollouts have not been learned from."""
        if self._kind == "sibling" or not self._mean.weight:
            return SIBLINGS
        constant = None if self._recorded else self._mean.mean
        if self._kind == "value":
            return Baseline(constant, NEVER_SIBLINGS, NEVER_SIBLINGS, 0.0)
        return Baseline(constant, self._trust("root"), self._trust("branch"), 0.0)

    def _trust(self, level: str) -> Shrinkage:
        if not self._noise[level].weight:
            return ALWAYS_SIBLINGS
        return Shrinkage(max(self._error[level].mean, 0.0), self._noise[level].mean)

    def learn_from(self, trees: Sequence[Tree]) -> dict[str, float]:
        """Measure how wrong the estimate was at branches, and how noisy siblings were."""
        trees = [tree for tree in trees if any(alive(tree))]
        if self._kind == "sibling" or not trees:
            return {}
        everything = [self._mean, *self._error.values(), *self._noise.values()]
        for mean in everything:
            mean.weight *= DECAY
        estimate = Baseline(None if self._recorded else self._mean.mean)
        for tree in trees:
            children = living_children(tree, alive(tree))
            values = tree_values(tree, children)
            estimates = estimate.estimates(tree)
            if children[ROOT]:
                self._mean.add(float(values[ROOT]))
            for index, group in enumerate(children):
                if len(group) < 2:
                    continue
                level = "root" if index == ROOT else "branch"
                below = np.array([seen(tree, child, values[child]) for child in group])
                noise = float(below.var(ddof=1))
                expected = at_branch(tree, children, group[0], estimates)
                self._noise[level].add(noise)
                self._error[level].add(float(below.mean() - expected) ** 2 - noise / len(group))
        baseline = self.baseline()
        return {"trust_roots": baseline.root.rho(1), "trust_siblings": baseline.branch.rho(1)}

    def state_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        means = {"mean": self._mean} | {f"{name}_{level}": m[level] for name, m in self._named() for level in m}
        return {name: [mean.mean, mean.weight] for name, mean in means.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Inverse of ``state_dict``."""
        self._mean = _Mean(*state["mean"])
        for name, means in self._named():
            for level in means:
                means[level] = _Mean(*state[f"{name}_{level}"])

    def _named(self) -> list[tuple[str, dict[str, _Mean]]]:
        return [("error", self._error), ("noise", self._noise)]


class _Mean:
    """A running mean; what it has seen can be made to weigh less."""

    def __init__(self, mean: float = 0.0, weight: float = 0.0) -> None:
        self.mean, self.weight = mean, weight

    def add(self, value: float) -> None:
        self.weight += 1.0
        self.mean += (value - self.mean) / self.weight

"""From a tree of returns to an advantage and a weight for every token.

Invariant: the expected sum over tokens of weight * advantage * grad log pi is the
gradient of the expected return, for every tree whose branch points and roulettes were
decided by a rule that looks only at what came before them (``docs/estimator.md`` has
the proof and its assumptions). Failed leaves leave their group; they are not zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algos.tree import ROOT, Tree

Floats = npt.NDArray[np.float64]


@dataclass
class Credit:
    """Per-token credit of a tree: one array per segment, one entry per token.

    ``value_targets`` is present when a value head is to be trained.
    """

    advantages: list[Floats]
    weights: list[Floats]
    value_targets: list[Floats] | None = None

    @classmethod
    def zeros(cls, tree: Tree) -> Credit:
        """No credit for any token."""
        return cls([np.zeros(len(s)) for s in tree.segments], [np.zeros(len(s)) for s in tree.segments])


def alive(tree: Tree) -> list[bool]:
    """Whether each segment leads to at least one leaf that did not fail."""
    keep = [s.outcome is not None and not s.outcome.failed for s in tree.segments]
    for index in reversed(tree.parents_first()):
        keep[index] = keep[index] or any(keep[child] for child in tree.segments[index].children)
    return keep


def living_children(tree: Tree, keep: list[bool]) -> list[list[int]]:
    """Children of each segment that lead to a leaf that did not fail."""
    return [[c for c in segment.children if keep[c]] for segment in tree.segments]


def group_shares(tree: Tree, group: Sequence[int]) -> Floats:
    """Weights of siblings up to a common factor: their recorded shares, or ones."""
    shares = [tree.segments[child].share for child in group]
    return np.array([1.0 if share is None else share for share in shares])


def seen(tree: Tree, index: int, value: float) -> float:
    """A segment's value as it looks from above the roulette at its beginning.

    ``v + (value - v) / survival`` when the episode went on and ``v`` when it was stopped has the mean of
    ``value``, whatever v (Russian roulette of particle transport, with the estimate v as a control variate).
    """
    segment = tree.segments[index]
    if segment.survival == 1.0:
        return value
    return segment.expected + (value - segment.expected) / segment.survival


def tree_values(tree: Tree, children: list[list[int]]) -> Floats:
    """V at each segment's end: a leaf's return, else the mean over its children; NaN where nothing survived.

    Returns:
        Shape (segments,).
    """
    values = np.full(len(tree.segments), np.nan)
    for index in reversed(tree.parents_first()):
        outcome = tree.segments[index].outcome
        if outcome is not None and not outcome.failed:
            values[index] = outcome.return_
        elif children[index]:
            group = children[index]
            below = np.array([seen(tree, child, values[child]) for child in group])
            shares = group_shares(tree, group)
            values[index] = below[0] + shares @ (below - below[0]) / shares.sum()
    return values


def segment_weights(tree: Tree, children: list[list[int]]) -> Floats:
    """Weight of each segment's tokens: the product of the shares of the children on its path, divided by the survival
    probabilities of the roulettes on it; 0 off the given children.

    Returns:
        Shape (segments,).
    """
    weights = np.zeros(len(tree.segments))
    weights[ROOT] = 1.0
    for index in tree.parents_first():
        shares = group_shares(tree, children[index])
        for child, share in zip(children[index], shares, strict=True):
            weights[child] = weights[index] * share / shares.sum() / tree.segments[child].survival
    return weights


def paid_before(tree: Tree) -> list[Floats]:
    """Shaped rewards that were paid on the path before each token; one array per segment."""
    paid: list[Floats] = [np.zeros(0)] * len(tree.segments)
    ends = np.zeros(len(tree.segments))
    for index in tree.parents_first():
        segment = tree.segments[index]
        start = ends[segment.parent] if segment.parent is not None else 0.0
        sums = start + np.cumsum([0.0, *segment.rewards])
        paid[index], ends[index] = sums[:-1], sums[-1]
    return paid


@dataclass(frozen=True)
class Shrinkage:
    """How far the mean of a group's other members is trusted beside an estimate from earlier batches.

    Attributes:
        error: mean squared error of the estimate.
        noise: variance of one member's value about the group's true mean.
    """

    error: float
    noise: float

    def rho(self, others: int) -> float:
        """Weight of the mean of ``others`` members that minimises the squared error of the combination."""
        if np.isinf(self.error):
            return 1.0
        total = self.error + self.noise / others
        return self.error / total if total > 0 else 0.0


ALWAYS_SIBLINGS = Shrinkage(np.inf, 0.0)


@dataclass(frozen=True)
class Baseline:
    """What a token's return is compared with: ``e(s) + rho * (mean of the other siblings' V - e(branch))``.

    e is an estimate of the return that no token of this batch has influenced.

    Attributes:
        constant: e everywhere; None: what was paid so far plus the recorded value.
        root: trust in the other roots' mean.
        branch: trust in the other siblings' mean below the roots.
        lone: baseline beside e of a root that is alone; None: it gets advantage 0.
    """

    constant: float | None = 0.0
    root: Shrinkage = ALWAYS_SIBLINGS
    branch: Shrinkage = ALWAYS_SIBLINGS
    lone: float | None = None

    def estimates(self, tree: Tree) -> list[Floats]:
        """E before each token, one array per segment; meaningful at written tokens."""
        if self.constant is not None:
            return [np.full(len(segment), self.constant) for segment in tree.segments]
        return [p + np.asarray(s.values) for p, s in zip(paid_before(tree), tree.segments, strict=True)]


SIBLINGS = Baseline()


def at_branch(tree: Tree, children: list[list[int]], child: int, estimates: list[Floats]) -> float:
    """The estimate at the state in which a child's first token was chosen."""
    while not len(estimates[child]) and children[child]:
        child = children[child][0]
    return float(estimates[child][0]) if len(estimates[child]) else 0.0


def tree_credit(tree: Tree, baseline: float | None = None) -> Credit:
    """Sibling credit: A_k = V_k - mean of the other siblings' V, weight = product of 1/K.

    A child that is alone at its branch is the continuation of its parent and keeps
    its parent's advantage; an episode that is alone at the root gets advantage 0
    unless a ``baseline`` from earlier batches is given.
    """
    return sibling_credit(tree, living_children(tree, alive(tree)), Baseline(lone=baseline))


def sibling_credit(tree: Tree, children: list[list[int]], baseline: Baseline = SIBLINGS) -> Credit:
    """``tree_credit`` over the given children of each segment (others get no credit), with any baseline."""
    values, weights = tree_values(tree, children), segment_weights(tree, children)
    estimates = baseline.estimates(tree)
    credit = Credit.zeros(tree)
    stack: list[tuple[int, float | None]] = [(ROOT, None)]
    while stack:
        index, correction = stack.pop()
        credit.weights[index][:] = weights[index]
        if correction is not None:
            credit.advantages[index][:] = values[index] - correction - estimates[index]
        group = children[index]
        if not group:
            continue
        shares = group_shares(tree, group)
        for n, child in enumerate(group):
            if len(group) > 1:
                ahead = np.array([values[c] for c in group]) - values[child]
                others = values[child] + (shares @ ahead) / (shares.sum() - shares[n])
                rho = (baseline.root if index == ROOT else baseline.branch).rho(len(group) - 1)
                below = rho * (others - at_branch(tree, children, child, estimates))
            else:
                below = baseline.lone if index == ROOT else correction  # type: ignore[assignment]
            stack.append((child, below))
    return credit


def group_credit(tree: Tree, scale: str) -> Credit:
    """GRPO: (return - group mean) / group standard deviation for independent episodes.

    Args:
        tree: branches at its prompt only.
        scale: ``"std"``, or ``"none"`` for Dr. GRPO (arXiv 2503.20783).
    """
    keep = alive(tree)
    group = living_children(tree, keep)[ROOT]
    credit = Credit.zeros(tree)
    if not group:
        return credit
    returns = tree_values(tree, living_children(tree, keep))[group]
    advantages = returns - returns.mean()
    if scale == "std":
        advantages = advantages / (returns.std() + 1e-6) if len(group) > 1 else np.zeros(1)
    for child, advantage in zip(group, advantages, strict=True):
        credit.advantages[child][:] = advantage
        credit.weights[child][:] = 1.0 / len(group)
    return credit


def gae(rewards: Floats, values: Floats, bootstrap: float, gamma: float, lam: float) -> tuple[Floats, Floats]:
    """Generalised advantage estimation (arXiv 1506.02438) over one episode's policy tokens.

    Args:
        rewards: shape (tokens,), paid after each policy token.
        values: shape (tokens,), value of the state in which each token was chosen.
        bootstrap: value after the last token: 0 when terminated.
        gamma: discount per policy token.
        lam: the lambda of GAE.

    Returns:
        Advantages and value targets, each of shape (tokens,).
    """
    following = np.append(values[1:], bootstrap)
    deltas = rewards + gamma * following - values
    advantages = np.zeros_like(deltas)
    running = 0.0
    for t in range(len(deltas) - 1, -1, -1):
        running = deltas[t] + gamma * lam * running
        advantages[t] = running
    return advantages, advantages + values


def prefix_explained_share(trees: list[Tree]) -> float | None:
    """Eta = Var(E[G|s]) / Var(G): the share of return variance that is settled before a branch.

    Within: mean over branches below the root of the sample variance of their
    children's returns. Total: mean over tasks of the sample variance of independent
    episodes. Each child and each root is represented by one leaf, so that both are
    variances of single returns.

    Returns:
        The share clipped to [0, 1], or None when there is no branch or no variance.
    """
    within: list[float] = []
    total: list[float] = []
    for tree in trees:
        children = living_children(tree, alive(tree))
        for index, group in enumerate(children):
            if len(group) < 2:
                continue
            returns = [_first_return(tree, children, child) for child in group]
            (total if index == ROOT else within).append(float(np.var(returns, ddof=1)))
    if not within or not total or np.mean(total) <= 0:
        return None
    return float(np.clip(1.0 - np.mean(within) / np.mean(total), 0.0, 1.0))


def _first_return(tree: Tree, children: list[list[int]], index: int) -> float:
    while children[index]:
        index = children[index][0]
    outcome = tree.segments[index].outcome
    assert outcome is not None
    return outcome.return_


def leaf_weights(tree: Tree) -> dict[int, float]:
    """Weight of each leaf that was played to its end: the product of shares on its path.

    They sum to 1 a tree; with roulettes, whose survival probabilities they are divided by, they do so on average.
    """
    weights = segment_weights(tree, living_children(tree, alive(tree)))
    return {leaf: float(weights[leaf]) for leaf in tree.leaves() if weights[leaf] and _played(tree, leaf)}


def _played(tree: Tree, leaf: int) -> bool:
    outcome = tree.segments[leaf].outcome
    return outcome is not None and not outcome.failed and not outcome.stopped


def tied_groups(tree: Tree) -> int:
    """Branches whose children all have the same value, and so teach nothing."""
    children = living_children(tree, alive(tree))
    values = tree_values(tree, children)
    return sum(len(group) > 1 and float(np.ptp(values[group])) == 0.0 for group in children)

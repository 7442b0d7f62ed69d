"""From a tree of returns to an advantage and a weight for every token.

Invariant: the expected sum over tokens of weight * advantage * grad log pi is the
gradient of the expected return, for every tree whose branch points were decided by a
rule that looks only at what came before them (``docs/paper_index.md`` has the proof's
source and assumptions). Failed leaves leave their group; they are not zeros.
"""

from __future__ import annotations

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


def tree_values(tree: Tree, children: list[list[int]]) -> Floats:
    """V of each segment: a leaf's return, else the mean over its children; NaN where nothing survived.

    Returns:
        Shape (segments,).
    """
    values = np.full(len(tree.segments), np.nan)
    for index in reversed(tree.parents_first()):
        outcome = tree.segments[index].outcome
        if outcome is not None and not outcome.failed:
            values[index] = outcome.return_
        elif children[index]:
            values[index] = float(np.mean([values[c] for c in children[index]]))
    return values


def tree_credit(tree: Tree, baseline: float | None = None) -> Credit:
    """Sibling credit: A_k = V_k - mean of the other siblings' V, weight = product of 1/K.

    A child that is alone at its branch is the continuation of its parent and keeps
    its parent's advantage; an episode that is alone at the root gets advantage 0
    unless a ``baseline`` from earlier batches is given.
    """
    keep = alive(tree)
    return sibling_credit(tree, living_children(tree, keep), baseline)


def sibling_credit(tree: Tree, children: list[list[int]], baseline: float | None = None) -> Credit:
    """``tree_credit`` over the given children of each segment (others get no credit)."""
    values = tree_values(tree, children)
    credit = Credit.zeros(tree)
    stack = [(ROOT, 1.0, 0.0)]
    while stack:
        index, weight, advantage = stack.pop()
        credit.weights[index][:] = weight
        credit.advantages[index][:] = advantage
        group = children[index]
        for child in group:
            if len(group) > 1:
                others = [values[c] for c in group if c != child]
                child_advantage = values[child] - float(np.mean(others))
            elif index == ROOT and baseline is not None:
                child_advantage = values[child] - baseline
            else:
                child_advantage = advantage
            stack.append((child, weight / len(group), child_advantage))
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
    """Weight of each leaf that did not fail: the product of 1/K on its path; they sum to 1 a tree."""
    children = living_children(tree, alive(tree))
    weights: dict[int, float] = {}
    stack = [(ROOT, 1.0)]
    while stack:
        index, weight = stack.pop()
        outcome = tree.segments[index].outcome
        if outcome is not None and not outcome.failed:
            weights[index] = weight
        stack += [(child, weight / len(children[index])) for child in children[index]]
    return weights


def tied_groups(tree: Tree) -> int:
    """Branches whose children all have the same value, and so teach nothing."""
    children = living_children(tree, alive(tree))
    values = tree_values(tree, children)
    return sum(len(group) > 1 and float(np.ptp(values[group])) == 0.0 for group in children)

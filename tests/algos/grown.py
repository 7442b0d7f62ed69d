"""Random trees as rollouts grow them, and their root-to-leaf paths."""

from collections import Counter

import numpy as np
from hypothesis import strategies as st

from algos.tree import ROOT, Outcome, Tree

VOCABULARY = 60
Place = tuple[int, int]  # segment, token in it


class _Grower:
    """Grows one tree; everything it draws follows from one generator."""

    def __init__(self, seed: int, failures: float, roulette: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.failures, self.roulette = failures, roulette
        self.tree = Tree("")

    def tokens(self, count: int) -> list[int]:
        return self.rng.integers(5, VOCABULARY, count).tolist()

    def floats(self, count: int) -> list[float]:
        return self.rng.uniform(0.0, 1.0, count).tolist()

    def episode(self, parent: int, turns: int) -> int:
        """A path to a new leaf, with roulettes between its turns; returns the leaf."""
        index = self.tree.grow(parent)
        for turn in range(turns):
            segment, count = self.tree.segments[index], int(self.rng.integers(1, 4))
            logprobs = (-self.rng.exponential(1.0, count)).tolist()
            segment.write(self.tokens(count), logprobs, self.floats(count), turn, self.floats(count))
            segment.pay(float(self.rng.normal()))
            if turn == turns - 1:
                break
            segment.read(self.tokens(int(self.rng.integers(1, 4))), turn + 1)
            if self.rng.random() < self.roulette:
                index = self.tree.roulette(index, float(self.rng.uniform(0.3, 0.9)), float(self.rng.normal()))
                if self.rng.random() < 0.4:
                    self.tree.segments[index].outcome = Outcome(self.tree.segments[index].expected, stopped=True)
                    return index
        failed = bool(self.rng.random() < self.failures)
        truncated = bool(self.rng.random() < 0.5)
        self.tree.segments[index].outcome = Outcome(float(self.rng.normal()), truncated=truncated, failed=failed)
        return index


@st.composite
def random_trees(
    draw, branches: int = 2, failures: float = 0.0, roulette: float = 0.0, shares: bool = False, min_roots: int = 1
) -> Tree:
    """Turns of text and action, branches at any token of an action or a page.

    Args:
        draw: hypothesis's.
        branches: of a backbone at most; 0: independent episodes.
        failures: chance that the infrastructure fails an episode.
        roulette: chance of a roulette between two turns.
        shares: whether backbones weigh more than their siblings.
        min_roots: episodes at least.
    """
    grower = _Grower(draw(st.integers(0, 2**32 - 1)), failures, roulette)
    tree = grower.tree
    prompt = grower.tokens(draw(st.integers(1, 4)))
    tree.segments[ROOT].read(prompt, 0)
    for _ in range(draw(st.integers(min_roots, 3))):
        leaf = grower.episode(ROOT, draw(st.integers(1, 3)))
        for _ in range(draw(st.integers(0, branches))):
            position = draw(st.integers(len(prompt), tree.path_length(leaf) - 1))
            head, tail = tree.branch(leaf, position)
            leaf = tail if head == leaf else leaf
            tree.segments[tail].share = 2.0 if shares else None
            for _ in range(draw(st.integers(1, 2))):
                grower.episode(head, draw(st.integers(1, 2)))
    return tree


def path_of(tree: Tree, leaf: int) -> list[Place]:
    """Where each token of a root-to-leaf path is stored."""
    return [(i, j) for i in tree.path(leaf) for j in range(len(tree.segments[i]))]


def paths_of(tree: Tree) -> list[list[Place]]:
    """Every root-to-leaf path."""
    return [path_of(tree, leaf) for leaf in tree.leaves()]


def copies_of(tree: Tree) -> Counter[Place]:
    """In how many root-to-leaf paths each token is."""
    return Counter(place for path in paths_of(tree) for place in path)

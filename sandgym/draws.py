"""Named random streams.

Invariant: what a stream yields is a function of its name, the same on every machine and
Python version: only ``random.Random.random`` is used, whose sequence Python guarantees.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws from one named random stream."""

    def __init__(self, *name: object) -> None:
        self.random = random.Random(":".join(map(str, name))).random

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self.random() * n)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + self.below(high - low + 1)

    def chance(self, p: float) -> bool:
        """True with probability ``p``."""
        return self.random() < p

    def pick(self, items: Sequence[T]) -> T:
        """One item."""
        return items[self.below(len(items))]

    def weighted(self, weights: Mapping[T, int]) -> T:
        """One key, with probability proportional to its weight."""
        at = self.below(sum(weights.values()))
        for item, weight in weights.items():
            at -= weight
            if at < 0:
                return item
        raise ValueError("no weight is above 0")

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """``k`` different items (all, if there are fewer) in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(k, len(rest)))]

    def popular(self, items: Sequence[T], k: int) -> list[T]:
        """Like ``sample``, but the first items are drawn more often than the last."""
        rest = list(items)
        taken: list[T] = []
        while rest and len(taken) < k:
            share = self.random()
            taken.append(rest.pop(int(share * share * len(rest))))
        return taken

"""Russian roulette: episodes whose return is all but decided are stopped by chance, without bias.

Invariant: a token behind a roulette weighs one over the probability that it was reached,
which is never below a floor; the probability depends on the past of the roulette only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from algos.spread import SpreadTable

HYSTERESIS = 0.8
"""An episode is not put at risk for less than this: every roulette costs variance."""


@dataclass(frozen=True)
class WeightWindow:
    """Keeps the probability of having survived near the root of the return's relative variance.

    An episode that cost as much as it told would survive with probability proportional to the standard deviation of
    what is still to be learned from it (optimal sampling with unequal variances; weight windows in particle
    transport). ``spread`` says how much that is at a predicted value, ``typical`` what counts as much.

    Attributes:
        floor: lowest probability of surviving all of a path's roulettes.
        openness: an episode is safe while its variance is at least this times the typical one.
        spread: see ``algos.spread``.
    """

    floor: float
    openness: float
    spread: SpreadTable

    def spin(self, value: float, survival: float) -> float:
        """See ``RouletteRule``."""
        wanted = math.sqrt(self.spread(value) / max(self.openness * self.spread.typical, 1e-12))
        chance = max(min(wanted, 1.0), self.floor) / survival
        return chance if chance < HYSTERESIS else 1.0

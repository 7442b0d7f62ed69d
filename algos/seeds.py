"""Seeds of a run's many random choices, all derived from its one seed.

Invariant: a derived seed is a function of its parts only, the same on every machine.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

COIN_DRAWS = 1 << 40
"""Draws of an episode's seed from here on decide its roulettes; those below, its tokens."""
TURN_DRAWS = 1 << 41
"""Draws from here on are a turn's own, for rules that branch at random."""


def derive_seed(*parts: Any) -> int:
    """A 63-bit seed from integers and strings: BLAKE2b-64 of their ``repr``, the lowest bit dropped."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def uniforms(seeds: Any, draws: Any) -> Any:
    """Uniform numbers in [0, 1) from counters: SplitMix64 of (seed, draw), shape of ``seeds``.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    with np.errstate(over="ignore"):
        z = np.asarray(seeds, np.uint64) + np.asarray(draws, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = z + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53

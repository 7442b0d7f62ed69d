"""The hashes by which an episode is compared, and the chain that ties its steps together.

Invariant: all of them are functions of what they are given, the same on every machine. They are cut to
``LENGTH`` digits, since a replay recomputes each: a collision gains nothing.
"""

from __future__ import annotations

import hashlib

from algos.seeds import derive_seed
from sandgym.core import digest_of

LENGTH = 12  # hexadecimal digits of a stored hash


def hash_observation(observation: str) -> str:
    """Of the text of an observation."""
    return hashlib.sha256(observation.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]


def short(digest: str) -> str:
    """A digest as it is stored."""
    return digest[:LENGTH]


def root(panel_hash: str, task: str, seed: int, sample: int) -> str:
    """Where the chain of an episode starts."""
    return digest_of("sandgym leaderboard", panel_hash, task, seed, sample)


def link(previous: str, action: str, reward: float, observation: str, digest: str) -> str:
    """The next link: of the one before (whole) and a step as it is stored."""
    return digest_of(previous, action, reward, observation, digest)


def reset_seed(seed: int, place: int) -> int:
    """The seed with which the task at a place of the panel is reset, as the evaluation harness does it."""
    return derive_seed(seed, place, "reset")

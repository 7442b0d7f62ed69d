"""Players that need no model: an environment's own expert, and chance.

Invariant: a player's actions follow from the episode's key and what it is shown; the expert may also look
inside the environment, so that it is there to compare with and not to win.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from algos.seeds import derive_seed
from leaderboard.record import Act, Key

PLAYERS = ("expert", "random")
_QUERY = 3  # words of a random search
_WORD = re.compile(r"[A-Za-z]{3,}")


def player(name: str, env: gymnasium.Env[Any, Any], key: Key) -> Act:
    """Who plays one episode.

    Args:
        name: one of ``PLAYERS``.
        env: in which it will play.
        key: of the episode.

    Raises:
        LookupError: there is no such player.
    """
    if name == "expert":
        return _Expert(env, key)
    if name == "random":
        return _Random(key)
    raise LookupError(f"no player {name!r}; known: {', '.join(PLAYERS)}")


class _Expert:
    """The environment's own demonstrator, without slips."""

    def __init__(self, env: gymnasium.Env[Any, Any], key: Key) -> None:
        self._env: Any = env.unwrapped
        self._seed = derive_seed(key.seed, key.place, key.sample)
        self._expert: Any = None

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        if self._expert is None:  # after the reset
            self._expert = self._env.expert(noise=0.0, seed=self._seed)
        action: str = self._expert.act()
        return action


class _Random:
    """Any admissible action, each as likely; where there is a search bar, some words of the observation."""

    def __init__(self, key: Key) -> None:
        self._rng = np.random.default_rng(derive_seed(key.seed, key.place, key.sample))

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        actions = info.get("admissible_actions", ())
        if actions and not info.get("has_search_bar", False):
            return str(actions[self._rng.integers(len(actions))])
        words = _WORD.findall(observation)
        if not info.get("has_search_bar", False) or not words:
            raise LookupError("this environment lists no admissible actions, so that nobody can play it at random")
        chosen = self._rng.choice(words, min(_QUERY, len(words)), replace=False)
        return f"search[{' '.join(map(str, chosen))}]"

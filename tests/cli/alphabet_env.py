"""A two-turn text environment that pays any policy something, so that numbers differ between policies."""

from collections.abc import Sequence
from typing import Any

import gymnasium

from sandgym.core import Expert
from sandgym.memory import InMemoryEnv, Outcome

LETTERS = {"train": "abcdefghijklmnop", "dev": "qrstuv", "test": "wxyz"}
TURNS = 2


class AlphabetEnv(InMemoryEnv):
    """The score is the share of the characters written that come before ``n`` in the alphabet."""

    instructions = "Write words with letters from the first half of the alphabet."

    def __init__(self, data: str = "bundled", split: str = "train", max_steps: int = 5) -> None:
        if split not in LETTERS:
            raise ValueError(f"unknown split {split!r}; known: {', '.join(LETTERS)}")
        self._ids = [f"letter-{letter}" for letter in LETTERS[split]]
        self._data = data
        super().__init__(f"alphabet {data} {split} {max_steps}", max_steps)

    @property
    def task_ids(self) -> Sequence[str]:
        return self._ids

    def task_index(self, task_id: str) -> int:
        if task_id not in self._ids:
            raise KeyError(task_id)
        return self._ids.index(task_id)

    def expert(self, *, noise: float = 0.0, seed: int = 0) -> Expert:
        return _Writer(self, noise, seed)

    def _begin(self, task: int, rng_key: tuple[int, int]) -> tuple[str, ...]:
        return ()

    def _advance(self, task: int, state: tuple[str, ...], action: str) -> tuple[tuple[str, ...], Outcome]:
        state = (*state, action)
        if len(state) < TURNS:
            return state, Outcome()
        written = "".join(state)
        share = sum("a" <= character < "n" for character in written) / max(len(written), 1)
        return state, Outcome(share, True, share >= 0.5, share)

    def _observe(self, task: int, state: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
        return f"A word like {self._ids[task][-1]}, please. Words so far: {len(state)}.", {"data": self._data}


class _Writer:
    slipped = False

    def __init__(self, env: AlphabetEnv, noise: float, seed: int) -> None:
        self._env, self._noise, self._seed = env, noise, seed

    def act(self) -> str:
        words = ["cab", "bead", "face", "jade"] if self._seed % 10 >= 10 * self._noise else ["zoo", "tots"]
        return words[self._seed % len(words)]


gymnasium.register("test/Alphabet-v0", entry_point=AlphabetEnv, disable_env_checker=True, order_enforce=False)

"""A small deterministic environment that a random policy can earn something in."""

from collections.abc import Sequence
from typing import Any

import gymnasium

from sandgym.core import SandboxError
from sandgym.memory import InMemoryEnv, Outcome

WORDS = ("apple", "brook", "cedar", "delta", "ember", "flint", "grove", "heron")
SPLITS = {"train": WORDS[:5], "dev": WORDS[5:]}
TEXTS = [f"spell {word} now: paid {n} of 4 so far" for word in WORDS for n in range(5)] * 3


class Speller:
    """Says ``a``, which pays, and then ``d``, which ends."""

    slipped = False

    def __init__(self, env: "LettersEnv") -> None:
        self.env = env

    def act(self) -> str:
        return ("a", "ai", "d")[min(2, self.env.snapshot().state.step)]


class LettersEnv(InMemoryEnv):
    """An action with ``a`` or ``i`` pays a quarter, ``d`` ends the episode; one must begin with a letter."""

    instructions = "Say words."

    def __init__(self, split: str = "train", max_steps: int = 5) -> None:
        self._words = SPLITS[split]
        super().__init__(f"letters {split} {max_steps}", max_steps)

    @property
    def task_ids(self) -> Sequence[str]:
        return self._words

    def task_index(self, task_id: str) -> int:
        return {name: index for index, name in enumerate(self._words)}[task_id]

    def expert(self, *, noise: float = 0.0, seed: int = 0) -> Speller:
        return Speller(self)

    def _begin(self, task: int, rng_key: tuple[int, int]) -> int:
        return 0

    def _advance(self, task: int, state: int, action: str) -> tuple[int, Outcome]:
        if not action[:1].isalpha():
            return state, Outcome(score=state / 4, extra={"action_valid": False})
        pays = state < 4 and ("a" in action or "i" in action)
        state += pays
        return state, Outcome(0.25 * pays, "d" in action, state >= 2, state / 4)

    def _observe(self, task: int, state: int) -> tuple[str, dict[str, Any]]:
        return f"spell {self._words[task]} now: paid {state} of 4 so far", {"action_valid": True}


class BrokenLettersEnv(LettersEnv):
    """The machine under it breaks on the letter ``m``, and on every reset to ``delta``."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        if options == {"task": "delta"}:
            raise SandboxError("no delta today")
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if "m" in action:
            raise SandboxError("the letter m is out of order")
        return super().step(action)


gymnasium.register(
    "tests/Letters-v0", entry_point=LettersEnv, disable_env_checker=True, order_enforce=False
)  # fmt: skip

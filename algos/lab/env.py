"""A tabular problem as a snapshottable environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from algos.lab.problems import END, Problem
from algos.seeds import derive_seed
from sandgym.memory import InMemoryEnv, Outcome

TASK = "episode"


class TabularEnv(InMemoryEnv):
    """Observations are numbers of states, actions are tokens with spaces between them.

    Where returns are noisy, the noise is drawn from a key in the state, and every fork gets a key of its own: as with
    a judge that is asked anew, equal actions of two episodes need not pay the same.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"lab {problem.name}", problem.states + 1)
        self.problem = problem
        self.metadata = {**self.metadata, "deterministic": not problem.noise}

    @property
    def task_ids(self) -> Sequence[str]:
        """There is one task."""
        return (TASK,)

    def task_index(self, task_id: str) -> int:
        """See ``InMemoryEnv``."""
        return {TASK: 0}[task_id]

    def fork(self, k: int) -> list[Self]:
        """See ``SnapshottableEnv``; with noise, forks differ from each other in their keys."""
        forks = super().fork(k)
        if self.problem.noise:
            for n, fork in enumerate(forks):
                episode = fork._episode
                assert episode is not None
                state, key = episode.state
                fork._episode = episode._replace(state=(state, derive_seed(key, episode.step, n)))
        return forks

    def _begin(self, task: int, rng_key: tuple[int, int]) -> tuple[int, int]:
        return 0, derive_seed(*rng_key) if self.problem.noise else 0

    def _advance(self, task: int, state: tuple[int, int], action: str) -> tuple[tuple[int, int], Outcome]:
        place, key = state
        number = 0
        for token in action.split():
            number = number * self.problem.choices + int(token)
        following = int(self.problem.following[place, number])
        reward = float(self.problem.rewards[place, number])
        if following == END and self.problem.noise:
            reward += self.problem.noise * float(np.random.default_rng(key).standard_normal())
        return (following, key), Outcome(reward, following == END)

    def _observe(self, task: int, state: tuple[int, int]) -> tuple[str, dict[str, Any]]:
        return str(state[0]), {}

"""A tabular problem as a snapshottable environment.

Invariant: ``_state`` is an immutable value that is only replaced, so that snapshots and forks
are reference copies.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
from gymnasium import spaces

from algos.lab.problems import END, Problem
from algos.seeds import derive_seed
from sandgym.core import Snapshot, SnapshotMismatch, SnapshottableEnv, reject_unknown

TASK = "episode"


class State(NamedTuple):
    """Where an episode is: a state of the problem or ``END``, actions so far, and the key of its noise."""

    place: int
    step: int
    key: int


class TabularEnv(SnapshottableEnv[str, str]):
    """Observations are numbers of states, actions are tokens with spaces between them; anything else ends the episode.

    Where returns are noisy, the noise is drawn from a key in the state, and every fork gets a key of its own: as with
    a judge that is asked anew, equal actions of two episodes need not pay the same.
    """

    instructions = "Say which tokens to take."
    task_ids: Sequence[str] = (TASK,)

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.metadata = {"render_modes": [], "deterministic": not problem.noise}
        self.observation_space = spaces.Text(8, charset="-0123456789")
        self.action_space = spaces.Text(2 * problem.turn_tokens, charset=" 0123456789")
        self._world = f"lab {problem.name}"
        self._actions = {
            " ".join(map(str, np.unravel_index(n, (problem.choices,) * problem.turn_tokens))): n
            for n in range(problem.choices**problem.turn_tokens)
        }
        self._state: State | None = None
        self._last: tuple[str, dict[str, Any]] = ("", {})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; there is one task."""
        reject_unknown(options or {}, ("task",), "reset option")
        task = (options or {}).get("task", TASK)
        if task not in (TASK, 0):
            raise LookupError(f"no task {task!r}; known: {TASK!r}")
        super().reset(seed=seed)
        key = derive_seed(int(self.np_random.integers(1 << 62))) if self.problem.noise else 0
        return self._enter(State(0, 0, key), True)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Follow the table.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end.
            TypeError: the action is not a string.
        """
        state = self._begun()
        if state.place == END:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        if not isinstance(action, str):
            raise TypeError(f"an action is a string, not {type(action).__name__}")
        number = self._actions.get(action)
        following, reward = END, 0.0
        if number is not None:
            following = int(self.problem.following[state.place, number])
            reward = float(self.problem.rewards[state.place, number])
            if following == END and self.problem.noise:
                reward += self.problem.noise * float(np.random.default_rng(state.key).standard_normal())
        observation, info = self._enter(State(following, state.step + 1, state.key), number is not None)
        return observation, reward, following == END, False, info

    def snapshot(self) -> Snapshot:
        """See ``SnapshottableEnv.snapshot``."""
        return Snapshot(self._world, self._begun(), self._last)

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """See ``SnapshottableEnv.restore``."""
        if snapshot.world != self._world:
            raise SnapshotMismatch(f"snapshot of {snapshot.world!r} given to an environment of {self._world!r}")
        self._state, self._last = snapshot.state, snapshot.last
        return self._last[0], dict(self._last[1])

    def fork(self, k: int) -> list[Self]:
        """See ``SnapshottableEnv.fork``; with noise, forks differ from each other in their keys."""
        if k < 0:
            raise ValueError(f"cannot make {k} forks")
        state, forks = self._begun(), [copy.copy(self) for _ in range(k)]
        for n, fork in enumerate(forks):
            key = derive_seed(state.key, state.step, n) if self.problem.noise else 0
            fork._state, fork._np_random = state._replace(key=key), None
        return forks

    def _begun(self) -> State:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._state

    def _enter(self, state: State, valid: bool) -> tuple[str, dict[str, Any]]:
        info = {"task_id": TASK, "step": state.step, "success": False, "score": 0.0, "action_valid": valid}
        self._state, self._last = state, (str(state.place), info)
        return self._last[0], dict(info)

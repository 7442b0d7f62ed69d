"""Text environments that live in memory: an immutable world and a small immutable state.

Invariant: ``_episode`` is never mutated, only replaced, so that a snapshot, a restore
and a fork are reference copies. A subclass supplies the rules as functions of
(world, state); this module supplies the contract.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
from gymnasium import spaces

from sandgym.core import Snapshot, SnapshotMismatch, SnapshottableEnv, reject_unknown
from sandgym.tasks import index_of_task
from sandgym.text import UnicodeText


class Outcome(NamedTuple):
    """What a transition yields besides the next state."""

    reward: float = 0.0
    terminated: bool = False
    success: bool = False
    score: float = 0.0
    extra: dict[str, Any] = {}  # noqa: RUF012  read only: copied into info


class Episode(NamedTuple):
    """The whole mutable part of an environment, as one immutable value."""

    task: int
    step: int
    over: bool
    outcome: Outcome
    state: Any
    seed: int
    draws: int


class InMemoryEnv(SnapshottableEnv[str, str], abc.ABC):
    """Contract, tasks, horizon and info for environments of immutable state.

    Args:
        world: identity of the world (see ``Snapshot.world``).
        max_steps: actions after which an episode is truncated.
        render_mode: ``"ansi"`` makes ``render`` return the last observation.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  Gymnasium's own convention
    reset_options: frozenset[str] = frozenset({"task"})
    plays_on: bool = False  # True where a benchmark's defect of going on after termination is wanted

    def __init__(self, world: str, max_steps: int, render_mode: str | None = None) -> None:
        if max_steps < 1:
            raise ValueError(f"max_steps must be at least 1, not {max_steps}")
        if render_mode not in (None, "ansi"):
            raise ValueError(f"unknown render_mode {render_mode!r}; known: 'ansi'")
        self.observation_space: spaces.Space[str] = UnicodeText()
        self.action_space: spaces.Space[str] = UnicodeText()
        self.world = world
        self.max_steps = max_steps
        self.render_mode = render_mode
        self._episode: Episode | None = None
        self._last: tuple[str, dict[str, Any]] = ("", {})
        self._seed: int | None = None
        self._draws = 0

    # What a subclass supplies.

    @property
    @abc.abstractmethod
    def task_ids(self) -> Sequence[str]:
        """Task ids of the split, in its fixed order."""

    @abc.abstractmethod
    def task_index(self, task_id: str) -> int:
        """Index of a task id in ``task_ids``; ``KeyError`` when it is not there."""

    @abc.abstractmethod
    def _begin(self, task: int, rng_key: tuple[int, int]) -> Any:
        """State at the start of a task; ``rng_key`` seeds whatever is random in it."""

    @abc.abstractmethod
    def _advance(self, task: int, state: Any, action: str) -> tuple[Any, Outcome]:
        """Rules of the world: next state and outcome; never raises for a bad action."""

    @abc.abstractmethod
    def _observe(self, task: int, state: Any) -> tuple[str, dict[str, Any]]:
        """Observation of a state and the environment's own part of ``info``.

        Its values are immutable, or dictionaries of immutable values; so are those of ``Outcome.extra``.
        """

    def _draw_task(self, rng: np.random.Generator) -> int:
        """A random task for a reset that names none."""
        return int(rng.integers(len(self.task_ids)))

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; ``options={"task": id or index}`` chooses the task.

        Raises:
            TypeError: unknown options, or a task that is neither a string nor an integer.
            LookupError: no such task in this split.
        """
        options = options or {}
        reject_unknown(options, self.reset_options, "reset option")
        task = None  # first, so that an error changes nothing
        if "task" in options:
            task = index_of_task(options["task"], self.task_ids, self.task_index)
        if seed is not None:
            super().reset(seed=seed)
            self._seed, self._draws = seed, 0
        elif self._seed is None:
            self._seed = int(self.np_random_seed)
        assert self._seed is not None
        key = (self._seed, self._draws)
        self._draws += 1
        if task is None:
            task = self._draw_task(np.random.default_rng(key))
        state = self._begin(task, key)
        return self._enter(Episode(task, 0, False, Outcome(), state, self._seed, self._draws))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Apply an action; a malformed one costs a step and changes nothing else.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end.
            TypeError: the action is not a string.
        """
        episode = self._episode
        if episode is None or episode.over:
            raise gymnasium.error.ResetNeeded(
                "the episode is over; call reset()" if episode else "call reset() before step()"
            )
        if not isinstance(action, str):
            raise TypeError(f"an action is a string, not {type(action).__name__}")
        state, outcome = self._advance(episode.task, episode.state, action)
        step = episode.step + 1
        truncated = not outcome.terminated and step >= self.max_steps
        over = truncated or (outcome.terminated and not self.plays_on)
        observation, info = self._enter(episode._replace(step=step, over=over, outcome=outcome, state=state))
        return observation, outcome.reward, outcome.terminated, truncated, info

    def render(self) -> str | None:  # type: ignore[override]
        """The last observation in render mode ``"ansi"``, else nothing."""
        return self._last[0] if self.render_mode == "ansi" else None

    # The contract.

    def snapshot(self) -> Snapshot:
        """See ``SnapshottableEnv.snapshot``; a reference copy."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before snapshot()")
        return Snapshot(self.world, self._episode, self._last)

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """See ``SnapshottableEnv.restore``; a reference copy."""
        if snapshot.world != self.world:
            raise SnapshotMismatch(f"snapshot of {snapshot.world!r} given to an environment of {self.world!r}")
        episode: Episode = snapshot.state
        self._episode, self._last = episode, snapshot.last
        self._seed, self._draws = episode.seed, episode.draws
        observation, info = snapshot.last
        return observation, _handed_out(info)

    def fork(self, k: int) -> list[Self]:
        """See ``SnapshottableEnv.fork``; reference copies of one immutable world."""
        if k < 0:
            raise ValueError(f"cannot fork {k} environments")
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before fork()")
        return [self._copy() for _ in range(k)]

    def _present(self) -> Episode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._episode

    def _copy(self) -> Self:
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone._np_random = None
        return clone

    def _enter(self, episode: Episode) -> tuple[str, dict[str, Any]]:
        observation, extra = self._observe(episode.task, episode.state)
        outcome = episode.outcome
        info = {
            "task_id": self.task_ids[episode.task],
            "step": episode.step,
            "success": outcome.success,
            "score": outcome.score,
            **extra,
            **outcome.extra,
        }
        self._episode, self._last = episode, (observation, info)
        return observation, _handed_out(info)


def _handed_out(info: dict[str, Any]) -> dict[str, Any]:
    """A copy for the caller, who may change it: the other values of an ``info`` are immutable."""
    return {key: value.copy() if type(value) is dict else value for key, value in info.items()}

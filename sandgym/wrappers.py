"""The contract for any Gymnasium environment, by deep copy or by replaying its actions.

Invariant: the wrapped environment, standard wrappers included, is only ever reset,
stepped, or set to a state that it was in; what a caller gets or gives is copied.

The keys of ``info`` that the contract asks for:

- ``task_id``: the id of the environment's spec, or its class name without one.
  ``options={"task": ...}`` takes that id or 0; other options go to the environment.
- ``step``: actions since the reset.
- ``success``: the return so far reaches the spec's ``reward_threshold``; without a
  threshold, the episode terminated with a positive return.
- ``score``: 1.0 with success, else 0.0.

``success`` and ``score`` can be given as functions of ``Progress``. What depends on the
clock (``info["episode"]["t"]`` of ``RecordEpisodeStatistics``) is left out of ``info``.
"""

from __future__ import annotations

import abc
import copy
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
from gymnasium.wrappers import RecordEpisodeStatistics

from sandgym.canonical import canonical_digest
from sandgym.conformance.violations import same
from sandgym.core import SandboxError, Snapshot, SnapshotMismatch, SnapshottableEnv
from sandgym.layers import CanonicalSnapshot, empty_copy, freeze, layers_of, thaw

Gym = gymnasium.Env[Any, Any]


class Progress(NamedTuple):
    """What success and score are judged by.

    Attributes:
        total: undiscounted return since the reset.
        terminated: of the last step.
        truncated: of the last step.
        info: of the last reset or step, as the wrapped environment gave it.
    """

    total: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class ReplayDivergedError(SandboxError):
    """Replaying the recorded actions did not lead to the recorded result."""


class Counters(NamedTuple):
    """The wrapper's own part of the state."""

    step: int
    total: float
    terminated: bool
    truncated: bool


class _Snapshots(SnapshottableEnv[Any, Any], abc.ABC):
    """What both ways share: the counters, ``info``, ``ResetNeeded``, the world's identity."""

    def __init__(
        self,
        env: Gym,
        *,
        success: Callable[[Progress], bool] | None = None,
        score: Callable[[Progress], float] | None = None,
    ) -> None:
        self.env = env
        self.metadata = env.metadata
        self.render_mode = env.render_mode
        # Copies: an agent that samples from these must not move generators of the environment.
        self.action_space = copy.deepcopy(env.action_space)
        self.observation_space = copy.deepcopy(env.observation_space)
        self.task_id = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        self._success, self._score = success, score
        self._counters: Counters | None = None
        self._last: tuple[Any, dict[str, Any]] = (None, {})
        names = ">".join(type(layer).__qualname__ for layer in layers_of(env))
        self.world = f"{type(self).__name__}:{self.task_id}:{names}:{canonical_digest(env.spec)[:16]}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Raises:
            LookupError: ``options["task"]`` is neither this environment's id nor 0.
        """
        options = dict(options or {})
        task = options.pop("task", 0)
        if isinstance(task, bool) or task not in (0, self.task_id):
            raise LookupError(f"no task {task!r}; the only one is {self.task_id!r}, index 0")
        observation, info = self._reset(seed, options or None)
        return self._enter(observation, info, Counters(0, 0.0, False, False))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end.
        """
        counters = self._counters
        if counters is None or counters.terminated or counters.truncated:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()" if counters else "call reset() first")
        observation, reward, terminated, truncated, info = self._step(action)
        counters = Counters(counters.step + 1, counters.total + float(reward), bool(terminated), bool(truncated))
        observation, info = self._enter(observation, info, counters)
        return observation, float(reward), counters.terminated, counters.truncated, info

    def render(self) -> Any:
        """Whatever the wrapped environment renders."""
        return self.env.render()

    def close(self) -> None:
        """Close the wrapped environment."""
        self.env.close()

    @abc.abstractmethod
    def _reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]: ...

    def _step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self.env.step(action)

    def _enter(self, observation: Any, info: dict[str, Any], counters: Counters) -> tuple[Any, dict[str, Any]]:
        progress = Progress(counters.total, counters.terminated, counters.truncated, info)
        success = bool((self._success or self._reached)(progress))
        info = {
            **self._without_clock(info),
            "task_id": self.task_id,
            "step": counters.step,
            "success": success,
            "score": float(self._score(progress)) if self._score else float(success),
        }
        self._counters, self._last = counters, copy.deepcopy((observation, info))
        return observation, info

    def _reached(self, progress: Progress) -> bool:
        threshold = self.env.spec.reward_threshold if self.env.spec is not None else None
        return progress.total >= threshold if threshold is not None else progress.terminated and progress.total > 0

    def _without_clock(self, info: dict[str, Any]) -> dict[str, Any]:
        keys = {layer._stats_key for layer in layers_of(self.env) if isinstance(layer, RecordEpisodeStatistics)}
        return {key: {k: v for k, v in info[key].items() if k != "t"} if key in keys else info[key] for key in info}

    def _started(self, what: str) -> Counters:
        if self._counters is None:
            raise gymnasium.error.ResetNeeded(f"call reset() before {what}()")
        return self._counters

    def _check_world(self, snapshot: Snapshot) -> None:
        if snapshot.world != self.world:
            raise SnapshotMismatch(f"snapshot of {snapshot.world!r} given to an environment of {self.world!r}")

    def _take(self, snapshot: Snapshot, counters: Counters) -> tuple[Any, dict[str, Any]]:
        self._counters, self._last = counters, snapshot.last
        last: tuple[Any, dict[str, Any]] = copy.deepcopy(snapshot.last)
        return last

    def fork(self, k: int) -> list[Self]:
        """See ``SnapshottableEnv.fork``."""
        if k < 0:
            raise ValueError(f"cannot fork {k} environments")
        self._started("fork")
        snapshot = self.snapshot()
        children = [copy.copy(self) for _ in range(k)]
        for child in children:
            child.env = self._another()
            child.restore(snapshot)
        return children

    @abc.abstractmethod
    def _another(self) -> Gym:
        """An environment like the wrapped one that shares nothing that changes."""


class DeepCopySnapshots(_Snapshots):
    """The contract by copying the attributes of every layer of ``env``.

    For environments whose state is picklable Python and NumPy. A snapshot costs a
    pickle of the whole state; the digest is computed on demand. The environment's
    generators are in it, those of the spaces of this wrapper are not.

    Args:
        env: any Gymnasium environment; it belongs to this wrapper from now on.
        success: whether an episode has succeeded (see the module).
        score: how well it went, in [0, 1].

    Raises:
        TypeError: (in ``snapshot``) an attribute cannot be pickled; use ``ReplaySnapshots``.
    """

    def _reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=seed, options=options)

    def snapshot(self) -> Snapshot:
        """See ``SnapshottableEnv.snapshot``."""
        return CanonicalSnapshot(self.world, (self._started("snapshot"), freeze(self.env)), self._last)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """See ``SnapshottableEnv.restore``."""
        self._check_world(snapshot)
        counters, layers = snapshot.state
        thaw(layers, self.env)
        return self._take(snapshot, counters)

    def _another(self) -> Gym:
        return empty_copy(self.env)


class History(NamedTuple):
    """How to get to a state again.

    Attributes:
        seed: of the reset, given or drawn.
        options: of the reset.
        actions: since then.
        base: the last given seed (or one drawn for want of any) and how many resets
            have drawn theirs from it.
    """

    seed: int
    options: dict[str, Any] | None
    actions: tuple[Any, ...]
    base: tuple[int, int]


class ReplaySnapshots(_Snapshots):
    """The contract by resetting with the same seed and playing the same actions again.

    For deterministic environments whose state cannot be copied. A snapshot is small
    and costs nothing; a restore or a fork costs a replay. The digest identifies the
    history: two histories that lead to one state have different digests. Statistics
    over past episodes (``RecordEpisodeStatistics.return_queue``) count replays too.

    Args:
        env: any Gymnasium environment; it belongs to this wrapper from now on.
        make: builds another one, for forks; by default ``gymnasium.make(env.spec)``.
        success: whether an episode has succeeded (see the module).
        score: how well it went, in [0, 1].
    """

    def __init__(
        self,
        env: Gym,
        *,
        make: Callable[[], Gym] | None = None,
        success: Callable[[Progress], bool] | None = None,
        score: Callable[[Progress], float] | None = None,
    ) -> None:
        super().__init__(env, success=success, score=score)
        self._make = make
        self._base: tuple[int, int] | None = None
        self._reward = 0.0
        self._start: tuple[int, dict[str, Any] | None] = (0, None)
        self._actions: list[Any] = []

    def snapshot(self) -> Snapshot:
        """See ``SnapshottableEnv.snapshot``."""
        counters = self._started("snapshot")
        assert self._base is not None
        history = History(*self._start, tuple(self._actions), self._base)
        return CanonicalSnapshot(self.world, (counters, self._reward, history), self._last)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """See ``SnapshottableEnv.restore``.

        Raises:
            ReplayDivergedError: the environment did not do again what it did. Reset it.
        """
        self._check_world(snapshot)
        counters, reward, history = snapshot.state
        self._counters = None  # until the replay has been verified, there is no episode
        self._base = history.base
        self._start, self._actions, self._reward = (history.seed, history.options), list(history.actions), reward
        observation, _ = self.env.reset(seed=history.seed, options=copy.deepcopy(history.options))
        result: tuple[Any, float, bool, bool] = (observation, 0.0, False, False)
        for action in history.actions:
            observation, step_reward, terminated, truncated, _ = self.env.step(copy.deepcopy(action))
            result = (observation, float(step_reward), bool(terminated), bool(truncated))
        recorded = (snapshot.last[0], reward, counters.terminated, counters.truncated)
        if not same(recorded, result):
            raise ReplayDivergedError(
                f"{self.task_id} is not deterministic: reset(seed={history.seed}) and the same {counters.step} actions "
                f"ended in (observation, reward, terminated, truncated) = {result}, not {recorded}"
            )
        return self._take(snapshot, counters)

    def _reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        if seed is None:
            base, drawn = self._base or (int(np.random.SeedSequence().generate_state(1)[0]), 0)
            self._base = base, drawn + 1
            seed = int(np.random.SeedSequence(self._base).generate_state(1)[0])
        else:
            self._base = seed, 0
        self._start, self._actions, self._reward = (seed, copy.deepcopy(options)), [], 0.0
        return self.env.reset(seed=seed, options=options)

    def _step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._actions.append(copy.deepcopy(action))
        answer = self.env.step(action)
        self._reward = float(answer[1])
        return answer

    def _another(self) -> Gym:
        if self._make is not None:
            return self._make()
        if self.env.spec is None:
            raise gymnasium.error.Error("cannot fork an environment without a spec: give ReplaySnapshots a make=")
        return gymnasium.make(self.env.spec)

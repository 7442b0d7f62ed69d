"""The contract of ``SnapshottableEnv`` as an executable check, for anybody's environment.

Invariant: every expected value is something that the same environment did before,
without the operation under test; the check knows nothing about any environment.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium

from sandgym.conformance.fresh import FreshProcess, Played, Result
from sandgym.conformance.probe import Probe, check_digest, global_generators_kept
from sandgym.conformance.recording import Recording
from sandgym.conformance.violations import ContractViolation, Violation, difference
from sandgym.core import SnapshottableEnv

_METHODS = ("reset", "step", "snapshot", "restore", "fork", "close")


def check_snapshottable_env(
    env: SnapshottableEnv[Any, Any],
    *,
    actions: Sequence[Any] | None = None,
    episodes: int = 3,
    seed: int = 0,
    max_steps: int = 100,
    fresh_process: bool = True,
    make: Callable[[], SnapshottableEnv[Any, Any]] | None = None,
) -> None:
    """Play ``episodes`` episodes and raise at the first violation of the contract.

    Actions are drawn from ``info["admissible_actions"]`` four times in five where there
    are any, else from the action space. Global ``random`` and ``numpy.random`` state is
    put back at the end.

    Args:
        env: an environment that has not been reset yet. Its episode is lost.
        actions: played in each episode in this order instead of drawn ones.
        episodes: how many, with seeds ``seed``, ``seed + 1``, ...
        seed: of the first episode and of the drawn actions.
        max_steps: an episode is left after this many steps.
        fresh_process: also resume every snapshot in a new Python process.
        make: builds the environment there; by default ``gymnasium.make(env.spec)``, and
            an environment without a spec is sent by pickle.

    Raises:
        ContractViolation: names the violation, the step, what was expected, what was
            seen and how to fix it.
    """
    _check_methods(env)
    with global_generators_kept():
        probe = Probe(env)
        draw = _drawer(env, actions, seed)
        when = "before the first reset (give the check an environment that has had none)"
        for name, *arguments in (("step", draw({}, 0)), ("snapshot",), ("fork", 1)):
            probe.check_needs_reset(0, when, name, *arguments)
        recorded: list[Recording] = []
        for episode in range(episodes):
            record = Recording(probe, seed + episode, draw, max_steps if actions is None else len(actions))
            record.check_reproducible()
            record.take_snapshots()
            record.check_restore()
            record.check_fork()
            record.check_not_blind(recorded)
            recorded.append(record)
        if fresh_process:
            _check_fresh_process(env, make, recorded)


def _check_fresh_process(
    env: SnapshottableEnv[Any, Any], make: Callable[[], SnapshottableEnv[Any, Any]] | None, records: list[Recording]
) -> None:
    """Start and resume every recorded episode in another process."""
    built = make is not None or env.spec is not None
    maker = make or functools.partial(_build, env.spec or env)
    try:
        with FreshProcess(maker) as process:
            if built and records[0].actions and not process.needs_reset(records[0].actions[0]):
                raise ContractViolation(
                    Violation.RESET_NEEDED,
                    0,
                    "step() before the first reset to raise gymnasium.error.ResetNeeded",
                    "a result",
                )
            for record in records:
                try:
                    _check_resumed(record, process)
                finally:  # an episode that differs from its start on says more than a snapshot that does
                    expected = f"reset(seed={record.seed}) and the same actions to give the same in another process"
                    played = process.start(record.seed, None, record.actions)
                    _compare_processes(record, 0, played, Violation.HIDDEN_RNG, expected)
    except ContractViolation:
        raise
    except Exception as error:
        expected = "the environment to be built and its snapshots to be restored in another process"
        raise ContractViolation(Violation.NOT_RESUMABLE, 0, expected, f"{type(error).__name__}: {error}") from error


def _check_resumed(record: Recording, process: FreshProcess) -> None:
    for point in record.points:
        expected = f"the snapshot of step {point} to go on in another process as it did here"
        played = process.resume(record.snapshots[point], record.actions[point:])
        _compare_processes(record, point, played, Violation.NOT_RESUMABLE, expected)


def _build(source: Any) -> Any:
    return gymnasium.make(source) if isinstance(source, gymnasium.envs.registration.EnvSpec) else source


def _compare_processes(record: Recording, point: int, played: Played, violation: Violation, expected: str) -> None:
    for step, result in enumerate(played.results, start=point):
        fields = Result._fields if step > point else ("observation", "info")
        if (what := difference(record.results[step], result, fields)) is not None:
            raise ContractViolation(violation, step, expected, what)
    for step, digest in enumerate(played.digests, start=point):
        check_digest(record.digests[step], digest, step, "one state here and in another process")


def _check_methods(env: Any) -> None:
    missing = [f"{name}()" for name in _METHODS if not callable(getattr(env, name, None))]
    missing += [name for name in ("action_space", "observation_space") if not hasattr(env, name)]
    missing += [] if hasattr(type(env), "state_digest") else ["state_digest"]
    if missing:
        seen = f"{type(env).__name__} has no {', '.join(missing)}"
        raise ContractViolation(Violation.MISSING_METHODS, 0, "the methods of SnapshottableEnv", seen)


def _drawer(
    env: SnapshottableEnv[Any, Any], actions: Sequence[Any] | None, seed: int
) -> Callable[[dict[str, Any], int], Any]:
    """The next action for an info and a step; the environment's own spaces are left alone."""
    if actions is not None:
        return lambda info, step: actions[min(step, len(actions) - 1)]
    space, rng = copy.deepcopy(env.action_space), random.Random(seed)
    space.seed(seed)

    def draw(info: dict[str, Any], step: int) -> Any:
        admissible = info.get("admissible_actions")
        if admissible and rng.random() < 0.8:
            return rng.choice(list(admissible))
        return space.sample()

    return draw

"""One environment with every call watched, and checks on what single calls return.

Invariant: a watched call raises ``ContractViolation`` when it fails, and when it
draws from the global generators of ``random`` or ``numpy.random``.
"""

from __future__ import annotations

import copy
import numbers
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np

from sandgym.conformance.fresh import Result
from sandgym.conformance.violations import ContractViolation, Violation
from sandgym.core import Snapshot, SnapshottableEnv


class Probe:
    """The environment, with every call watched for exceptions and for use of global generators."""

    def __init__(self, env: SnapshottableEnv[Any, Any]) -> None:
        self.env = env

    def call(self, name: str, step: int, *arguments: Any, **keywords: Any) -> Any:
        """Call a method of the environment; ``step`` is for the message."""
        return self._watch(name, step, lambda: getattr(self.env, name)(*arguments, **keywords))

    def state_digest(self, step: int) -> str:
        """Watched ``state_digest``."""
        digest: str = self._watch("state_digest", step, lambda: self.env.state_digest)
        return digest

    def _watch(self, name: str, step: int, call: Callable[[], Any]) -> Any:
        before = _generator_states()
        try:
            answer = call()
        except Exception as error:
            raise ContractViolation(
                Violation.RAISED, step, f"{name} to return", f"{type(error).__name__}: {error}"
            ) from error
        for generator, was, now in zip(("random", "numpy.random"), before, _generator_states(), strict=True):
            if was != now:
                raise ContractViolation(
                    Violation.HIDDEN_RNG, step, f"{name} to leave {generator} alone", f"{name} drew from it"
                )
        return answer

    def reset(self, seed: int) -> Result:
        """Watched ``reset``."""
        observation, info = self.call("reset", 0, seed=seed)
        return Result(observation, 0.0, False, False, info)

    def step(self, action: Any, step: int) -> Result:
        """Watched ``step``."""
        return Result(*self.call("step", step, action))

    def restore(self, snapshot: Snapshot, step: int) -> Result:
        """Watched ``restore``."""
        observation, info = self.call("restore", step, snapshot)
        return Result(observation, 0.0, False, False, info)

    def check_needs_reset(self, step: int, when: str, name: str, *arguments: Any) -> None:
        """The method must raise ``ResetNeeded`` here."""
        try:
            seen = f"it returned {getattr(self.env, name)(*arguments)!r}"
        except gymnasium.error.ResetNeeded:
            return
        except Exception as error:
            seen = f"{type(error).__name__}: {error}"
        expected = f"{name}() {when} to raise gymnasium.error.ResetNeeded"
        raise ContractViolation(Violation.RESET_NEEDED, step, expected, seen)


def check_info(info: Any, step: int) -> None:
    """``info`` has the keys of the contract, of the right types."""
    if not isinstance(info, dict):
        raise ContractViolation(Violation.INFO_KEYS, step, "info to be a dict", repr(info))
    missing = [key for key in ("task_id", "step", "success", "score") if key not in info]
    if missing:
        raise ContractViolation(Violation.INFO_KEYS, step, f"info with {', '.join(missing)}", f"only {', '.join(info)}")
    score = info["score"]
    for fine, expected, key in (
        (isinstance(info["task_id"], str), "a str", "task_id"),
        (isinstance(info["step"], numbers.Integral) and info["step"] == step, f"the int {step}", "step"),
        (isinstance(info["success"], bool), "a bool", "success"),
        (isinstance(score, float | int | np.floating) and 0 <= score <= 1, "a float in [0, 1]", "score"),
    ):
        if not fine:
            raise ContractViolation(Violation.INFO_KEYS, step, f"info[{key!r}] to be {expected}", repr(info[key]))


def digest_at(snapshot: Snapshot, step: int) -> str:
    """Digest of a snapshot; ``step`` is for the message."""
    try:
        digest = snapshot.digest
    except Exception as error:
        raise ContractViolation(
            Violation.RAISED, step, "snapshot.digest to be computed", f"{type(error).__name__}: {error}"
        ) from error
    return digest


def check_digest(expected: str, seen: str, step: int, what: str) -> None:
    """Two digests of what should be one state are equal."""
    if expected != seen:
        raise ContractViolation(Violation.DIGEST_UNSTABLE, step, f"{what} to have one digest", f"{expected} and {seen}")


def check_frozen(snapshot: Snapshot, step: int) -> None:
    """A snapshot refuses assignment to its attributes."""
    for name in ("state", "digest"):
        try:
            setattr(snapshot, name, None)
        except (AttributeError, TypeError):
            continue
        raise ContractViolation(
            Violation.MUTABLE, step, f"assignment to snapshot.{name} to be refused", "it was accepted"
        )


def own(result: Result) -> Result:
    """A copy that the environment cannot change later."""
    return Result(*copy.deepcopy(tuple(result)))


def scribble(value: Any) -> None:
    """Change in place what can be changed, as a careless caller would."""
    if isinstance(value, dict):
        for item in value.values():
            scribble(item)
        value["scribbled"] = True
    elif isinstance(value, list):
        value.append("scribbled")
    elif isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind in "biuf":
        value[...] = 0


def _generator_states() -> tuple[bytes, bytes]:
    return pickle.dumps(random.getstate()), pickle.dumps(np.random.get_state())


def seed_generators(seed: int) -> None:
    """Seed the global generators."""
    random.seed(seed)
    np.random.seed(seed)


@contextmanager
def global_generators_kept() -> Iterator[None]:
    """Put the global generators back at the end."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)

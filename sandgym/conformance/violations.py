"""What can be wrong with an environment that claims the contract, and how to say so.

Invariant: a message names the violation, the step, what was expected, what was seen
and what to change.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from gymnasium.utils.env_checker import data_equivalence

from sandgym.canonical import canonical_digest
from sandgym.conformance.fresh import Result


class Violation(enum.StrEnum):
    """The kinds of violation that ``check_snapshottable_env`` tells apart."""

    MISSING_METHODS = "methods missing"
    RAISED = "a call failed"
    RESET_NEEDED = "ResetNeeded not raised"
    INFO_KEYS = "info keys missing or wrong"
    HIDDEN_RNG = "hidden randomness"
    DISTURBS = "snapshot disturbs the environment"
    NOT_PICKLABLE = "snapshot not picklable"
    MUTABLE = "snapshot mutable"
    DIGEST_UNSTABLE = "digest unstable"
    DIGEST_BLIND = "digest blind"
    RESTORE = "restore not faithful"
    FORK_DIFFERS = "fork not faithful"
    FORK_SHARES = "fork shares state"
    NOT_RESUMABLE = "snapshot not resumable in a fresh process"


_FIXES = {
    Violation.MISSING_METHODS: "derive from sandgym.SnapshottableEnv; if gymnasium.make wrapped the environment, "
    "register it with order_enforce=False, disable_env_checker=True and no max_episode_steps, or check env.unwrapped",
    Violation.RAISED: "see the exception that caused this one; a malformed action must cost a step and not raise",
    Violation.RESET_NEEDED: "raise gymnasium.error.ResetNeeded in step(), snapshot() and fork() before the first "
    "reset, and in step() after the end",
    Violation.INFO_KEYS: "put task_id (str), step (int, actions since the reset), success (bool) and score (float in "
    "[0, 1]) into the info of every reset and step",
    Violation.HIDDEN_RNG: "draw from a generator that reset(seed=...) seeds and the snapshot holds; no global "
    "generator, no clock, no hash() of strings, no order of sets or files; reset() must set all that an "
    "episode depends on",
    Violation.DISTURBS: "snapshot() and state_digest must only read",
    Violation.NOT_PICKLABLE: "keep plain values in the snapshot: no functions, open files, locks or handles",
    Violation.MUTABLE: "copy what the environment changes in place into the snapshot, return copies of its observation "
    "and info, and refuse attribute assignment (sandgym.Snapshot does)",
    Violation.DIGEST_UNSTABLE: "hash state only, in a canonical order (sandgym.core.digest_of): no addresses, times, "
    "hash(), set order or counters of past episodes",
    Violation.DIGEST_BLIND: "hash all that the future and the last observation depend on, generators included",
    Violation.RESTORE: "put everything that step() reads into the snapshot, and take all of it back in restore()",
    Violation.FORK_DIFFERS: "build a fork from the whole state: a new environment, then restore(snapshot())",
    Violation.FORK_SHARES: "give each fork its own copy of whatever changes; share only what never does",
    Violation.NOT_RESUMABLE: "keep the state itself in the snapshot, not a reference to this process; pass make= if "
    "the environment can be built neither from env.spec nor by pickle",
}


class ContractViolation(AssertionError):  # noqa: N818  named for what it is
    """The first violation that the check met.

    Attributes:
        violation: its kind.
        step: actions since the reset when it showed.
    """

    def __init__(self, violation: Violation, step: int, expected: str, seen: str) -> None:
        super().__init__(
            f"{violation} (step {step})\n  expected: {expected}\n  seen: {seen}\n  to fix: {_FIXES[violation]}"
        )
        self.violation = violation
        self.step = step


def same(one: Any, two: Any) -> bool:
    """Exact equality of observations, arrays included; NaN equals NaN."""
    if data_equivalence(one, two, exact=True):
        return True
    try:
        return canonical_digest(one) == canonical_digest(two)
    except TypeError:
        return False


def difference(expected: Result, seen: Result, fields: Sequence[str] = Result._fields) -> str | None:
    """The first field in which two results differ, in words; ``None`` when there is none."""
    for field in fields:
        one, two = getattr(expected, field), getattr(seen, field)
        if same(one, two):
            continue
        if field == "info" and isinstance(one, dict) and isinstance(two, dict):
            missing = object()
            for key in [*one, *(key for key in two if key not in one)]:
                if not same(one.get(key, missing), two.get(key, missing)):
                    return f"info[{key!r}] {_show(two.get(key, 'missing'))} instead of {_show(one.get(key, 'missing'))}"
        return f"{field} {_show(two)} instead of {_show(one)}"
    return None


def _show(value: Any, limit: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"

"""Each violation has an environment that is broken in that way alone, and the check names it."""

import hashlib
import itertools
import pickle
import random
import time
from typing import Any

import gymnasium
import numpy as np
import pytest
from corridor import CorridorEnv
from ladder import LadderEnv

from sandgym import Snapshot, check_snapshottable_env
from sandgym.conformance.fresh import FreshProcess, FreshProcessError, Result
from sandgym.conformance.violations import ContractViolation, Violation, difference, same


class ForgetsWhetherOver(LadderEnv):
    def restore(self, snapshot: Snapshot) -> Any:
        answer = super().restore(snapshot)
        self.over = False
        return answer


class ForgetsGenerator(LadderEnv):
    def restore(self, snapshot: Snapshot) -> Any:
        kept = self.np_random.bit_generator.state
        answer = super().restore(snapshot)
        self.np_random.bit_generator.state = kept
        return answer


class RestoresOtherObservation(LadderEnv):
    def restore(self, snapshot: Snapshot) -> Any:
        return "restored", super().restore(snapshot)[1]


class ForksShareTrail(LadderEnv):
    def fork(self, k: int) -> Any:
        children = super().fork(k)
        for child in children:
            child.trail = self.trail
        return children


class ForksShareGenerator(LadderEnv):
    def fork(self, k: int) -> Any:
        children = super().fork(k)
        for child in children[1:]:
            child._np_random = children[0].np_random
        return children


class ForksAreItself(LadderEnv):
    def fork(self, k: int) -> Any:
        return [self] * len(super().fork(k))


class ForksAtTheStart(LadderEnv):
    def fork(self, k: int) -> Any:
        children = super().fork(k)
        for child in children:
            child.reset(seed=0)
        return children


class SnapshotDrawsANumber(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        self.np_random.random()
        return snapshot


class DigestOfTime(LadderEnv):
    def state(self) -> Any:
        return (*super().state(), time.perf_counter_ns())

    def restore(self, snapshot: Snapshot) -> Any:
        return super().restore(Snapshot(snapshot.world, snapshot.state[:3], snapshot.last))


class DigestOfStringHash(DigestOfTime):
    def state(self) -> Any:
        return (*LadderEnv.state(self), hash("rung"))


class BlindSnapshot(Snapshot):
    __slots__ = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self.state[0]).encode()).hexdigest()


class DigestWithoutGenerator(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        return BlindSnapshot(snapshot.world, snapshot.state, snapshot.last)


class ConstantSnapshot(Snapshot):
    __slots__ = ()
    digest = "0" * 64


class ConstantDigest(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        return ConstantSnapshot(snapshot.world, snapshot.state, snapshot.last)


class DrawsFromRandom(LadderEnv):
    def slips(self) -> bool:
        return random.random() > 0.7


class DrawsFromNumpy(LadderEnv):
    def slips(self) -> bool:
        return bool(np.random.random() > 0.7)


class PeeksAtRandom(LadderEnv):
    def slips(self) -> bool:
        before = random.getstate()
        slips = random.random() > 0.7
        random.setstate(before)
        return slips


class UnseededGenerator(LadderEnv):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset()

    def slips(self) -> bool:
        self.draw = int(self.np_random.integers(2**60))  # wide, so that two runs are never equal by chance
        return False

    def look(self) -> Any:
        observation, info = super().look()
        self.last = f"{observation} {getattr(self, 'draw', 0)}", info
        return self.last[0], info.copy()


class DependsOnSetOrder(LadderEnv):
    def look(self) -> Any:
        observation, info = super().look()
        info["admissible_actions"] = tuple({"up", "wait", "down", "jump", "rest", "look"})
        self.last = observation, info
        return observation, info.copy()


class Unpicklable(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        return Snapshot(snapshot.world, snapshot.state, (snapshot.last[0], {**snapshot.last[1], "look": lambda: 0}))


VAULT: dict[int, Any] = {}
KEYS = itertools.count()


class InTheVault(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        key = int(snapshot.digest[:12], 16)
        VAULT[key] = snapshot.state
        return Snapshot(snapshot.world, key, snapshot.last)

    def restore(self, snapshot: Snapshot) -> Any:
        return super().restore(Snapshot(snapshot.world, VAULT[snapshot.state], snapshot.last))


class LiveTrail(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        return Snapshot(snapshot.world, (self.trail, *snapshot.state[1:]), snapshot.last)


class LiveInfo(LadderEnv):
    def restore(self, snapshot: Snapshot) -> Any:
        super().restore(snapshot)
        return snapshot.last


class OpenSnapshot(Snapshot):
    __setattr__ = object.__setattr__

    @property
    def digest(self) -> str:
        return super().digest

    @digest.setter
    def digest(self, value: str) -> None:
        object.__setattr__(self, "_digest", value)


class AssignableSnapshot(LadderEnv):
    def snapshot(self) -> Snapshot:
        snapshot = super().snapshot()
        return OpenSnapshot(snapshot.world, snapshot.state, snapshot.last)


class InfoWithoutScore(LadderEnv):
    def look(self) -> Any:
        observation, info = super().look()
        del info["score"]
        self.last = observation, info
        return observation, info.copy()


class InfoWithOtherStep(LadderEnv):
    def look(self) -> Any:
        observation, info = super().look()
        info["step"] += 1
        self.last = observation, info
        return observation, info.copy()


class StepsBeforeReset(LadderEnv):
    def step(self, action: str) -> Any:
        if self.trail is None:
            self.reset(seed=0)
        return super().step(action)


class SnapshotsBeforeReset(LadderEnv):
    def snapshot(self) -> Snapshot:
        return Snapshot("ladder", None, ("", {})) if self.trail is None else super().snapshot()


class StepsAfterTheEnd(LadderEnv):
    def step(self, action: str) -> Any:
        self.over = False
        if self.trail is None:
            return super().step(action)
        if self.trail[-1] == 4 or len(self.trail) > 12:
            return self.last[0], 0.0, True, False, self.last[1].copy()
        return super().step(action)


class RaisesOnNonsense(LadderEnv):
    def step(self, action: str) -> Any:
        if self.trail is not None and not self.over and action not in ("up", "wait"):
            raise KeyError(action)
        return super().step(action)


class NoSnapshots(gymnasium.Env[str, str]):
    observation_space = LadderEnv.observation_space
    action_space = LadderEnv.action_space


CASES: list[tuple[type[Any], Violation, str]] = [
    (ForgetsWhetherOver, Violation.DIGEST_UNSTABLE, "restored"),
    (ForgetsGenerator, Violation.RESTORE, "instead of"),
    (RestoresOtherObservation, Violation.RESTORE, "observation 'restored' instead of 'rung 0'"),
    (ForksShareTrail, Violation.FORK_SHARES, "parent"),
    (ForksShareGenerator, Violation.FORK_SHARES, "sibling"),
    (ForksAreItself, Violation.FORK_SHARES, "3 environments, 0 of them new"),
    (ForksAtTheStart, Violation.FORK_DIFFERS, "a fork"),
    (SnapshotDrawsANumber, Violation.DISTURBS, "instead of"),
    (DigestOfTime, Violation.DIGEST_UNSTABLE, "two snapshots of one state"),
    (DigestOfStringHash, Violation.DIGEST_UNSTABLE, "another process"),
    (DigestWithoutGenerator, Violation.DIGEST_BLIND, "to differ in digest"),
    (ConstantDigest, Violation.DIGEST_BLIND, "seed 0, step 0 and seed 0, step 1"),
    (DrawsFromRandom, Violation.HIDDEN_RNG, "to leave random alone"),
    (DrawsFromNumpy, Violation.HIDDEN_RNG, "to leave numpy.random alone"),
    (PeeksAtRandom, Violation.HIDDEN_RNG, "with random and numpy.random seeded otherwise"),
    (UnseededGenerator, Violation.HIDDEN_RNG, "the second time"),
    (DependsOnSetOrder, Violation.HIDDEN_RNG, "in another process"),
    (Unpicklable, Violation.NOT_PICKLABLE, "pickle.dumps(snapshot)"),
    (InTheVault, Violation.NOT_RESUMABLE, "KeyError"),
    (LiveTrail, Violation.MUTABLE, "its digest changed"),
    (LiveInfo, Violation.MUTABLE, "scribbled"),
    (AssignableSnapshot, Violation.MUTABLE, "assignment to snapshot.state"),
    (InfoWithoutScore, Violation.INFO_KEYS, "info with score"),
    (InfoWithOtherStep, Violation.INFO_KEYS, "info['step'] to be the int 0"),
    (StepsBeforeReset, Violation.RESET_NEEDED, "step() before the first reset"),
    (SnapshotsBeforeReset, Violation.RESET_NEEDED, "snapshot() before the first reset"),
    (StepsAfterTheEnd, Violation.RESET_NEEDED, "after the end"),
    (RaisesOnNonsense, Violation.RAISED, "KeyError"),
    (NoSnapshots, Violation.MISSING_METHODS, "has no snapshot(), restore(), fork(), state_digest"),
]


@pytest.mark.parametrize(("broken", "violation", "words"), CASES, ids=lambda case: getattr(case, "__name__", None))
def test_names_the_violation(broken: type[Any], violation: Violation, words: str) -> None:
    with pytest.raises(ContractViolation) as raised:
        check_snapshottable_env(broken())
    assert raised.value.violation is violation
    assert words in str(raised.value)
    assert "to fix:" in str(raised.value)


def test_every_violation_has_a_broken_environment() -> None:
    assert {violation for _, violation, _ in CASES} == set(Violation)


@pytest.mark.parametrize("make", [LadderEnv, CorridorEnv])
def test_good_environments_pass(make: type[Any]) -> None:
    check_snapshottable_env(make())


def test_given_actions_are_played() -> None:
    check_snapshottable_env(CorridorEnv(), actions=["right", "left", "", "right"], fresh_process=False)


def test_environment_of_a_script_is_sent_by_value() -> None:
    namespace: dict[str, Any] = {"LadderEnv": LadderEnv, "__name__": "__main__"}
    exec("class ScriptEnv(LadderEnv):\n    pass", namespace)
    check_snapshottable_env(namespace["ScriptEnv"](), episodes=1)
    check_snapshottable_env(LadderEnv(), make=lambda: LadderEnv(), episodes=1)


def test_global_generators_are_put_back() -> None:
    before = pickle.dumps((random.getstate(), np.random.get_state()))
    check_snapshottable_env(LadderEnv(), episodes=1, fresh_process=False)
    assert pickle.dumps((random.getstate(), np.random.get_state())) == before


def test_wrapped_environment_is_told_what_to_do() -> None:
    with pytest.raises(ContractViolation, match="order_enforce=False"):
        check_snapshottable_env(gymnasium.wrappers.OrderEnforcing(LadderEnv()))  # type: ignore[arg-type]


def test_same_compares_arrays_exactly_and_nan_with_nan() -> None:
    assert same({"a": np.array([1.0, np.nan])}, {"a": np.array([1.0, np.nan])})
    assert not same(np.array([1.0]), np.array([1.0 + 1e-9]))
    assert not same(np.array([1.0]), np.array([[1.0]]))
    assert same(float("nan"), float("nan"))
    assert not same((1, 2), [1, 2])


def test_difference_names_the_first_field() -> None:
    one = Result("a", 0.0, False, False, {"step": 1, "x": 2})
    assert difference(one, one) is None
    assert difference(one, one._replace(reward=1.0)) == "reward 1.0 instead of 0.0"
    assert difference(one, one._replace(info={"step": 1, "x": 3})) == "info['x'] 3 instead of 2"
    assert difference(one, one._replace(info={"step": 1})) == "info['x'] 'missing' instead of 2"


def test_fresh_process_reports_errors_and_goes_on() -> None:
    with FreshProcess(LadderEnv) as process:
        with pytest.raises(FreshProcessError, match="SnapshotMismatch"):
            process.resume(Snapshot("other", (), ("", {})), [])
        assert process.start(0, None, []).results[0].observation == "rung 0"

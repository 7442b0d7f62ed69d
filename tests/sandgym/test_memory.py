"""Tasks, horizon, info and the ends of an episode in environments of immutable state."""

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from corridor import CorridorEnv
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from sandgym.core import Snapshot, SnapshotMismatch


def test_gymnasium_s_own_check_has_no_complaint() -> None:
    spec = EnvSpec("Corridor-v0", entry_point="corridor:CorridorEnv", disable_env_checker=True, order_enforce=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(spec))


@pytest.mark.parametrize("task", ["corridor-3", 1, np.int64(1), np.uint8(1)])
def test_task_by_id_or_index(corridor: CorridorEnv, task: Any) -> None:
    assert corridor.reset(seed=0, options={"task": task})[1]["task_id"] == "corridor-3"


@pytest.mark.parametrize("task", ["corridor-4", "", 3, -1, np.int64(3)])
def test_task_that_is_not_there(corridor: CorridorEnv, task: Any) -> None:
    with pytest.raises(LookupError, match="3 tasks"):
        corridor.reset(options={"task": task})


@pytest.mark.parametrize("task", [True, np.bool_(True), None, 1.0, b"corridor-3", ["corridor-3"]])
def test_task_of_a_wrong_type(corridor: CorridorEnv, task: Any) -> None:
    with pytest.raises(TypeError, match="a task is an id or an index, not"):
        corridor.reset(options={"task": task})


def test_failed_reset_loses_nothing(corridor: CorridorEnv) -> None:
    corridor.reset(seed=0, options={"task": 1})
    before, follow = corridor.state_digest, corridor.fork(1)[0].reset()[1]["task_id"]
    for options in ({"task": "nowhere"}, {"task": True}, {"tsak": 0}):
        with pytest.raises((LookupError, TypeError)):
            corridor.reset(seed=5, options=options)
    assert corridor.state_digest == before
    assert corridor.reset()[1]["task_id"] == follow


def test_unknown_options_and_arguments() -> None:
    with pytest.raises(TypeError, match="unknown reset option 'tsak'; known: task"):
        CorridorEnv().reset(options={"tsak": 0})
    with pytest.raises(ValueError, match="max_steps must be at least 1, not 0"):
        CorridorEnv(max_steps=0)
    with pytest.raises(ValueError, match="unknown render_mode 'human'; known: 'ansi'"):
        CorridorEnv(render_mode="human")


def test_horizon_truncates_and_then_a_reset_is_needed() -> None:
    env = CorridorEnv(max_steps=3)
    env.reset(seed=0, options={"task": 2})
    ends = [env.step("left")[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\)"):
        env.step("left")
    over = env.snapshot()
    env.reset()
    env.restore(over)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("left")


def test_success_at_the_horizon_is_terminated_not_truncated() -> None:
    env = CorridorEnv(max_steps=2)
    seed = next(seed for seed in range(100) if env.reset(seed=seed, options={"task": 0})[0] == "0 of 2")
    env.reset(seed=seed, options={"task": 0})
    assert env.step("right")[1:4] == (0.0, False, False)
    observation, reward, terminated, truncated, info = env.step("right")
    assert (observation, reward, terminated, truncated) == ("2 of 2", 1.0, True, False)
    assert info == {
        "task_id": "corridor-2",
        "step": 2,
        "success": True,
        "score": 1.0,
        "admissible_actions": ("left", "right"),
    }


def test_before_the_reset(corridor: CorridorEnv) -> None:
    for call in (lambda: corridor.step("left"), corridor.snapshot, lambda: corridor.fork(1)):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\)"):
            call()


@pytest.mark.parametrize("action", ["", "jump", "right\n", "é" * 10_000, "\ud800"])
def test_malformed_action_costs_a_step_only(corridor: CorridorEnv, action: str) -> None:
    observation, _ = corridor.reset(seed=0)
    after, reward, terminated, truncated, info = corridor.step(action)
    assert (after, reward, terminated, truncated, info["step"]) == (observation, 0.0, False, False, 1)
    assert info["problem"] == "unknown action"
    assert "problem" not in corridor.step("left")[4]


def test_action_that_is_no_string_is_refused_and_costs_nothing(corridor: CorridorEnv) -> None:
    corridor.reset(seed=0)
    before = corridor.state_digest
    with pytest.raises(TypeError, match="an action is a string, not int"):
        corridor.step(1)  # type: ignore[arg-type]
    assert corridor.state_digest == before


def test_fork_counts(corridor: CorridorEnv) -> None:
    corridor.reset(seed=0)
    assert corridor.fork(0) == []
    with pytest.raises(ValueError, match="-1"):
        corridor.fork(-1)


def test_unseeded_resets_continue_the_seed_in_a_fork_too(corridor: CorridorEnv) -> None:
    corridor.reset(seed=3)
    (child,) = corridor.fork(1)
    mine = [corridor.reset()[0] for _ in range(20)]
    assert mine == [child.reset()[0] for _ in range(20)]
    assert len(set(mine)) > 1


def test_snapshot_of_another_world_is_refused(corridor: CorridorEnv) -> None:
    corridor.reset(seed=0)
    before = corridor.state_digest
    with pytest.raises(SnapshotMismatch, match="'elsewhere' given to an environment of 'corridor'"):
        corridor.restore(Snapshot("elsewhere", corridor.snapshot().state, ("", {})))
    assert corridor.state_digest == before


def test_render_is_the_last_observation() -> None:
    env = CorridorEnv(render_mode="ansi")
    observation, _ = env.reset(seed=0)
    assert env.render() == observation
    assert CorridorEnv().render() is None


def test_restore_brings_back_the_tasks_that_later_resets_draw(corridor: CorridorEnv) -> None:
    corridor.reset(seed=3)
    here = corridor.snapshot()
    drawn = [corridor.reset() for _ in range(8)]
    corridor.restore(here)
    assert [corridor.reset() for _ in range(8)] == drawn
    corridor.reset(seed=4)
    corridor.restore(here)
    assert [corridor.reset() for _ in range(8)] == drawn

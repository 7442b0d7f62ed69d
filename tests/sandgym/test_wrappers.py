"""The contract for Gymnasium's own environments, their standard wrappers included."""

import io
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit, TransformReward

from sandgym import check_snapshottable_env
from sandgym.core import SnapshotMismatch
from sandgym.layers import layers_of
from sandgym.wrappers import DeepCopySnapshots, ReplayDivergedError, ReplaySnapshots

WRAPPERS = [DeepCopySnapshots, ReplaySnapshots]
LEFT, DOWN, RIGHT = 0, 1, 2
FROZEN_LAKE_WIN = [DOWN, DOWN, RIGHT, RIGHT, DOWN, RIGHT]  # SFFF FHFH FFFH HFFG, not slippery
FROZEN_LAKE_HOLE = [RIGHT, DOWN]


def stack(task: str) -> Any:
    """PassiveEnvChecker, OrderEnforcing, TimeLimit and RecordEpisodeStatistics around the environment."""
    return RecordEpisodeStatistics(gym.make(task, max_episode_steps=6))


def bare(task: str) -> Any:
    return gym.make(task).unwrapped


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("make", [bare, gym.make, stack])
@pytest.mark.parametrize("task", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_keeps_the_contract(task: str, make: Any, wrapper: Any) -> None:
    check_snapshottable_env(wrapper(make(task)), episodes=3, max_steps=12)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_same_as_the_plain_environment(wrapper: Any) -> None:
    plain, env = (gym.make("FrozenLake-v1", map_name="8x8") for _ in range(2))
    env = wrapper(env)
    assert plain.reset(seed=5)[0] == env.reset(seed=5)[0]
    for _ in range(9):  # slips along the first column, which has no hole
        expected, seen = plain.step(LEFT), env.step(LEFT)
        assert seen[:4] == (expected[0], float(expected[1]), *expected[2:4])
        assert expected[4].items() <= seen[4].items()


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_time_limit_and_statistics_go_on_from_the_snapshot(wrapper: Any) -> None:
    env, other = wrapper(stack("CartPole-v1")), wrapper(stack("CartPole-v1"))
    env.reset(seed=1)
    for action in (0, 1, 0, 1):
        env.step(action)
    saved = env.snapshot()
    for resumed in (env, env, other, env.fork(1)[0]):
        resumed.restore(saved)  # ``other`` was never reset: OrderEnforcing's flag is in the snapshot
        assert resumed.step(0)[2:4] == (False, False)
        _, _, terminated, truncated, info = resumed.step(1)
        assert (terminated, truncated) == (False, True)
        assert info["episode"] == {"r": 6.0, "l": 6}  # no time of the clock
        assert (info["step"], info["task_id"], info["success"], info["score"]) == (6, "CartPole-v1", False, 0.0)
        with pytest.raises(gym.error.ResetNeeded):
            resumed.step(0)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_forks_of_a_stochastic_environment_see_the_same_slips(wrapper: Any) -> None:
    env = wrapper(gym.make("FrozenLake-v1", map_name="8x8"))
    env.reset(seed=3)
    env.step(LEFT)
    one, two = env.fork(2)
    walks = [[walker.step(LEFT)[0] for _ in range(8)] for walker in (one, env, two)]
    assert walks[0] == walks[1] == walks[2]
    assert one.state_digest == env.state_digest == two.state_digest
    one.step(DOWN)
    assert one.state_digest != env.state_digest == two.state_digest


def test_digest_has_the_elapsed_steps_and_the_generator_but_no_past_episodes() -> None:
    env = DeepCopySnapshots(stack("FrozenLake-v1"))
    env.reset(seed=0)
    fresh = env.state_digest
    for _ in range(3):
        env.reset(seed=9)
        while not any(env.step(DOWN)[2:4]):
            pass
    env.reset(seed=0)
    assert env.state_digest == fresh
    assert env.env.episode_count == 3
    env.reset(seed=1)
    assert env.state_digest != fresh  # the same square, another generator
    env.restore(env.snapshot())
    limit = next(layer for layer in layers_of(env.env) if isinstance(layer, TimeLimit))
    before = env.state_digest
    limit._elapsed_steps = 1
    assert env.state_digest != before


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(("actions", "won"), [(FROZEN_LAKE_WIN, True), (FROZEN_LAKE_HOLE, False)])
def test_success_is_the_reward_threshold(wrapper: Any, actions: list[int], won: bool) -> None:
    env = wrapper(gym.make("FrozenLake-v1", is_slippery=False))
    _, info = env.reset(seed=0)
    assert (info["success"], info["score"], info["step"]) == (False, 0.0, 0)
    for action in actions:
        _, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["success"], info["score"]) == (float(won), True, won, float(won))


def test_success_without_a_threshold_is_a_positive_return() -> None:
    env = DeepCopySnapshots(gym.make("Blackjack-v1"))
    seen = set()
    for seed in range(40):
        env.reset(seed=seed)
        _, reward, terminated, _, info = env.step(0)
        assert terminated
        assert info["success"] is (reward > 0)
        seen.add(reward)
    assert {1.0, -1.0} <= seen


def test_success_and_score_can_be_given() -> None:
    env = DeepCopySnapshots(
        gym.make("CartPole-v1"),
        success=lambda progress: progress.total >= 2,
        score=lambda progress: progress.total / 500,
    )
    env.reset(seed=0)
    assert env.step(0)[4]["success"] is False
    info = env.step(1)[4]
    assert info["success"] is True
    assert info["score"] == 2 / 500


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_only_task_is_the_environment(wrapper: Any) -> None:
    env = wrapper(gym.make("Blackjack-v1"))
    for task in ("Blackjack-v1", 0, np.int64(0)):
        assert env.reset(seed=0, options={"task": task})[1]["task_id"] == "Blackjack-v1"
    for task in ("Blackjack-v0", 1, True):
        with pytest.raises(LookupError, match="the only one is 'Blackjack-v1'"):
            env.reset(options={"task": task})


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_before_the_reset_and_bad_counts(wrapper: Any) -> None:
    env = wrapper(gym.make("Blackjack-v1"))
    for call in (lambda: env.step(0), env.snapshot, lambda: env.fork(1), lambda: env.state_digest):
        with pytest.raises(gym.error.ResetNeeded):
            call()
    env.reset(seed=0)
    assert env.fork(0) == []
    with pytest.raises(ValueError, match="-1"):
        env.fork(-1)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_snapshot_of_another_environment_is_refused(wrapper: Any) -> None:
    env = wrapper(gym.make("FrozenLake-v1", is_slippery=False))
    env.reset(seed=0)
    for other in (gym.make("FrozenLake-v1"), gym.make("CartPole-v1"), gym.make("FrozenLake-v1").unwrapped):
        with pytest.raises(SnapshotMismatch):
            wrapper(other).restore(env.snapshot())


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_what_the_caller_does_to_an_observation_stays_with_him(wrapper: Any) -> None:
    env = wrapper(gym.make("CartPole-v1"))
    observation, info = env.reset(seed=0)
    before = observation.copy()
    observation[:] = 7
    info["mine"] = 1
    assert np.array_equal(env.restore(env.snapshot())[0], before)
    assert "mine" not in env.restore(env.snapshot())[1]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_sampling_actions_moves_no_state(wrapper: Any) -> None:
    env = wrapper(gym.make("FrozenLake-v1"))
    env.reset(seed=0)
    before = env.state_digest
    env.action_space.seed(4)
    env.action_space.sample()
    assert env.state_digest == before


def test_unseeded_resets_follow_from_the_last_seed_and_are_replayed() -> None:
    one, two = (ReplaySnapshots(gym.make("CartPole-v1")) for _ in range(2))
    one.reset(seed=11), two.reset(seed=11)
    first = [one.reset()[0].tolist() for _ in range(3)]
    assert first == [two.reset()[0].tolist() for _ in range(3)]
    assert len({tuple(start) for start in first}) == 3
    unseeded = ReplaySnapshots(gym.make("CartPole-v1"))
    start, _ = unseeded.reset()
    saved = pickle.loads(pickle.dumps(unseeded.snapshot()))
    assert np.array_equal(two.restore(saved)[0], start)
    assert np.array_equal(two.reset()[0], unseeded.reset()[0])


class Drifting(gym.Env[int, int]):
    """Counts its resets, and shows the count from the first step on."""

    observation_space = gym.spaces.Discrete(1000)
    action_space = gym.spaces.Discrete(2)
    resets = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.resets += 1
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return self.resets, 0.0, False, False, {}


def test_replay_refuses_an_environment_that_is_not_deterministic() -> None:
    env = ReplaySnapshots(Drifting())
    env.reset(seed=0)
    start = env.snapshot()
    env.step(0)
    later = env.snapshot()
    env.restore(start)  # nothing to see yet
    with pytest.raises(ReplayDivergedError, match="Drifting is not deterministic"):
        env.restore(later)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    env.step(0)


def test_replay_forks_by_make_when_there_is_no_spec() -> None:
    env = ReplaySnapshots(Drifting())
    env.reset(seed=0)
    with pytest.raises(gym.error.Error, match="make="):
        env.fork(1)
    env = ReplaySnapshots(Drifting(), make=Drifting)
    env.reset(seed=0)
    assert env.fork(1)[0].env is not env.env


class WithOpenFile(Drifting):
    def __init__(self) -> None:
        self.file = io.TextIOWrapper(io.BytesIO())


def test_copy_names_the_way_out_when_the_state_cannot_be_pickled() -> None:
    env = DeepCopySnapshots(WithOpenFile())
    env.reset(seed=0)
    with pytest.raises(TypeError, match="use ReplaySnapshots"):
        env.snapshot()


def test_functions_of_a_wrapper_are_constants() -> None:
    env = DeepCopySnapshots(TransformReward(gym.make("CartPole-v1"), lambda reward: reward / 2))
    env.reset(seed=0)
    (child,) = env.fork(1)
    assert child.step(0)[1] == 0.5


def test_an_open_window_is_no_state() -> None:
    pytest.importorskip("pygame")
    env = DeepCopySnapshots(gym.make("FrozenLake-v1", render_mode="rgb_array"))
    env.reset(seed=0)
    before = env.state_digest
    picture = env.render()
    assert env.state_digest == before
    (child,) = env.fork(1)
    assert np.array_equal(child.render(), picture)
    env.restore(env.snapshot())
    assert np.array_equal(env.render(), picture)

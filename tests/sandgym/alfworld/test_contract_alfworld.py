"""The contract on real games: random commands, snapshots anywhere, forks, processes, threads."""

import functools
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest
from contract import Env, check_again, check_resume, check_siblings, check_threads, record
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from sandgym import ENV_IDS, check_snapshottable_env
from sandgym.conformance.fresh import FreshProcess

ALFWORLD = ENV_IDS["alfworld"]
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"split": "valid_seen"},
    "facts": {"split": "valid_unseen", "infos": ("facts",), "grammar": "both"},
    "shuffled": {"split": "train", "domain_randomization": True, "grammar": "put", "observation_mode": "compact"},
}
MALFORMED = ("", " ", "Look", "look ", "go to desk", "examine", "\n", "x" * 10_000, "é", "put mug 1 in/on desk 1")


def make(folder: str, variant: str = "plain") -> Env:
    env = gymnasium.make(ALFWORLD, data=folder, max_steps=12, **VARIANTS[variant])
    return env  # type: ignore[return-value]


@pytest.fixture(scope="module", params=VARIANTS)
def house(request: Any, real_folder: Any) -> Iterator[tuple[list[Env], FreshProcess]]:
    here = functools.partial(make, str(real_folder), request.param)
    with FreshProcess(here) as process:
        yield [here(), here()], process


# A number takes that admissible command of the present state; a text is the action itself.
choices = st.lists(st.integers(0, 60) | st.sampled_from(MALFORMED) | st.text(max_size=30), min_size=1, max_size=12)


def choose(choice: int | str, info: dict[str, Any]) -> str:
    commands = info["admissible_actions"]
    return choice if isinstance(choice, str) else commands[-1 - choice % len(commands)]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), task=st.integers(0, 119), choices=choices, data=st.data())
def test_contract(house: Any, seed: int, task: int, choices: list[Any], data: Any) -> None:
    (env, used), process = house
    episode = record(env, seed, {"task": task}, choices, choose)
    step = data.draw(st.integers(0, len(episode.actions)), label="step")
    check_again(used, process, episode)
    check_resume([env, used], process, episode, step)
    k = data.draw(st.integers(1, 3), label="k")
    check_siblings(env, episode, step, k, data.draw(st.lists(st.integers(0, k), max_size=20), label="turns"))


def test_threads(real_folder: Any) -> None:
    here = functools.partial(make, str(real_folder), "shuffled")
    script = [3, 40, 0, 1, 2, "look", 7, 6, 1, 0, 3, 9]
    check_threads(here, [record(here(), seed, None, script, choose) for seed in range(4)])


@pytest.mark.parametrize("variant", VARIANTS)
def test_conformance(real_folder: Any, variant: str) -> None:
    check_snapshottable_env(make(str(real_folder), variant), episodes=3)


def test_conformance_through_a_won_game(real_folder: Any) -> None:
    env = gymnasium.make(ALFWORLD, data=real_folder, split="valid_seen")
    env.reset(seed=0)
    walkthrough = env.unwrapped.game.walkthrough
    episode = record(env, 0, None, walkthrough, choose)
    assert episode.played.results[-1].terminated
    assert episode.played.results[-1].info["won"]
    check_snapshottable_env(
        gymnasium.make(ALFWORLD, data=real_folder, split="valid_seen"), actions=walkthrough, episodes=1
    )


def test_gymnasium_s_own_check_has_no_complaint(real_folder: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ALFWORLD, data=real_folder, split="valid_seen"))


def test_a_snapshot_of_another_data_set_or_option_is_refused(real_folder: Any) -> None:
    env = make(str(real_folder))
    env.reset(seed=0)
    others = [make(str(real_folder), "facts")]
    changed: list[dict[str, Any]] = [{"grammar": "put"}, {"max_steps": 11}, {"task_types": (1,)}, {"infos": "facts"}]
    others += [
        gymnasium.make(ALFWORLD, **{"data": real_folder, "split": "valid_seen", "max_steps": 12} | c) for c in changed
    ]
    for other in others:
        with pytest.raises(gymnasium.error.Error, match="snapshot of"):
            other.restore(env.snapshot())


def test_environments_can_be_pickled(real_folder: Any) -> None:
    env = make(str(real_folder)).unwrapped
    env.reset(seed=3)
    copy = pickle.loads(pickle.dumps(env))
    for command in ("look", "inventory", env.game.walkthrough[0]):
        assert copy.step(command) == env.step(command)


@pytest.mark.parametrize("vectorization_mode", ["sync", "async"])
def test_vector_environments_see_what_single_ones_see(real_folder: Any, vectorization_mode: str) -> None:
    kwargs = {"data": real_folder, "split": "valid_seen"}
    vector = gymnasium.make_vec(ALFWORLD, num_envs=2, vectorization_mode=vectorization_mode, **kwargs)
    singles = [gymnasium.make(ALFWORLD, **kwargs) for _ in range(2)]
    try:
        observations, infos = vector.reset(seed=[5, 6])
        expected = [single.reset(seed=seed) for single, seed in zip(singles, (5, 6), strict=True)]
        assert observations == tuple(observation for observation, _ in expected)
        assert list(infos["task_id"]) == [info["task_id"] for _, info in expected]
        assert [tuple(each) for each in infos["admissible_commands"]] == [i["admissible_commands"] for _, i in expected]
        for action in ("look", "go to garbagecan 1", "nonsense é", "help"):
            observations, rewards, terminated, truncated, _ = vector.step((action, action))
            steps = [single.step(action) for single in singles]
            assert observations == tuple(step[0] for step in steps)
            assert [rewards.tolist(), terminated.tolist(), truncated.tolist()] == [
                [s[i] for s in steps] for i in (1, 2, 3)
            ]
    finally:
        vector.close()

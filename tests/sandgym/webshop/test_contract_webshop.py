"""The contract on WebShop's bundled catalogue: random actions, snapshots anywhere, forks, processes, threads."""

import functools
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

WEBSHOP = ENV_IDS["webshop"]
MODES = ("text", "text_rich", "html", "url")
WORDS = (
    *("red", "boots", "for women", "lamp", "honey", "organic cotton"),
    *("item_page", "<r>", "<c> grocery", "<a> x", "é", ""),
)
MALFORMED = (
    *("", "search[]", "search[ ]", "SEARCH[tea]", "click[]", "click[nothing]"),
    *("Click[buy now]", "buy now", "[", "\n", "search[red\ntea]", "x" * 10_000),
)


def make(mode: str = "text") -> Env:
    env = gymnasium.make(WEBSHOP, observation_mode=mode, max_steps=12)
    return env  # type: ignore[return-value]


@pytest.fixture(scope="module", params=MODES)
def shop(request: Any) -> Iterator[tuple[list[Env], FreshProcess]]:
    here = functools.partial(make, request.param)
    with FreshProcess(here) as process:
        yield [here(), here()], process


# A number clicks that clickable of the present page; a text is the action itself.
choices = st.lists(
    st.integers(0, 40)
    | st.sampled_from(MALFORMED)
    | st.lists(st.sampled_from(WORDS), max_size=4).map(lambda words: f"search[{' '.join(words)}]")
    | st.text(max_size=30)
    | st.text(max_size=20).map("search[{}]".format),
    min_size=1,
    max_size=12,
)


def choose(choice: int | str, info: dict[str, Any]) -> str:
    if isinstance(choice, str):
        return choice
    clickables = info["clickables"]
    clicked = clickables[choice % len(clickables)] if clickables else "nothing"
    return "search[red boots]" if clicked == "search" else f"click[{clicked}]"


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), goal=st.integers(0, 400), choices=choices, data=st.data())
def test_contract(shop: Any, seed: int, goal: int, choices: list[Any], data: Any) -> None:
    (env, used), process = shop
    episode = record(env, seed, {"task": goal}, choices, choose)
    step = data.draw(st.integers(0, len(episode.actions)), label="step")
    check_again(used, process, episode)
    check_resume([env, used], process, episode, step)
    k = data.draw(st.integers(1, 3), label="k")
    check_siblings(env, episode, step, k, data.draw(st.lists(st.integers(0, k), max_size=20), label="turns"))


def test_threads() -> None:
    env = make()
    script = ["search[red boots]", 2, 5, 7, 6, 1, "search[tea]", 3, 9, 4, 3, 2]
    check_threads(make, [record(env, seed, None, script, choose) for seed in range(4)])


@pytest.mark.parametrize("mode", MODES)
def test_conformance(mode: str) -> None:
    check_snapshottable_env(make(mode), episodes=3)


def test_conformance_through_a_purchase() -> None:
    episode = record(make(), 0, None, ["search[red boots]", 3, "click[buy now]"], choose)
    assert episode.played.results[-1].terminated
    assert episode.played.results[-1].info["reward_details"]
    check_snapshottable_env(make(), actions=episode.actions, episodes=1)


def test_gymnasium_s_own_check_has_no_complaint() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(WEBSHOP))


@pytest.mark.parametrize("vectorization_mode", ["sync", "async"])
def test_vector_environments_see_what_single_ones_see(vectorization_mode: str) -> None:
    script = ["search[red shoes é]", "click[next >]", "nonsense", "click[back to search]"]
    vector = gymnasium.make_vec(WEBSHOP, num_envs=2, vectorization_mode=vectorization_mode, split="dev")
    singles = [gymnasium.make(WEBSHOP, split="dev") for _ in range(2)]
    try:
        observations, infos = vector.reset(seed=[5, 6])
        expected = [single.reset(seed=seed) for single, seed in zip(singles, (5, 6), strict=True)]
        assert observations == tuple(observation for observation, _ in expected)
        assert list(infos["task_id"]) == [info["task_id"] for _, info in expected]
        for action in script:
            observations, rewards, terminated, truncated, _ = vector.step((action, action))
            steps = [single.step(action) for single in singles]
            assert observations == tuple(step[0] for step in steps)
            assert [rewards.tolist(), terminated.tolist(), truncated.tolist()] == [
                [s[i] for s in steps] for i in (1, 2, 3)
            ]
    finally:
        vector.close()

"""The expert: perfect without noise, human with it, and a function of what it sees."""

import gymnasium
import numpy as np
import pytest

import sandgym  # noqa: F401  registers the environment
from sandgym.webshop.assortment import KINDS


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDGYM_DATA", str(tmp_path_factory.mktemp("data")))
        yield lambda **kwargs: gymnasium.make("sandgym/WebShop-v0", **kwargs).unwrapped


def play(env, expert, task=None):
    """Actions and last info of an episode, from the present state or from a task's start."""
    if task is not None:
        env.reset(options={"task": task})
    actions, over = [], False
    while not over:
        actions.append(expert.act())
        _, _, terminated, truncated, info = env.step(actions[-1])
        assert info["action_valid"], actions
        over = terminated or truncated
    return actions, info


def test_every_bundled_goal_is_reached(make):
    env = make(split="all")
    expert = env.expert()
    assert len(env.task_ids) >= 1800
    for task in env.task_ids:
        actions, info = play(env, expert, task)
        assert info["score"] == 1.0, (task, actions)
        assert info["success"], task
        assert len(actions) <= 6


def test_it_speaks_as_the_page_does(make):
    env = make(split="dev")
    for task in range(20):
        observation, _ = env.reset(options={"task": task})
        expert = env.expert()
        over = False
        while not over:
            action = expert.act()
            if action.startswith("click["):
                assert action[6:-1] in observation.split(" [SEP] ")
            observation, _, over, _, _ = env.step(action)


def test_its_queries_are_words_of_the_instruction(make):
    env = make(split="dev")
    for task in range(100):
        env.reset(options={"task": task})
        query = env.expert().act().removeprefix("search[").removesuffix("]")
        assert set(query.split()) <= set(env.goal.instruction_text.replace(",", "").lower().split())
        assert env.goal.query in query


SCRAPES = {
    "a useless search": ["search[zzz]"],
    "another kind of product": [f"search[{KINDS[0].query}]"],
    "a late page": ["search[{query}]", "click[Next >]", "click[Next >]", "click[Next >]"],
    "a page past the end": ["search[{query}]", *["click[Next >]"] * 6],
    "a wrong product": ["search[{query}]", "{wrong}"],
    "a wrong product's description": ["search[{query}]", "{wrong}", "click[Description]"],
    "nothing understood": ["hello", "click[nothing]"],
}


@pytest.mark.parametrize("scrape", SCRAPES, ids=str)
def test_it_gets_out_of_any_scrape(make, scrape):
    env = make(split="dev", max_steps=15)
    for task in range(0, 100, 10):
        env.reset(options={"task": task})
        for action in SCRAPES[scrape]:
            shown = env.snapshot().last[1]["clickables"]
            wrong = [name for name in shown if name.startswith("b0") and name != env.goal.asin.lower()]
            env.step(action.format(query=env.goal.query, wrong=f"click[{wrong[-1]}]" if wrong else ""))
        _, info = play(env, env.expert())
        assert info["score"] == 1.0, (scrape, task)


def test_it_corrects_a_wrong_option(make):
    env = make(split="dev")
    corrected = 0
    for task in range(100):
        env.reset(options={"task": task})
        expert = env.expert()
        env.step(expert.act())
        env.step(expert.act())
        offered = env.catalogue[env.state.product].options
        for name, value in env.goal.goal_options.items():
            if wrong := [other for other in offered[name] if other != value]:
                env.step(f"click[{wrong[0]}]")
                corrected += 1
        _, info = play(env, expert)
        assert info["score"] == 1.0
    assert corrected > 50


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_its_actions_follow_from_seed_and_state_alone(make, noise):
    env = make(split="train")
    for task in range(40):
        actions, _ = play(env, env.expert(noise=noise, seed=7), task)
        env.reset(seed=task, options={"task": task})
        for action in actions:
            (sibling,) = env.fork(1)
            assert sibling.expert(noise=noise, seed=7).act() == action
            assert env.expert(noise=noise, seed=7).act() == action
            env.step(action)


def test_seeds_differ(make):
    env = make(split="train")
    played = [[tuple(play(env, env.expert(noise=0.5, seed=seed), task)[0]) for task in range(30)] for seed in (0, 1)]
    assert sum(a != b for a, b in zip(*played, strict=True)) > 15


def test_noise_costs_success_but_not_sense(make):
    env = make(split="train")
    scores = {}
    for noise in (0.0, 0.3, 0.6):
        scores[noise] = np.array([play(env, env.expert(noise=noise, seed=3), task)[1]["score"] for task in range(200)])
    success = {noise: float((score == 1).mean()) for noise, score in scores.items()}
    assert success[0.0] == 1.0
    assert 0.4 < success[0.3] < 0.75
    assert 0.05 < success[0.6] < 0.4
    assert scores[0.6].mean() > 0.5


def test_in_haste_it_searches_once_with_words_of_the_instruction_and_buys_from_the_first_page(make):
    env = make(split="train")
    left_out = skipped = 0
    for task in range(60):
        actions, _ = play(env, env.expert(noise=0.4, seed=1), task)
        goal = env.goal
        wish = goal.instruction_text.lower().replace(",", "").replace(":", "").partition(" and price lower")[0].split()
        words = actions[0].removeprefix("search[").removesuffix("]").split()
        remaining = iter(wish)
        assert all(word in remaining for word in words), "in the instruction's order"
        left_out += len(wish) - len(words)
        assert sum(action.startswith("search[") for action in actions) == 1
        assert actions[1].startswith("click[B0")
        assert actions[-1] == "click[Buy Now]"
        skipped += len(goal.goal_options) - (len(actions) - 3)
    assert left_out > 60
    assert skipped > 15


def test_full_noise_still_ends_by_itself_or_by_the_horizon(make):
    env = make(split="dev")
    for task in range(50):
        actions, info = play(env, env.expert(noise=1.0), task)
        assert info["step"] == len(actions) <= 15


def test_bad_arguments_and_a_finished_episode(make):
    env = make(split="dev")
    with pytest.raises(ValueError, match="noise"):
        env.expert(noise=1.5)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.expert().act()
    play(env, env.expert(), 0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.expert().act()

"""Everything that was recorded from the original on the real 1,000 products, to the last byte."""

from __future__ import annotations

import dataclasses
import json

import gymnasium
import parsing
import pytest

import sandgym  # noqa: F401  registers the environment
from sandgym.webshop.navigation import State
from sandgym.webshop.site import site_of
from sandgym.webshop.world import load_world


def as_json(goal):
    return json.loads(json.dumps(dataclasses.asdict(goal)))


def make(folder, mode, **kwargs):
    return gymnasium.make(
        "sandgym/WebShop-v0", data=folder, split="all", observation_mode=mode, session_prefix="url_", **kwargs
    )


@pytest.mark.parametrize("stored", [True, False])
def test_goals_in_order(golden, real_folder, raw_folder, stored):
    folder = real_folder if stored else raw_folder
    synthetic, human = golden("goals_synth_seed0"), golden("goals_human13_seed0")
    assert (len(synthetic), len(human)) == (6910, 13)
    assert [as_json(goal) for goal in load_world(folder).goals] == synthetic
    assert [as_json(goal) for goal in load_world(folder, "human").goals] == human


@pytest.mark.parametrize("stored", [True, False])
def test_prices(golden, real_folder, raw_folder, stored):
    catalogue = load_world(real_folder if stored else raw_folder).catalogue
    prices = {catalogue[position].asin: catalogue.price(position) for position in range(len(catalogue))}
    assert prices == golden("prices_seed0")


def test_drawn_and_stored_worlds_have_one_key(real_folder, raw_folder):
    assert load_world(real_folder).key == load_world(raw_folder).key
    assert load_world(raw_folder, price_seed=1).key != load_world(raw_folder).key
    assert load_world(raw_folder, "human").key != load_world(raw_folder).key


def test_rewards_and_their_parts(golden, real_folder):
    sites = {
        "goal": site_of(load_world(real_folder), False, False),
        "human_goal": site_of(load_world(real_folder, "human"), False, False),
    }
    cases = golden("rewards")
    assert len(cases) == 800
    for case in cases:
        kind = "goal" if "goal" in case else "human_goal"
        position = sites[kind].world.catalogue.index(case["asin"])
        state = State(product=position, options=tuple(case["options"].items()))
        reward, details = sites[kind].purchase(case[kind], state)
        assert (reward, details, list(details)) == (case["reward"], case["info"], list(case["info"]))


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("mode", ["text", "text_rich", "url"])
def test_traces(golden, real_folder, mode, compat):
    env = make(real_folder, mode, compat=compat)
    traces = golden("traces")
    assert (len(traces), sum(len(trace["steps"]) for trace in traces)) == (16, 184)
    for trace in traces:
        observation, info = env.reset(options={"task": f"goal-{trace['goal']}"})
        assert observation == trace["reset"]["obs"][mode]
        assert offered(info) == trace["reset"]["avail"]
        for step in trace["steps"]:
            observation, reward, terminated, truncated, info = env.step(step["action"])
            assert observation == step["obs"][mode]
            assert (reward, terminated, truncated) == (step["reward"], step["done"], False)
            assert offered(info) == step["avail"]


def test_html_of_the_traces_says_the_same(golden, real_folder):
    env = make(real_folder, "html")
    for trace in golden("traces"):
        html, _ = env.reset(options={"task": trace["goal"]})
        for step in (trace["reset"], *trace["steps"]):
            if "action" in step:
                html = env.step(step["action"])[0]
            recorded = step["obs"]
            assert parsing.text(html) == recorded["text"]
            assert parsing.text_rich(html, recorded["url"], env.unwrapped.state.visited) == recorded["text_rich"]
            assert parsing.available(html) == step["avail"]


def test_every_admissible_action_does_something(golden, real_folder):
    env = make(real_folder, "text", max_steps=10_000)
    for trace in golden("traces"):
        env.reset(options={"task": trace["goal"]})
        for step in trace["steps"][:-1]:
            info = env.step(step["action"])[4]
            for action in info["admissible_actions"]:
                (branch,) = env.fork(1)
                assert branch.step(action)[4]["action_valid"]


def offered(info):
    return {"has_search_bar": info["has_search_bar"], "clickables": list(info["clickables"])}

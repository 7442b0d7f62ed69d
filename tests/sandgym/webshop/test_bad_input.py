"""Bad actions cost a step and change nothing; bad arguments and data are errors that say what to do."""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import pytest
from shop import SHOP, SHOP_NOUNS

from sandgym.core import SandboxError
from sandgym.webshop.nouns import title_nouns


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(
    "action",
    [
        *("", " ", "\n", "search", "search[]", "click[]", "[x]", "[]", "foo[lamp]", "SEARCH[lamp]", " search[lamp]"),
        *("search[red\nlamp]", "search[a[b]c]", "foo[search[lamp]]", "think[lamp]", "Click[Back to Search]"),
        *("click[no such thing]", "click[search]", "click[buy now]", "click[b000000009]", "a" * 10_000),
        *("click[" + "x" * 10_000 + "]", "[" * 10_000, "\x00", "\ud800"),
    ],
)
def test_an_action_that_does_nothing_costs_a_step(make, action, compat):
    env = make(compat=compat)
    before = env.reset(options={"task": 0})
    before_results = env.step("search[shirt]")
    observation, reward, terminated, truncated, info = env.step(action)
    assert (observation, reward, terminated, truncated) == (before_results[0], 0.0, False, False)
    assert info == before_results[4] | {"step": 2, "action_valid": False}
    env.reset(options={"task": 0})
    observation, *_, info = env.step(action)
    assert observation == before[0]
    assert info == before[1] | {"step": 1, "action_valid": False}


@pytest.mark.parametrize(
    ("action", "total"),
    [
        ("search[ ]", 0),
        ("search[zzzz]", 0),
        ("search[!?]", 0),
        ("search[the]", 0),
        ("search[\ud800]", 0),
        ("search[\x00]", 0),
        ("search[shirt] and more", 1),
        ("search[shirt]\nclick[b000000003]", 1),
        ("search[" + "shirt " * 2000 + "]", 1),
        ("search[<r>]", 3),
        ("search[<a>]", 0),
        ("search[<c>]", 0),
        ("search[<q>]", 0),
        ("search[<x> shirt]", 1),
    ],
)
def test_odd_searches_give_a_page(make, action, total):
    env = make()
    env.reset(options={"task": 0})
    observation, reward, terminated, _, info = env.step(action)
    assert f"Page 1 (Total results: {total})" in observation
    assert (reward, terminated, info["action_valid"]) == (0.0, False, True)


def test_pages_past_the_end_are_empty(make):
    env = make()
    env.reset(options={"task": 0})
    env.step("search[lamp]")
    for number in range(2, 9):
        observation, *_, info = env.step("click[next >]")
        assert f"Page {number} (Total results: 3)" in observation
        assert info["clickables"] == ("back to search", "< prev", "next >")


def test_tasks(make):
    env = make()
    for task in (1, np.int64(1), np.uint8(1), "goal-1"):
        assert env.reset(options={"task": task})[1]["task_id"] == "goal-1"
    for task in (4, -1, np.int64(99), 10**30, "goal-4", "goal--1", "goal-01", "goal-", "1", "goal-1 ", "goal-１", ""):
        with pytest.raises(LookupError, match="this split"):
            env.reset(options={"task": task})
    for task in (1.0, None, True, ["goal-1"]):
        with pytest.raises(TypeError, match="a task is an id or an index"):
            env.reset(options={"task": task})
    assert env.reset(options={"task": 1})[1]["task_id"] == "goal-1"
    with pytest.raises(TypeError, match=r"unknown reset option 'goal'; known: task"):
        env.reset(options={"goal": 1})


def test_step_before_reset_and_after_the_end(make):
    env = make()
    for call in (lambda: env.step("search[x]"), env.snapshot, lambda: env.fork(1), lambda: env.unwrapped.goal):
        with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
            call()
    env.reset(options={"task": 0})
    for action in ("search[shirt]", "click[b000000003]", "click[buy now]"):
        env.step(action)
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        env.step("search[shirt]")
    env.reset(options={"task": 0})
    with pytest.raises(TypeError, match="an action is a string, not int"):
        env.step(3)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"observation_mode": "json"}, ValueError, "known: text, text_rich, html, url"),
        ({"split": "validation"}, ValueError, "unknown split 'validation'; known: test, dev, train, all"),
        ({"goals": "robot"}, ValueError, "unknown goals 'robot'; known: synthetic, human"),
        ({"goals": "human", "split": "dev"}, ValueError, "split 'dev' of 1 goals is empty; use split='all'"),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1"),
        ({"previous_actions": -1}, ValueError, "must not be negative"),
        ({"num_products": 1000}, TypeError, "unknown WebShop argument 'num_products'; known: compat, data, goals"),
    ],
)
def test_arguments(make, kwargs, error, message):
    with pytest.raises(error, match=message):
        make(**kwargs)


def test_missing_data_says_what_to_run(make, tmp_path, monkeypatch):
    with pytest.raises(SandboxError, match=r"no items_shuffle\*\.json.*sandgym data download webshop"):
        make(data=tmp_path / "nowhere")
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "empty"))
    with pytest.raises(SandboxError, match="sandgym data download webshop"):
        make(data="official")


@pytest.mark.parametrize(
    ("files", "goals", "message"),
    [
        ({"items_ins_v2": None}, "synthetic", r"items_ins_v2\*\.json is missing"),
        ({"items_human_ins": None}, "human", "human goals need items_human_ins.json"),
        ({"nouns": None}, "synthetic", "no title nouns for product 'B000000001'.*sandgym data build"),
        ({"nouns": SHOP_NOUNS | {"B000000002": 3}}, "synthetic", "'B000000002' is malformed"),
        ({"prices": {"B000000001": 3.0}}, "synthetic", "prices.json lacks 2 products, the first 'B000000002'"),
        ({"goals": []}, "synthetic", "holds no goal"),
        ({"goals": [{"asin": "B1"}]}, "synthetic", "goal 0 of goals.json must have exactly the keys"),
        ({"splits": {"test": [0, 99]}}, "synthetic", "split 'test' of splits.json must be"),
        ({"items_shuffle": {"a": 1}}, "synthetic", "items_shuffle.json is not readable as JSON"),
        ({"items_shuffle": [SHOP[0], {"asin": "B2"}]}, "synthetic", "'B2' is malformed"),
    ],
)
def test_incomplete_data(write_shop, files, goals, message):
    folder = write_shop(**files)
    with pytest.raises(SandboxError, match=message):
        gymnasium.make("sandgym/WebShop-v0", data=folder, split="all", goals=goals)


def test_without_spacy_nouns_cannot_be_found(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(SandboxError, match=r"sandgym\[nouns\].*sandgym data build"):
        list(title_nouns(["Blue Lamp"]))


def test_goals_of_products_that_are_not_there(write_shop):
    goal = {
        "asin": "B9",
        "category": "c",
        "query": "q",
        "name": "n",
        "product_category": "p",
        "instruction_text": "t",
        "attributes": ["a"],
        "price_upper": 10.0,
        "goal_options": {},
        "weight": 1,
    }
    with pytest.raises(SandboxError, match="names product 'B9', which is not in"):
        gymnasium.make("sandgym/WebShop-v0", data=write_shop(goals=[goal]), split="all")

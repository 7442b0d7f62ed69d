"""Defects of the original: mended by default, reproduced under compat."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from shop import SHOP, SHOP_INS, SHOP_NOUNS, play, raw_product, shirt_goal


def draws(make, compat):
    env = make(compat=compat)
    env.reset(seed=3)
    return [int(env.reset()[1]["task_id"].removeprefix("goal-")) for _ in range(2000)]


def test_draws_follow_the_weights(make):
    shares = np.bincount(draws(make, False), minlength=4) / 2000  # four goals of equal weight
    assert np.abs(shares - 0.25).max() < 0.04


def test_draws_are_off_by_one_under_compat(make):
    shares = np.bincount(draws(make, True), minlength=4) / 2000
    assert np.abs(shares - [0, 0.25, 0.25, 0.5]).max() < 0.04


def test_draws_with_unequal_weights(write_shop):
    rows = [raw_product("B1"), raw_product("B2", query="x")]
    ins = {
        "B1": {"instruction": "one", "instruction_attributes": ["a"]},
        "B2": {"instruction": "two", "instruction_attributes": ["a", "b"]},
    }
    folder = write_shop(items_shuffle=rows, items_ins_v2=ins, nouns={"B1": ["x"], "B2": ["x"]})
    env = gymnasium.make("sandgym/WebShop-v0", data=folder, split="all")
    env.reset(seed=0)
    names = [env.reset()[1]["task_id"] and env.unwrapped.goal.asin for _ in range(2000)]
    assert abs(names.count("B1") / 2000 - 0.5 / (0.5 + 0.75)) < 0.04


def test_routing_by_address_is_mended(make):
    for compat, page in ((False, "item"), (True, "results")):
        env = make(compat=compat)
        env.reset(options={"task": 0})
        play(env, "search[item_page shirt]", "click[b000000003]", "click[description]", "click[< prev]")
        assert env.unwrapped.state.page == page


def test_playing_on_after_a_purchase(make):
    buy = ("search[shirt]", "click[b000000003]", "click[buy now]")
    env = make()
    env.reset(options={"task": shirt_goal(env)})
    first = play(env, *buy)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("search[shirt]")
    env = make(compat=True)
    env.reset(options={"task": shirt_goal(env)})
    play(env, *buy)
    observation, reward, terminated, _, info = env.step("click[back to search]")
    assert (observation, reward, terminated, info["action_valid"]) == (first[0], 0.0, False, False)
    assert play(env, *buy)[:3] == first[:3]


def test_keyword_searches(make):
    def found(action, **kwargs):
        env = make(**kwargs)
        env.reset(options={"task": 0}, seed=1)
        info = env.step(action)[4]
        return info["action_valid"], [name for name in info["clickables"] if name.startswith("b0")]

    lamps = ["b000000001", "b000000002"]
    for action, shown in {
        "search[<q> desk lamps]": lamps,
        "search[<q>  Desk Lamps ]": lamps,
        "search[<c> garden]": lamps,
        "search[<c> garden more]": lamps,
        "search[<c>]": [],
        "search[<a> easy clean]": ["b000000001"],
        "search[<a>]": [],
        "search[<q> nothing]": [],
    }.items():
        assert found(action) == (True, shown), action
    valid, drawn = found("search[<r>]")
    assert valid
    assert sorted(drawn) == [*lamps, "b000000003"]
    assert found("search[<r>]") == (True, drawn)
    for action in ("search[<r>]", "search[<a> easy clean]", "search[<c>]"):  # crashes of the original
        assert found(action, compat=True) == (False, [])
    assert found("search[<c> garden]", compat=True) == (True, lamps)


def test_random_products_are_bounded_and_drawn_again_only_under_compat(write_shop):
    rows = [raw_product(f"B{i}", query="q") for i in range(70)]
    folder = write_shop(
        items_shuffle=[*SHOP, *rows], nouns=SHOP_NOUNS | {row["asin"]: ["x"] for row in rows}, items_ins_v2=SHOP_INS
    )
    for compat in (False, True):
        env = gymnasium.make("sandgym/WebShop-v0", data=folder, split="all", compat=compat, max_steps=50)
        env.reset(options={"task": 0}, seed=5)
        first = play(env, "search[<r>]")
        assert "Total results: 50" in first[0]
        again = play(env, "click[next >]", "click[< prev]")
        assert (again[0] == first[0]) is not compat
        assert ("Total results: 70" in play(env, "search[<q> q]")[0]) is compat

"""The environment: moves, options, mended defects and their compat, copies, splits, other sources of data."""

from __future__ import annotations

import copy
import pickle
import random
import threading
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shop import SHOP, SHOP_INS, SHOP_NOUNS, raw_product

from sandgym import check_snapshottable_env
from sandgym.core import SnapshotMismatch
from sandgym.webshop.build import build_store

SHIRT_PAGE = (
    "Back to Search [SEP] < Prev [SEP] size [SEP] large [SEP] x-large [SEP] fit [SEP] slim | tall [SEP] Cotton Shirt"
    " [SEP] Price: $25.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
)


@pytest.fixture
def make(write_shop):
    folder = write_shop()

    def build(**kwargs):
        return gymnasium.make("sandgym/WebShop-v0", **({"data": folder, "split": "all"} | kwargs))

    return build


def shirt_goal(env):
    """Id of the goal that asks for the large shirt."""
    return next(
        f"goal-{index}"
        for index, goal in enumerate(env.unwrapped.goals)
        if goal.asin == "B000000003" and goal.goal_options.get("size") == "large"
    )


def play(env, *actions):
    for action in actions:
        result = env.step(action)
        assert result[4]["action_valid"], action
    return result


def test_buying_the_right_product(make):
    env = make()
    observation, info = env.reset(options={"task": shirt_goal(env)})
    assert observation.startswith(
        "WebShop [SEP] Instruction: [SEP] Find me a shirt with fit: slim | tall, and size: large"
    )
    assert (info["has_search_bar"], info["clickables"], info["admissible_actions"]) == (True, ("search",), ())
    observation, reward, *_, info = play(env, "search[Cotton SHIRT]")
    assert "Page 1 (Total results: 1) [SEP] Next > [SEP] B000000003 [SEP] Cotton Shirt [SEP] $25.0" in observation
    assert info["admissible_actions"] == ("click[back to search]", "click[next >]", "click[b000000003]")
    observation = play(env, "click[B000000003]")[0]
    assert observation.endswith(SHIRT_PAGE)
    observation, reward, terminated, truncated, info = play(env, "click[large]", "click[Slim | Tall]", "click[Buy Now]")
    assert (reward, terminated, truncated, info["success"], info["score"]) == (1.0, True, False, True, 1.0)
    assert '[SEP] options [SEP] {"fit": "slim | tall", "size": "large"} [SEP]' in observation
    assert info["reward_details"]["r_option"] == 1.0


def test_a_poor_purchase_is_no_success(make):
    env = make()
    env.reset(options={"task": shirt_goal(env)})
    _, reward, terminated, _, info = play(env, "search[lamp]", "click[b000000002]", "click[buy now]")
    assert (reward, terminated, info["success"], info["score"]) == (0.0, True, False, 0.0)
    assert info["reward_details"]["r_type"] == 0.0


def test_what_each_page_keeps(make):
    env = make()
    env.reset(options={"task": 0})
    state = lambda: env.unwrapped.state  # noqa: E731
    play(env, "search[shirt]", "click[b000000003]", "click[large]", "click[slim | tall]", "click[x-large]")
    assert state().options == (("size", "x-large"), ("fit", "slim | tall"))
    assert play(env, "click[features]")[0].endswith("< Prev [SEP] Bright light [SEP] Long cable")
    play(env, "click[< prev]")
    assert (state().page, state().options) == ("item", (("size", "x-large"), ("fit", "slim | tall")))
    play(env, "click[< prev]")
    assert (state().page, state().number, state().options) == ("results", 1, ())
    assert state().visited == {"B000000003"}
    play(env, "click[next >]", "click[next >]", "click[< prev]")
    assert state().number == 2
    play(env, "search[lamp]")
    assert (state().number, state().visited) == (1, {"B000000003"})
    observation = play(env, "click[back to search]")[0]
    assert (state().visited, state().query) == (frozenset(), "")
    assert observation.startswith("WebShop")


def test_an_option_named_like_a_button_acts_as_the_button(write_shop):
    options = {"a": [{"value": "Features"}, {"value": "Search"}, {"value": "Next >"}]}
    folder = write_shop(items_shuffle=[SHOP[0] | {"customization_options": options}, *SHOP[1:]])
    env = gymnasium.make("sandgym/WebShop-v0", data=folder, split="all")
    env.reset(options={"task": 0})
    play(env, "search[blue]", "click[b000000001]", "click[next >]")
    assert env.unwrapped.state.options == (("a", "next >"),)
    assert env.step("click[search]")[4]["action_valid"] is False
    play(env, "click[features]")
    assert env.unwrapped.state.page == "features"


def test_attributes_page(make):
    env = make(show_attributes=True)
    env.reset(options={"task": 0})
    observation = play(env, "search[cotton]", "click[b000000003]", "click[attributes]")[0]
    assert observation.endswith("< Prev [SEP] machine wash [SEP] fashion [SEP] shirts [SEP] Clothing › Men › Shirts")


def test_earlier_observations_and_actions(make):
    plain, env = make(), make(previous_observations=1, previous_actions=2)
    seen = [each.reset(options={"task": 0})[0] for each in (plain, env)]
    assert seen[0] == seen[1]
    alone = [seen[0]]
    for action in ("search[shirt]", "nonsense", "click[next >]"):
        alone.append(plain.step(action)[0])
        observation = env.step(action)[0]
    assert observation == " [SEP] ".join(["nonsense", alone[2], "click[next >]", alone[3]])


def test_horizon(make):
    env = make(max_steps=2)
    env.reset(options={"task": 0})
    assert env.step("search[shirt]")[2:4] == (False, False)
    assert env.step("nonsense")[2:4] == (False, True)
    env.reset(options={"task": 0})
    env.step("search[cotton]")
    env.step("click[b000000003]")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("click[buy now]")


def test_addresses(make):
    env = make(observation_mode="url", session_prefix="s")
    assert env.reset(options={"task": "goal-2"})[0] == "http://127.0.0.1:3000/s2"
    assert env.step("search[a b]")[0] == "http://127.0.0.1:3000/search_results/s2/a+b/1"


# Mended defects, and compat.


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


# Copies.


def test_copies_of_the_environment_play_alike(make):
    env = make()
    env.reset(options={"task": 1})
    play(env, "search[shirt]", "click[b000000003]")
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), *env.fork(2)]
    expected = env.step("click[large]")
    for each in copies:
        assert each.unwrapped.site is env.unwrapped.site
        assert each.step("click[large]") == expected
        assert each.state_digest == env.state_digest


def test_a_snapshot_belongs_to_its_options(make):
    env = make()
    env.reset(options={"task": 1})
    for other in (make(observation_mode="url"), make(max_steps=3), make(compat=True), make(goals="human")):
        with pytest.raises(SnapshotMismatch):
            other.restore(env.snapshot())
    assert make().restore(env.snapshot())[0] == env.reset(options={"task": 1})[0]


WORDS = st.sampled_from(["shirt", "lamp", "cotton blue", "<r>", "<q> shirts", "zzz", " ", ""])
NAMES = st.sampled_from(
    ["b000000001", "b000000003", "next >", "< prev", "back to search", "large", "red", "features", "buy now", "x"]
)
ACTIONS = st.one_of(WORDS.map("search[{}]".format), NAMES.map("click[{}]".format), st.text(max_size=8))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=12), at=st.integers(0, 12), compat=st.booleans(), rich=st.booleans())
def test_a_branch_replays_the_same_bytes(make, actions, at, compat, rich):
    env = make(compat=compat, observation_mode="text_rich" if rich else "text")
    env.reset(seed=7, options={"task": 1})
    saved, future = env.snapshot(), []
    for number, action in enumerate(actions):
        if number == at:
            saved, future = env.snapshot(), []
        if env.unwrapped.snapshot().state.over and not compat:
            break
        future.append((action, env.step(action), env.state_digest))
    sibling, other = env.fork(2)
    other.reset(options={"task": 2})
    sibling.restore(pickle.loads(pickle.dumps(saved)))
    for action, result, digest in future:
        if not other.snapshot().state.over:
            other.step("search[lamp]")
        assert sibling.step(action) == result
        assert sibling.state_digest == digest


def test_threads_and_foreign_random_calls_change_nothing(make):
    script = ["search[<r>]", "click[next >]", "search[lamp]", "click[b000000001]", "click[red]", "click[buy now]"]
    results = {}

    def run(number):
        env = make()
        trail = [env.reset(seed=11)]
        for action in script:
            random.seed(number)
            np.random.seed(number)
            trail.append((env.step(action), env.state_digest))
        results[number] = trail

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1]


def test_the_contract(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make().unwrapped, skip_render_check=False)
    check_snapshottable_env(make(), fresh_process=False)
    script = ["search[<r>]", "click[next >]", "nonsense", "search[shirt]", "click[b000000003]", "click[large]"]
    defects = make(compat=True, observation_mode="text_rich", previous_observations=2, max_steps=len(script))
    check_snapshottable_env(defects, actions=script, fresh_process=False)


# Where the world comes from.


def test_splits_do_not_overlap(make):
    everything = list(make().unwrapped.task_ids)
    parts = [list(make(split=split).unwrapped.task_ids) for split in ("test", "dev", "train")]
    assert [*parts[0], *parts[1], *parts[2]] == everything == [f"goal-{index}" for index in range(4)]
    env = make(split="dev")
    assert (
        env.reset(options={"task": 0})[1]["task_id"] == env.reset(options={"task": "goal-1"})[1]["task_id"] == "goal-1"
    )


def test_stored_splits_hold_for_the_stored_goals(write_shop, make):
    write_shop(splits={"test": [0, 1], "train": [1, 4]})
    assert list(make(split="test").unwrapped.task_ids) == ["goal-0"]


def test_a_built_catalogue_plays_like_its_files(raw_folder, tmp_path):
    build_store(raw_folder, tmp_path / "built")
    for goals in ("synthetic", "human"):
        raw, built = (
            gymnasium.make("sandgym/WebShop-v0", data=folder, split="all", goals=goals)
            for folder in (raw_folder, tmp_path / "built")
        )
        assert list(raw.unwrapped.goals) == list(built.unwrapped.goals)
        for task in range(0, len(raw.unwrapped.task_ids), 700):
            asin = raw.unwrapped.catalogue[task % 1000].asin
            script = [f"search[{raw.unwrapped.catalogue[task % 1000].title[:60]}]", f"click[{asin}]", "click[buy now]"]
            assert raw.reset(options={"task": task})[0] == built.reset(options={"task": task})[0]
            for action in script:
                ours, theirs = raw.step(action), built.step(action)
                assert ours[:4] == theirs[:4]
                if ours[2]:
                    assert ours[4]["reward_details"] == theirs[4]["reward_details"]


def test_one_world_is_shared_until_its_files_change(write_shop):
    def site(**kwargs):
        return gymnasium.make("sandgym/WebShop-v0", data=folder, split="all", **kwargs).unwrapped.site

    folder = write_shop()
    first = site()
    assert site(max_steps=3) is first
    assert site(compat=True).world is first.world
    write_shop(prices={"B000000001": 31.0, "B000000002": 1.5, "B000000003": 3.0})
    assert [site().world.catalogue.price(position) for position in range(3)] == [31.0, 1.5, 3.0]
    assert site().world.key != first.world.key


def test_bundled_data_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    env = gymnasium.make("sandgym/WebShop-v0")
    _, info = env.reset(options={"task": 0})
    assert info["data"] == env.unwrapped.data == "bundled"
    splits = [set(gymnasium.make("sandgym/WebShop-v0", split=split).unwrapped.task_ids) for split in ("dev", "test")]
    assert not set(env.unwrapped.task_ids) & (splits[0] | splits[1])


def test_vector_environments(make, write_shop):
    env = gymnasium.make_vec("sandgym/WebShop-v0", num_envs=3, data=write_shop(), split="all")
    observations, _ = env.reset(seed=1)
    assert len(observations) == 3
    observations = env.step(["search[shirt]"] * 3)[0]
    assert all("Page 1" in observation for observation in observations)
    env.close()

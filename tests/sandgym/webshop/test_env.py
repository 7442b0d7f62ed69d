"""The environment: moves, options, copies, and the contract."""

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
from shop import SHOP, play, shirt_goal

from sandgym import check_snapshottable_env
from sandgym.core import SnapshotMismatch

SHIRT_PAGE = (
    "Back to Search [SEP] < Prev [SEP] size [SEP] large [SEP] x-large [SEP] fit [SEP] slim | tall [SEP] Cotton Shirt"
    " [SEP] Price: $25.0 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
)


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


def test_changing_the_returned_info_changes_no_state(make):
    env = make()
    env.reset(options={"task": 0})
    info = play(env, "search[shirt]", "click[b000000003]", "click[buy now]")[4]
    before = env.state_digest
    info["reward_details"].clear()
    info.clear()
    assert env.state_digest == before
    assert env.snapshot().last[1]["task_id"] == "goal-0"


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

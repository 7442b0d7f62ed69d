"""Panels: the bundled ones are what the generator gives, and a mismatch is named."""

import dataclasses
import itertools
import json

import gymnasium
import pytest

from sandgym.panels import Panel, PanelMismatch, bundled_panels, load_panel, make_panel, verify
from sandgym.webshop.generate import write_catalogue

ENV = "sandgym/WebShop-v0"
NAMES = ("webshop/train", "webshop/dev", "webshop/test")


@pytest.fixture(scope="module", autouse=True)
def data_root(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("data")
        patch.setenv("SANDGYM_DATA", str(root))
        yield root


@pytest.fixture(scope="module")
def dev():
    return load_panel("webshop/dev")


def test_sizes():
    assert set(NAMES) <= set(bundled_panels())
    panels = {name: load_panel(name) for name in NAMES}
    assert len(panels["webshop/dev"].task_ids) == 100
    assert len(panels["webshop/test"].task_ids) == 200
    assert len(panels["webshop/train"].task_ids) >= 1500
    assert all(panel.horizon == 15 for panel in panels.values())
    assert all(panel.name == name for name, panel in panels.items())


@pytest.mark.parametrize("name", NAMES)
def test_bundled_panels_are_what_the_generator_gives(name):
    """After a change of the data on purpose: ``python -m sandgym.panels webshop``."""
    panel = load_panel(name)
    env = gymnasium.make(ENV, split=name.partition("/")[2])
    assert make_panel(env, name=name) == panel
    verify(panel, env)
    verify(panel, panel.make_env())


def test_panels_share_no_task_and_no_product():
    env = gymnasium.make(ENV, split="all").unwrapped
    tasks, products = {}, {}
    for name in NAMES:
        tasks[name] = set(load_panel(name).task_ids)
        products[name] = {env.goals[int(task.removeprefix("goal-"))].asin for task in tasks[name]}
    for one, other in itertools.combinations(NAMES, 2):
        assert not tasks[one] & tasks[other]
        assert not products[one] & products[other]


def test_a_panel_may_be_played_from_elsewhere_and_seen_otherwise(dev, tmp_path):
    verify(dev, gymnasium.make(ENV, split="all", observation_mode="html", compat=False))
    verify(dev, gymnasium.make(ENV, split="dev", data=str(write_catalogue(tmp_path))))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"split": "dev", "max_steps": 14}, "horizon 15, this environment has 14"),
        ({"split": "dev", "compat": True}, "argument compat False, this environment has True"),
        ({"split": "test"}, "task 'goal-200' is not in this split"),
    ],
)
def test_another_environment_is_named(dev, arguments, named):
    with pytest.raises(PanelMismatch, match=named):
        verify(dev, gymnasium.make(ENV, **arguments))


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("env_id", "sandgym/WebShop-v1", "env_id"),
        ("reward_version", "webshop-0", "reward_version"),
        ("data_hash", "0" * 64, "data_hash"),
        ("content_hash", "0" * 64, "content_hash"),
    ],
)
def test_another_panel_is_named(dev, field, value, named):
    with pytest.raises(PanelMismatch, match=named):
        verify(dataclasses.replace(dev, **{field: value}), dev.make_env())


@pytest.mark.parametrize("part", ["goal", "price", "product"])
def test_changed_data_is_named(dev, tmp_path, part):
    folder = write_catalogue(tmp_path)
    goals = json.loads((folder / "goals.json").read_text())
    changed = goals[250]
    if part == "goal":
        changed["attributes"] = [*changed["attributes"][:-1], "new edition"]
        (folder / "goals.json").write_text(json.dumps(goals))
    elif part == "price":
        prices = json.loads((folder / "prices.json").read_text())
        prices[changed["asin"]] += 0.01
        (folder / "prices.json").write_text(json.dumps(prices))
    else:
        items = json.loads((folder / "items_shuffle.json").read_text())
        next(item for item in items if item["asin"] == changed["asin"])["full_description"] += " More."
        (folder / "items_shuffle.json").write_text(json.dumps(items))
    with pytest.raises(PanelMismatch, match="task goal-250"):
        verify(dev, gymnasium.make(ENV, split="dev", data=str(folder)))


def test_a_change_of_a_product_that_is_no_goal_is_named(dev, tmp_path):
    """Its search results may differ, so the panel is not the same."""
    folder = write_catalogue(tmp_path)
    items = json.loads((folder / "items_shuffle.json").read_text())
    items[700]["name"] += " Deluxe"
    (folder / "items_shuffle.json").write_text(json.dumps(items))
    with pytest.raises(PanelMismatch, match="data_hash"):
        verify(dev, gymnasium.make(ENV, split="dev", data=str(folder)))


def test_own_panels(tmp_path):
    env = gymnasium.make(ENV, split="train", max_steps=9)
    panel = make_panel(env, ["goal-302", "goal-300", "goal-1000"], name="three")
    assert panel.task_ids == ("goal-302", "goal-300", "goal-1000")
    assert len(set(panel.task_hashes)) == 3
    assert panel.horizon == 9
    path = tmp_path / "three.json"
    path.write_text(panel.to_json())
    assert load_panel(path) == load_panel(str(path)) == panel
    verify(panel, panel.make_env(observation_mode="text_rich"))


def test_consecutive_ids_are_stored_as_a_range_and_others_are_not():
    env = gymnasium.make(ENV, split="train")
    consecutive = make_panel(env, ["goal-300", "goal-301", "goal-302"])
    assert json.loads(consecutive.to_json())["task_ids"] == {"prefix": "goal-", "start": 300, "stop": 303}
    assert Panel.from_json(consecutive.to_json()) == consecutive
    assert json.loads(make_panel(env, ["goal-300", "goal-302"]).to_json())["task_ids"] == ["goal-300", "goal-302"]


def test_bad_requests_say_what_is_wrong(tmp_path, dev):
    env = gymnasium.make(ENV, split="dev")
    with pytest.raises(LookupError, match="webshop/dev"):
        load_panel("webshop/nothing")
    with pytest.raises(LookupError, match="no panel file"):
        load_panel(tmp_path / "missing.json")
    with pytest.raises(LookupError, match="'goal-0' is not in this split of 100"):
        make_panel(env, ["goal-0"])
    with pytest.raises(ValueError, match="none twice"):
        make_panel(env, ["goal-200", "goal-200"])
    with pytest.raises(ValueError, match="at least one"):
        make_panel(env, [])
    with pytest.raises(ValueError, match=r"gymnasium\.make"):
        make_panel(type(env.unwrapped)(split="dev"))
    with pytest.raises(TypeError, match="CartPoleEnv cannot have panels"):
        make_panel(gymnasium.make("CartPole-v1"))
    document = json.loads(dev.to_json())
    del document["horizon"]
    with pytest.raises(ValueError, match="horizon"):
        Panel.from_json(json.dumps(document))
    document = json.loads(dev.to_json())
    document["task_hashes"].pop()
    with pytest.raises(ValueError, match="100 tasks but 99 hashes"):
        Panel.from_json(json.dumps(document))

"""Where the world comes from: splits, stored and built data, the bundled catalogue."""

from __future__ import annotations

import json
import logging

import gymnasium
import pytest

from sandgym.core import SandboxError
from sandgym.webshop.build import build_store
from sandgym.webshop.world import load_world


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


def test_a_built_catalogue_takes_the_price_seed_of_its_build_only(write_shop, tmp_path):
    built = build_store(write_shop(), tmp_path / "built", seed=3).folder
    with pytest.raises(SandboxError, match=r"built with price_seed=3, not 0: use price_seed=3, or build") as error:
        gymnasium.make("sandgym/WebShop-v0", data=built, split="all")
    assert "build_store(source, out, seed=0)" in str(error.value)
    stored, raw = (load_world(folder, price_seed=3) for folder in (built, tmp_path))
    assert stored.catalogue.price(1) == raw.catalogue.price(1) != load_world(tmp_path).catalogue.price(1)
    assert list(stored.goals) == list(raw.goals)


def test_the_key_of_a_built_catalogue_covers_goals_and_splits(write_shop, tmp_path):
    plain = load_world(build_store(write_shop(), tmp_path / "plain").folder)
    human = load_world(tmp_path / "plain", goals="human")
    split = load_world(build_store(write_shop(splits={"test": [0, 1]}), tmp_path / "split").folder)
    row = json.loads((tmp_path / "items_human_ins.json").read_text())["B000000003"][0]
    reworded = {"B000000003": [row | {"instruction": "a shirt, please"}]}
    other = load_world(build_store(write_shop(items_human_ins=reworded), tmp_path / "other").folder, goals="human")
    worlds = (plain, human, split, other)
    assert len({world.catalogue.key for world in worlds}) == 1  # the products are the same in all of them
    assert len({world.key for world in worlds}) == len(worlds)


def test_the_log_says_which_data_is_used(write_shop, caplog):
    with caplog.at_level(logging.INFO, "sandgym"):
        load_world(price_seed=20)  # no other test has loaded this one
        load_world(folder := str(write_shop()))
    bundled, named = (record.getMessage() for record in caplog.records)
    assert bundled.startswith("WebShop data: bundled (generated, not the official catalogue), 1,200 products, 1,989 ")
    assert named == f"WebShop data: {folder}, 3 products, 4 synthetic goals, in {folder}"


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

"""Which games a folder has: layout, order, what is left out and why, and that nothing is ever written."""

import hashlib
import logging
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import gymnasium
import pytest
from tiny import document, write

from sandgym.alfworld.tasks import GameFolder, Skipped
from sandgym.alfworld.world import load_world
from sandgym.core import SandboxError

GOOD = "train/pick_and_place_simple-Mug-None-Shelf-1"
PLAY = """
import hashlib, random, sys, gymnasium, sandgym
env = gymnasium.make("sandgym/ALFWorld-v0", data=sys.argv[1], split="valid_seen", infos=("facts",), max_steps=30)
digest, rng = hashlib.sha256(), random.Random(0)
for seed in range(12):
    observation, info = env.reset(seed=seed)
    over = False
    while not over:
        digest.update(repr((observation, {k: v for k, v in info.items()}, env.state_digest)).encode())
        observation, reward, terminated, truncated, info = env.step(rng.choice(info["admissible_actions"]))
        over = terminated or truncated
print(digest.hexdigest(), env.unwrapped.data_hash)
"""


def fill(root):
    """A folder with one playable game and one for each reason to leave a game out, in no order."""
    write(root, f"{GOOD}/trial_2", document())
    write(root, "train/pick_and_place_movable_recep-Mug-Pot-Shelf-1/trial_1", document())
    write(root, "train/pick_and_place_simple-AppleSliced-None-Shelf-1/trial_1", document())
    write(root, f"{GOOD}/trial_3", None)
    write(root, f"{GOOD}/trial_1", document(solvable=False))
    write(root, f"{GOOD}/trial_4", document(solvable=None))
    (root / "train" / "notes.txt").write_text("not a game")
    (root / "README").write_text("not a split")
    (root / "empty").mkdir()


MOVABLE = "a movable receptacle or a sliced object, which the text version does not have"
LEFT_OUT = (
    Skipped("train/pick_and_place_movable_recep-Mug-Pot-Shelf-1/trial_1", MOVABLE),
    Skipped("train/pick_and_place_simple-AppleSliced-None-Shelf-1/trial_1", MOVABLE),
    Skipped(f"{GOOD}/trial_1", "unsolvable"),
    Skipped(f"{GOOD}/trial_3", "no game.tw-pddl"),
    Skipped(f"{GOOD}/trial_4", "the file does not say whether it is solvable"),
)


def test_games_are_left_out_for_the_original_s_reasons_and_named(tmp_path, caplog):
    fill(tmp_path)
    store = GameFolder(tmp_path)
    assert store.splits == ("train",)
    assert store.ids("train") == (f"{GOOD}/trial_2",)
    assert store.skipped("train") == LEFT_OUT
    with caplog.at_level(logging.WARNING, logger="sandgym"):
        env = gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path)
    assert env.unwrapped.skipped == LEFT_OUT
    (message,) = [record.getMessage() for record in caplog.records]
    assert "5 games are skipped" in message
    assert all(f"{skipped.task_id}: {skipped.reason}" in message for skipped in LEFT_OUT)


@pytest.mark.parametrize("root", ["", "json_2.1.1"])
def test_the_folder_may_hold_the_splits_or_the_official_folder_of_them(tmp_path, root):
    fill(tmp_path / root)
    assert GameFolder(tmp_path).ids("train") == (f"{GOOD}/trial_2",)
    assert GameFolder(tmp_path / root).ids("train") == (f"{GOOD}/trial_2",)


def test_ids_are_sorted_and_tell_the_file(tmp_path):
    names = [f"train/task-{task}/trial_{trial}" for task in ("b", "a", "a-b") for trial in (2, 10, 1)]
    for number, name in enumerate(names):
        write(tmp_path, name, document(facts="(isClean Mug_bar_1)" if number % 2 else ""))
    store = GameFolder(tmp_path)
    assert store.ids("train") == tuple(sorted(names))
    for name in names:
        path = tmp_path / name / "game.tw-pddl"
        assert store.game_file(name) == str(path)
        assert store.hash(name) == hashlib.sha256(path.read_bytes()).hexdigest()
        assert store.task_type(name) == 1
        assert store.game(name).start.clean == (64 if names.index(name) % 2 else 0)


def test_unknown_tasks_and_splits(tmp_path):
    fill(tmp_path)
    store = GameFolder(tmp_path)
    for task in ("train/x/y", f"{GOOD}/trial_1", "valid_seen/x/y", ""):
        for method in (store.game, store.hash, store.task_type):
            with pytest.raises(KeyError):
                method(task)
    with pytest.raises(KeyError):
        store.ids("valid_seen")


def test_a_file_that_changed_since_it_was_listed_is_an_error(tmp_path):
    write(tmp_path, f"{GOOD}/trial_1", document())
    store = GameFolder(tmp_path)
    store.ids("train")
    write(tmp_path, f"{GOOD}/trial_1", document(solvable=False))
    with pytest.raises(SandboxError, match="has changed since it was listed"):
        store.game(f"{GOOD}/trial_1")


def test_worlds_are_shared_until_the_folder_changes(tmp_path):
    fill(tmp_path)
    world = load_world(tmp_path)
    assert load_world(str(tmp_path)) is world
    write(tmp_path, "valid_seen/pick_and_place_simple-Mug-None-Shelf-2/trial_1", document())
    assert load_world(tmp_path).store.splits == ("train", "valid_seen")


def test_memory_of_played_games_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("sandgym.alfworld.world._KEPT", 3)
    for number in range(6):
        write(tmp_path, f"{GOOD}/trial_{number}", document())
    world = load_world(tmp_path)
    ids = world.split("train").ids
    played = world.game(ids[0])
    for task in ids:
        world.game(task)
    assert list(world._recent) == list(ids[3:])
    assert world.game(ids[0]) is played  # somebody still plays it
    assert set(world._alive) == {ids[0], *ids[4:]}


# Real games.


def test_a_run_is_the_same_in_every_process(real_folder):
    printed = {
        subprocess.run(
            [sys.executable, "-c", PLAY, str(real_folder)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(printed) == 1


def digests(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def play_some(arguments):
    folder, seed = arguments
    env = gymnasium.make("sandgym/ALFWorld-v0", data=folder, split="valid_unseen")
    seen = []
    for episode in range(5):
        observation, info = env.reset(seed=seed * 10 + episode)
        for step in range(10):
            observation, _, terminated, truncated, info = env.step(info["admissible_actions"][step])
            seen.append(observation)
            if terminated or truncated:
                break
    return seen


def test_eight_processes_leave_a_read_only_folder_as_it_is(real_folder):
    before = digests(real_folder)
    folders = [real_folder, *(path for path in real_folder.rglob("*") if path.is_dir())]
    modes = [path.stat().st_mode for path in folders]
    try:
        for path in folders:
            path.chmod(0o555)
        with ProcessPoolExecutor(8, mp_context=multiprocessing.get_context("fork")) as pool:
            answers = list(pool.map(play_some, [(str(real_folder), seed % 4) for seed in range(8)]))
    finally:
        for path, mode in zip(folders, modes, strict=True):
            path.chmod(mode)
    assert answers[:4] == answers[4:]
    assert len(before) == 394
    assert digests(real_folder) == before

"""The bundled games: determinism, splits, rooms, places of things, and that every walkthrough wins."""

import itertools
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

import sandgym.alfworld.generate as generate
from sandgym.alfworld.env import ALFWorldEnv
from sandgym.alfworld.gamefile import TASK_TYPES
from sandgym.alfworld.household import CONTAINS, OPENABLE
from sandgym.alfworld.houses import build_room, scenes
from sandgym.alfworld.rooms import ROOM_KINDS
from sandgym.alfworld.trials import make_trial, possible_tasks
from sandgym.bundled import content_hash
from sandgym.core import SandboxError

SPLITS = {"train": 600, "dev": 100, "test": 100}
TRIAL = re.compile(r"trial_T\d{8}_\d{6}_\d{6}")
# Mean numbers of things and receptacles in the 394 official games of the shared sample.
OFFICIAL_MEANS = {
    "kitchen": (56.7, 30.3),
    "living room": (33.5, 20.1),
    "bedroom": (34.0, 15.4),
    "bathroom": (24.1, 14.0),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return generate.write_games(tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def trials():
    """Split -> trials, without writing them."""
    return {split: [trial for _, trial in generate.iter_trials(split, games)] for split, games in SPLITS.items()}


def game_files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("game.tw-pddl")}


def test_the_bytes_are_pinned(folder):
    assert content_hash(folder) == generate.BUNDLED_SHA256


def test_a_game_does_not_depend_on_how_many_there_are(tmp_path, folder):
    few = game_files(generate.write_games(tmp_path, {"train": 7, "test": 5}))
    assert len(few) == 12
    assert few.items() <= game_files(folder).items()


def test_another_seed_gives_other_rooms_and_games(tmp_path, folder):
    other = game_files(generate.write_games(tmp_path, {"train": 12}, seed=1))
    assert len(other) == 12
    assert not set(other.values()) & set(game_files(folder).values())
    assert build_room(1, 0) != build_room(1, 1)


def test_folders_and_files_have_the_official_names(folder):
    assert [path.name for path in folder.iterdir()] == ["json_2.1.1"]
    for name, content in game_files(folder).items():
        _, split, task, trial, _ = name.split("/")
        task_type, thing, movable, target, scene = task.split("-")
        assert split in SPLITS
        assert task_type in TASK_TYPES.values()
        assert movable == "None"
        assert TRIAL.fullmatch(trial)
        document = json.loads(content)
        assert list(document) == ["pddl_domain", "grammar", "pddl_problem", "solvable", "walkthrough"]
        assert document["solvable"] is True
        trajectory = json.loads((folder / name).with_name("traj_data.json").read_text())
        parameters = trajectory["pddl_params"]
        assert trajectory["task_id"] == trial
        assert trajectory["task_type"] == task_type
        assert trajectory["scene"] == {"floor_plan": f"FloorPlan{scene}", "scene_num": int(scene)}
        assert parameters["object_target"] == thing
        assert target in (parameters["parent_target"], parameters["toggle_target"])


def test_splits_have_their_sizes_and_all_task_types_evenly(folder):
    split_of = Counter(name.split("/")[1] for name in game_files(folder))
    assert split_of == SPLITS
    types = Counter((name.split("/")[1], name.split("/")[2].partition("-")[0]) for name in game_files(folder))
    for split in SPLITS:
        counts = [types[split, task_type] for task_type in TASK_TYPES.values()]
        assert max(counts) - min(counts) <= 1


def test_test_rooms_are_unseen_and_dev_rooms_are_not(trials):
    rooms = {split: {trial.room.scene for trial in found} for split, found in trials.items()}
    assert not rooms["test"] & (rooms["train"] | rooms["dev"])
    assert rooms["dev"] <= rooms["train"]
    assert len(rooms["train"]) == 96
    assert len(rooms["test"]) == 24
    layouts = [{r.id for r in build_room(scene).receptacles} for scene in sorted(rooms["train"] | rooms["test"])]
    assert all(not a & b for a, b in itertools.combinations(layouts, 2))


def test_no_game_is_in_two_splits(folder):
    problems = defaultdict(set)
    for name, content in game_files(folder).items():
        problem = TRIAL.sub("trial", json.loads(content)["pddl_problem"])
        problems[problem].add(name)
    assert all(len(names) == 1 for names in problems.values())


def test_every_walkthrough_is_admissible_and_wins_with_its_last_command(folder):
    for split, games in SPLITS.items():
        env = ALFWorldEnv(data=folder, split=split)
        assert len(env.task_ids) == games
        assert not env.skipped
        for task_id in env.task_ids:
            path = folder / "json_2.1.1" / task_id / "game.tw-pddl"
            walkthrough = json.loads(path.read_text())["walkthrough"]
            observation, info = env.reset(options={"task": task_id})
            assert 3 <= len(walkthrough) <= 10
            assert not info["won"]
            for number, command in enumerate(walkthrough, start=1):
                assert command in info["admissible_actions"], (task_id, command)
                observation, reward, done, truncated, info = env.step(command)
                last = number == len(walkthrough)
                assert (reward, done, truncated, info["won"]) == (float(last), last, False, last), (task_id, command)
                assert observation != "Nothing happens."


def test_a_room_has_one_layout_and_things_in_other_places_each_trial(trials):
    by_room = defaultdict(list)
    for trial in (*trials["train"], *trials["dev"]):
        by_room[trial.room.scene].append(trial)
    for found in by_room.values():
        assert len({trial.room.receptacles for trial in found}) == 1
        assert len({trial.things for trial in found}) == len(found)


def test_rooms_are_about_as_large_as_the_official_ones(trials):
    every = [trial for found in trials.values() for trial in found]
    for kind in ROOM_KINDS:
        own = [trial for trial in every if trial.room.kind is kind]
        things, receptacles = OFFICIAL_MEANS[kind.name]
        assert 0.8 < statistics.mean(len(t.things) + len(t.room.fixtures) for t in own) / things < 1.05
        assert 0.9 < statistics.mean(len(t.room.receptacles) for t in own) / receptacles < 1.1
    assert all(6 <= len(trial.room.receptacles) <= 54 for trial in every)


def test_every_place_has_few_receptacles_and_nobody_starts_at_one(trials):
    shared = 0
    for trial in (trial for found in trials.values() for trial in found):
        places = Counter(receptacle.place for receptacle in trial.room.receptacles)
        assert max(places.values()) <= 4
        assert trial.start not in places
        shared += max(places.values()) > 1
    assert 0.4 < shared / 800 < 0.9  # 2,976 of 4,027 official games have such a place


def test_things_are_where_a_player_could_put_them(trials):
    in_two = 0
    for trial in (trial for found in trials.values() for trial in found):
        for thing in trial.things:
            in_two += len(thing.inside) > 1
            for receptacle in thing.inside:
                assert thing.kind in CONTAINS[receptacle.kind]
            assert thing.kind != trial.task.thing or len(thing.inside) == 1
    assert in_two > 200


def test_the_tables_agree_with_each_other():
    for kind in ROOM_KINDS:
        assert kind.furniture.keys() <= CONTAINS.keys()
        for thing, (_, places) in kind.things.items():
            assert places.keys() <= kind.furniture.keys(), thing
            assert all(thing in CONTAINS[place] for place in places), thing
    assert OPENABLE.keys() <= CONTAINS.keys()


def test_what_is_learned_about_places_in_train_holds_in_test(trials):
    """Total variation distance between where things of a type are: the same habits in rooms not seen before."""

    def shares(found, thing):
        counts = Counter(t.inside[0].kind for trial in found for t in trial.things if t.kind == thing)
        return {kind: count / counts.total() for kind, count in counts.items()}

    for thing in ("Apple", "Fork", "Mug", "Plate", "Pillow", "RemoteControl", "Book", "SoapBar", "Cloth"):
        train, test = shares(trials["train"], thing), shares(trials["test"], thing)
        distance = sum(abs(train.get(kind, 0) - test.get(kind, 0)) for kind in train.keys() | test.keys()) / 2
        assert distance < 0.35, thing
        assert max(train, key=train.get) in sorted(test, key=test.get)[-3:]
    apples = shares(trials["train"], "Apple")
    assert max(apples, key=apples.get) == "Fridge"


def test_things_are_cool_only_in_a_fridge(trials):
    cool = 0
    for trial in (trial for found in trials.values() for trial in found):
        kinds = {thing.id: thing.inside[0].kind for thing in trial.things}
        assert all(kinds[name] == "Fridge" for name in trial.cool)
        cool += bool(trial.cool)
    assert 30 < cool < 150  # 342 of 4,027 official games have one


def test_every_room_allows_tasks_and_says_which_it_does_not():
    for scene in (*scenes(unseen=False), *scenes(unseen=True)):
        room = build_room(scene)
        assert possible_tasks(room, 1)
        assert possible_tasks(room, 6)
    with pytest.raises(ValueError, match="scene 401 has no pick_heat_then_place_in_recep"):
        make_trial(build_room(401), 4)
    with pytest.raises(ValueError, match="there is no scene 100"):
        build_room(100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(({"valid": 1},), "unknown splits .'valid'.; known: train, dev, test"), (({"train": 1}, -1), "seed must be")],
)
def test_bad_arguments_are_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        generate.write_games(tmp_path / "games", *arguments)
    assert not (tmp_path / "games").exists()


def test_processes_that_start_at_once_make_the_bundled_games_once(tmp_path):
    code = "from sandgym.alfworld.generate import ensure_bundled; print(ensure_bundled())"
    environment = {**os.environ, "SANDGYM_DATA": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    folders = {process.communicate(timeout=120)[0].strip() for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(folders) == 1
    made = tmp_path / "alfworld" / f"bundled-v{generate.GENERATOR_VERSION}-{generate.BUNDLED_SHA256[:12]}"
    assert folders == {str(made)}
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    assert content_hash(made) == generate.BUNDLED_SHA256


def test_bundled_games_are_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    made = tmp_path / "alfworld" / f"bundled-v{generate.GENERATOR_VERSION}-{generate.BUNDLED_SHA256[:12]}"
    made.mkdir(parents=True)
    assert generate.ensure_bundled() == made
    assert not list(made.iterdir())


def test_a_data_root_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("SANDGYM_DATA", os.fspath(blocked / "data"))
    with pytest.raises(SandboxError, match="SANDGYM_DATA"):
        generate.ensure_bundled()

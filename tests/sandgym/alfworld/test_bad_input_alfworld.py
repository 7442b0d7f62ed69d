"""Bad arguments and damaged data are errors that say what to do."""

import json

import gymnasium
import numpy as np
import pytest
from tiny import TINY, document, write

from sandgym.alfworld.compiler import compile_game
from sandgym.alfworld.gamefile import GameFileError, parse_game, peek_game, read_game
from sandgym.core import SandboxError


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        (
            {"splits": "train"},
            TypeError,
            "unknown ALFWorld argument 'splits'; known: data, domain_randomization, expert, grammar",
        ),
        ({"infos": ("facts", "won")}, TypeError, "unknown ALFWorld info 'won'; known: expert_plan, facts"),
        ({"infos": "fact"}, TypeError, "unknown ALFWorld info 'fact'"),
        ({"observation_mode": "html"}, ValueError, "unknown observation_mode 'html'; known: text, compact"),
        ({"grammar": "moves"}, ValueError, "unknown grammar 'moves'; known: file, put, move, both"),
        ({"split": "valid"}, ValueError, "unknown split 'valid'; known: train$"),
        ({"split": "dev"}, ValueError, "unknown split 'dev'; known: train$"),
        ({"task_types": (1, 7)}, ValueError, r"unknown task types \[7\]; known: 1 or 'pick_and_place_simple'"),
        ({"task_types": "pick"}, ValueError, "unknown task types"),
        ({"task_types": ()}, ValueError, "no task types; known: 1 or"),
        ({"task_types": 2}, ValueError, "no task of the types asked .look_at_obj_in_light.: 1 games in all, 0 skipped"),
        ({"expert": "planer"}, ValueError, "unknown expert 'planer'; known: explorer, planner, walkthrough"),
        ({"max_steps": 0}, ValueError, "max_steps"),
    ],
)
def test_arguments(make, kwargs, error, message):
    with pytest.raises(error, match=message):
        make(**kwargs)


def test_tasks(make):
    env = make()
    for task in (0, np.int64(0), TINY):
        assert env.reset(options={"task": task})[1]["task_id"] == TINY
    for task in (1, -1, 10**30, "", TINY + "/", TINY.removeprefix("train/")):
        with pytest.raises(LookupError, match="task"):
            env.reset(options={"task": task})
    for task in (None, 0.0, True, ["train"]):
        with pytest.raises(TypeError):
            env.reset(options={"task": task})
    with pytest.raises(TypeError, match="unknown reset option 'goal'; known: task"):
        env.reset(options={"goal": 1})
    env.reset()
    for action in (None, 3, b"look", ["look"]):
        with pytest.raises(TypeError, match="an action is a string"):
            env.step(action)


def test_a_missing_folder(tmp_path):
    with pytest.raises(SandboxError, match=r"there is no folder .*nowhere; fetch .*`sandgym data download alfworld`"):
        gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path / "nowhere")


def test_a_folder_without_games(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(SandboxError, match=r"no games in .*expected <split>/<task>/<trial>/game.tw-pddl"):
        gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path)


def test_a_split_without_playable_games_says_why(tmp_path):
    write(tmp_path, TINY, document(solvable=False))
    with pytest.raises(ValueError, match=f"0 games in all, 1 skipped\n  {TINY}: unsolvable"):
        gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path)


def test_damaged_files_are_named_and_counted(tmp_path):
    write(tmp_path, TINY, document())
    whole = json.dumps(document())
    for number in (2, 3):
        write(tmp_path, TINY[:-1] + str(number), whole[: len(whole) // 2])
    with pytest.raises(
        SandboxError, match=r"2 damaged game files in .*/trial_2: not valid JSON, probably cut off"
    ) as error:
        gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path)
    assert "download them again, or remove their folders" in str(error.value)


def test_a_file_that_is_no_text_is_damaged(tmp_path):
    (write(tmp_path, TINY, None) / "game.tw-pddl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(SandboxError, match=r"1 damaged game files .*not UTF-8 text"):
        gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path)


def test_damage_in_the_facts_is_found_when_the_game_is_played(tmp_path):
    broken = document()["pddl_problem"].replace("(receptacleAtLocation Desk_bar_1 loc_bar_2)", "")
    write(tmp_path, TINY, document(pddl_problem=broken))
    with pytest.raises(GameFileError, match=rf"{TINY}/game.tw-pddl: 'desk_bar_1' has no receptacleatlocation"):
        gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path)


def test_every_cut_of_a_file_is_noticed():
    whole = json.dumps(document())
    assert parse_game(whole).solvable
    assert peek_game(whole) == (1, True)
    for length in range(0, len(whole), 7):
        for read in (parse_game, peek_game):
            with pytest.raises(GameFileError):
                read(whole[:length])


def test_every_cut_of_a_problem_is_noticed():
    problem = document()["pddl_problem"]
    for length in range(0, len(problem), 7):
        with pytest.raises(GameFileError):
            parse_game(json.dumps(document(pddl_problem=problem[:length])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pddl_problem": None}, "it has no text 'pddl_problem'"),
        ({"grammar": None}, "it has no text 'grammar'"),
        ({"grammar": 3}, "it has no text 'grammar'"),
        ({"solvable": "yes"}, "'solvable' is 'yes', neither true nor false"),
        ({"walkthrough": "look"}, "'walkthrough' is not a list of commands"),
        ({"walkthrough": [1]}, "'walkthrough' is not a list of commands"),
        ({"walkthrough": None}, None),
    ],
)
def test_values_of_a_file(changes, message):
    text = json.dumps(document(**changes))
    if message is None:
        assert parse_game(text)
        return
    with pytest.raises(GameFileError, match=message):
        parse_game(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Your task is to:", "You should", "has no sentence 'Your task is to: ...'"),
        ("move {o} to {r}", "lay {o} onto {r}", "no action for putting things down; known: move {o} to {r}, put"),
    ],
)
def test_grammars(old, new, message):
    grammar = document()["grammar"].replace(old, new)
    with pytest.raises(GameFileError, match=message):
        parse_game(json.dumps(document(grammar=grammar)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(define", "(defined", "does not begin with"),
        ("(:init", "(:start", r"has no \(:init"),
        ("(:objects", "(:things", r"has no \(:objects"),
        ("(isCool Apple_bar_2)", "isCool", "something that is no fact: 'iscool'"),
        ("(isCool Apple_bar_2)", "()", "something that is no fact"),
        ("(isCool Apple_bar_2)", "(isCool)", r"the fact \(iscool\) should have 1 arguments"),
        ("(isCool Apple_bar_2)", "(isCool Desk_bar_1)", "'desk_bar_1' stands in .* for a thing of type object"),
        ("(isCool Apple_bar_2)", "(isCool Apple_bar_3)", "'apple_bar_3' is in .* but not in"),
        ("(isCool Apple_bar_2)", "(inReceptacle Apple_bar_2 MugType)", "'mugtype' stands in .* type receptacle"),
        ("(isCool Apple_bar_2)", "(objectType Apple_bar_2 MugType)", "'apple_bar_2' has two values of objecttype"),
        ("(isCool Apple_bar_2)", "(receptacleAtLocation Desk_bar_1 loc_bar_1)", "'desk_bar_1' has two values"),
        ("(isCool Apple_bar_2)", "(atLocation agent1 loc_bar_1)", "the agent must be at one location"),
        ("(atLocation agent1 loc_bar_0)", "", "a game has one agent, not 0"),
        ("agent1 - agent", "agent1 - agent stray", None),
        ("SinkBasinType - rtype", "SinkBasinType", "'countertoptype' is declared without a type"),
        ("SinkBasinType - rtype", "SinkBasinType -", "a declaration in .* has no type"),
        ("(objectType ?o MugType)", "(objectType ?o MugType) (isSliced ?o)", "the goal is none of ALFRED's six"),
        ("(inReceptacle ?o ?r)", "(not (inReceptacle ?o ?r))", "the goal is none of ALFRED's six"),
    ],
)
def test_problems(old, new, message):
    content = document()
    assert old in content["pddl_problem"]
    content["pddl_problem"] = content["pddl_problem"].replace(old, new, 1)
    if message is None:
        compile_game(parse_game(json.dumps(content)))
        return
    with pytest.raises(GameFileError, match=message):
        compile_game(parse_game(json.dumps(content)))


@pytest.mark.parametrize("text", ["", "null", "[]", "3", '"game"', "{}", "{" * 100_000, "[" * 100_000, "\x00", "{}{}"])
def test_other_files(text):
    for read in (parse_game, peek_game):
        with pytest.raises(GameFileError):
            read(text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(GameFileError, match="there is no game file"):
        read_game(tmp_path / "game.tw-pddl")
    with pytest.raises(GameFileError, match="cannot read the game file"):
        read_game(tmp_path)
    (tmp_path / "game.tw-pddl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(GameFileError, match="cannot read the game file"):
        read_game(tmp_path / "game.tw-pddl")
    (tmp_path / "game.tw-pddl").write_text("{")
    with pytest.raises(GameFileError, match=r"game.tw-pddl: not valid JSON, probably cut off"):
        read_game(tmp_path / "game.tw-pddl")

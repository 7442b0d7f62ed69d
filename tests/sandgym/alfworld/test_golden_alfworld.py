"""TextWorld's own answers, recorded in real games: every text, list, score and fact agrees."""

import hashlib

import gymnasium
import pytest

from sandgym.alfworld import rules, text
from sandgym.alfworld.commands import admissible
from sandgym.alfworld.compiler import compile_game
from sandgym.alfworld.gamefile import TASK_TYPES, read_game
from sandgym.alfworld.names import display_names
from sandgym.alfworld.tasks import GameFolder

SPLITS = ("train", "valid_seen", "valid_unseen")


def task_of(recording):
    return recording["game"].removesuffix("/game.tw-pddl")


def test_every_observation_list_and_score(recordings, real_folder):
    compared = 0
    for recording in recordings:
        split = recording["game"].partition("/")[0]
        env = gymnasium.make("sandgym/ALFWorld-v0", data=real_folder, split=split, max_steps=1000)
        observation, info = env.reset(options={"task": task_of(recording)})
        assert observation == recording["intro"]
        assert list(info["admissible_commands"]) == recording["admissible0"]
        for step in recording["steps"]:
            observation, reward, terminated, truncated, info = env.step(step["cmd"])
            seen = observation, list(info["admissible_commands"]), reward, terminated, info["won"], truncated
            assert seen == (step["obs"], step["adm"], step["score"], step["done"], step["won"], False), step["cmd"]
            compared += 1
            if terminated:
                break
        assert step is recording["steps"][-1], "the recording goes on after the end"
    assert compared == sum(len(recording["steps"]) for recording in recordings) > 1500


def test_every_fact(recordings, real_folder):
    """The recordings hold MD5 prefixes of the sorted facts, with ids where players see names."""
    compared = 0
    for recording in recordings:
        task = task_of(recording)
        split = task.partition("/")[0]
        source = read_game(real_folder / "json_2.1.1" / recording["game"])
        ids = {name: each for each, name in display_names(a for _, *some in source.init for a in some).items()}

        def digest(facts, ids=ids):
            lines = []
            for fact in facts:
                predicate, _, arguments = fact[:-1].partition("(")
                words = [argument.rsplit(": ", 1) for argument in arguments.split(", ")]
                lines.append(f"{predicate}({', '.join(f'{ids[name]}: {kind}' for name, kind in words)})")
            return hashlib.md5("\n".join(sorted(lines)).encode()).hexdigest()[:12]

        env = gymnasium.make("sandgym/ALFWorld-v0", data=real_folder, split=split, max_steps=1000, infos=("facts",))
        _, info = env.reset(options={"task": task})
        assert digest(info["facts"]) == recording["fh0"]
        for step in recording["steps"]:
            *_, info = env.step(step["cmd"])
            assert digest(info["facts"]) == step["fh"], (task, step["cmd"])
            compared += 1
    assert compared > 1500


@pytest.mark.parametrize("split", SPLITS)
def test_every_walkthrough_is_admissible_and_wins_at_its_last_step(real_folder, split):
    store = GameFolder(real_folder)
    assert store.skipped(split) == ()
    for task_id in store.ids(split):
        game = store.game(task_id)
        assert TASK_TYPES[game.task_type] == task_id.split("/")[1].partition("-")[0]
        state, won = game.start, [rules.won(game, game.start)]
        for command in game.walkthrough:
            assert command in admissible(game, state), (task_id, command)
            state = rules.apply(game, state, rules.parse(game, command))
            won.append(rules.won(game, state))
        assert won == [False] * len(game.walkthrough) + [True]


def test_the_sample_is_whole(real_folder):
    store = GameFolder(real_folder)
    assert {split: len(store.ids(split)) for split in store.splits} == {
        "train": 120,
        "valid_seen": 140,
        "valid_unseen": 134,
    }


def test_what_is_admissible_is_what_is_possible(real_folder):
    """On a real game, every command that can be spelt at all is listed exactly when the rules allow it."""
    store = GameFolder(real_folder)
    game = store.game(store.ids("valid_unseen")[0])
    things, places = game.objects, game.receptacles
    universe = ["look", "inventory", "help", *(f"go to {place}" for place in places)]
    universe += [f"{verb} {place}" for verb in ("open", "close", "examine") for place in places]
    universe += [f"{verb} {thing}" for verb in ("use", "examine") for thing in things]
    universe += [f"slice {thing} with {knife}" for thing in things for knife in things]
    pairs = ("take {} from {}", "move {} to {}", "clean {} with {}", "heat {} with {}", "cool {} with {}")
    universe += [pair.format(thing, place) for pair in pairs for thing in things for place in places]
    state = game.start
    for command in (*game.walkthrough, "look"):
        possible = [each for each in universe if rules.possible(game, state, rules.parse(game, each))]
        assert sorted(possible) == list(admissible(game, state))
        state = rules.apply(game, state, rules.parse(game, command))
    assert text.intro(game) == text.intro(compile_game(read_game(store.game_file(store.ids("valid_unseen")[0]))))

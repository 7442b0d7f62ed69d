"""The bundled household games: solvable games of all six task types in the official folders and files.

Invariant: the games are a function of (generator version, number of games, seed): the same
bytes on every machine and Python version. A game of a split does not depend on how many
games there are. The rooms of ``test`` are in no other split; ``dev`` has the rooms of
``train`` with things in other places.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sandgym.alfworld.domain import DOMAIN, grammar
from sandgym.alfworld.gamefile import TASK_TYPES
from sandgym.alfworld.houses import Room, build_room, scenes
from sandgym.alfworld.problem import problem_text
from sandgym.alfworld.rooms import ROOM_KINDS
from sandgym.alfworld.trials import Trial, make_trial, possible_tasks
from sandgym.bundled import ensure
from sandgym.draws import Draw

GENERATOR_VERSION = 1
BUNDLED_GAMES: dict[str, int] = {"train": 600, "dev": 100, "test": 100}
BUNDLED_SHA256 = "e76de7ff79c88154955f0ac1ec57d16b11f8faf9e8f3d244d68dd6d7c3850b08"
DATA_FOLDER = "json_2.1.1"
GAME_FILE = "game.tw-pddl"
_FIRST_NUMBER = {"train": 100_000, "dev": 200_000, "test": 300_000}


@functools.cache
def _room(scene: int, seed: int) -> Room:
    return build_room(scene, seed)


def _rooms_by_task(split: str, seed: int) -> dict[int, list[Room]]:
    """Rooms that allow a task type, in the order in which a split uses them: kinds of rooms take turns.

    Even task types begin halfway, so that a small split has more different rooms.
    """
    numbers = scenes(unseen=split == "test")
    turns = [numbers[start : start + len(ROOM_KINDS)] for start in range(0, len(numbers), len(ROOM_KINDS))]
    shuffled = Draw("rooms", GENERATOR_VERSION, seed, split).sample(turns, len(turns))
    rooms = [_room(scene, seed) for turn in shuffled for scene in turn]
    allowed = {task_type: [room for room in rooms if possible_tasks(room, task_type)] for task_type in TASK_TYPES}
    return {
        task_type: found if task_type % 2 else found[len(found) // 2 :] + found[: len(found) // 2]
        for task_type, found in allowed.items()
    }


def iter_trials(split: str, games: int, seed: int = 0) -> Iterator[tuple[str, Trial]]:
    """The first games of a split: task types take turns, and so do the rooms that allow one.

    Args:
        split: ``"train"``, ``"dev"`` or ``"test"``.
        games: how many.
        seed: of all draws.

    Yields:
        Name of the trial's folder, and the trial.
    """
    rooms = {task_type: itertools.cycle(found) for task_type, found in _rooms_by_task(split, seed).items()}
    turns = itertools.cycle(TASK_TYPES)
    for number, task_type in zip(range(games), turns, strict=False):
        name = f"trial_T{seed:08}_{_FIRST_NUMBER[split] + number}_{GENERATOR_VERSION:06}"
        yield name, make_trial(next(rooms[task_type]), task_type, GENERATOR_VERSION, seed, split, number)


def game_document(trial: Trial, name: str) -> dict[str, Any]:
    """What a trial's ``game.tw-pddl`` says, before it is written as JSON."""
    return {
        "pddl_domain": DOMAIN,
        "grammar": grammar(trial.sentence),
        "pddl_problem": problem_text(trial, name),
        "solvable": True,
        "walkthrough": list(trial.walkthrough),
    }


def _trajectory_document(trial: Trial, name: str) -> dict[str, Any]:
    """The part of ALFRED's ``traj_data.json`` by which ALFWorld lists games and sets up its expert."""
    task = trial.task
    lamp = task.task_type == 2
    return {
        "task_id": name,
        "task_type": TASK_TYPES[task.task_type],
        "scene": {"floor_plan": f"FloorPlan{trial.room.scene}", "scene_num": trial.room.scene},
        "pddl_params": {
            "object_target": task.thing,
            "object_sliced": False,
            "mrecep_target": "",
            "parent_target": "" if lamp else task.target,
            "toggle_target": task.target if lamp else "",
        },
    }


def write_games(folder: Path | str, games: Mapping[str, int] = BUNDLED_GAMES, seed: int = 0) -> Path:
    """Write games: ``<folder>/json_2.1.1/<split>/<task>-<thing>-None-<target>-<scene>/<trial>/game.tw-pddl``.

    Args:
        folder: created when missing; games of the same names are overwritten.
        games: split -> how many.
        seed: of all draws, at most eight digits.

    Returns:
        The folder.

    Raises:
        ValueError: an unknown split, or a seed out of range.
    """
    if unknown := games.keys() - BUNDLED_GAMES.keys():
        raise ValueError(f"unknown splits {sorted(unknown)}; known: {', '.join(BUNDLED_GAMES)}")
    if not 0 <= seed < 10**8:
        raise ValueError(f"the seed must be from 0 to 99999999, not {seed}")
    folder = Path(folder)
    for split, count in games.items():
        for name, trial in iter_trials(split, count, seed):
            home = folder / DATA_FOLDER / split / f"{trial.task.folder}-{trial.room.scene}" / name
            home.mkdir(parents=True, exist_ok=True)
            _write_json(home / GAME_FILE, game_document(trial, name))
            _write_json(home / "traj_data.json", _trajectory_document(trial, name))
    return folder


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document) + "\n", encoding="utf-8", newline="\n")


def ensure_bundled() -> Path:
    """The folder of the bundled games in the data root; written on first use.

    Raises:
        SandboxError: the data root cannot be written to, or the generator does not
            reproduce the games that this version of the package is pinned to.
    """
    return ensure("alfworld", GENERATOR_VERSION, BUNDLED_SHA256, write_games)

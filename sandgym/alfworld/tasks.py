"""A folder of game files in the official layout: ``[json_2.1.1/]<split>/<task>/<trial>/game.tw-pddl``.

Invariant: task ids and their order depend on names and contents only, never on the order
or times of the file system; nothing in the folder is ever written. A game that is left
out is left out for one of the original's reasons and is named in ``skipped``; a damaged
file is an error, not a smaller split.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from sandgym.alfworld.compiler import compile_game
from sandgym.alfworld.game import Game
from sandgym.alfworld.gamefile import GameFileError, parse_game, peek_game
from sandgym.core import SandboxError

GAME_FILE = "game.tw-pddl"
OFFICIAL_ROOT = "json_2.1.1"
_FETCH = "fetch the official games with `sandgym data download alfworld`, or use data='bundled'"


class Skipped(NamedTuple):
    """A game that is not played.

    Attributes:
        task_id: ``<split>/<task>/<trial>``.
        reason: why not.
    """

    task_id: str
    reason: str


class Task(NamedTuple):
    """What a split knows about a game without compiling it.

    Attributes:
        hash: SHA-256 of the game file (hexadecimal).
        task_type: 1 to 6, as in ``gamefile.TASK_TYPES``.
    """

    hash: str
    task_type: int


class GameFolder:
    """The games below a folder; a ``GameStore``. Each split is read when it is first asked for.

    Args:
        folder: holds the splits, or ``json_2.1.1`` that holds them.

    Raises:
        SandboxError: there is no such folder, or nothing in it that could be a split.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise SandboxError(f"there is no folder {folder}; {_FETCH}")
        self.root = folder / OFFICIAL_ROOT if (folder / OFFICIAL_ROOT).is_dir() else folder
        self.splits: tuple[str, ...] = tuple(name for name in _subfolders(self.root) if _has_trials(self.root / name))
        if not self.splits:
            raise SandboxError(
                f"there are no games in {folder}: expected <split>/<task>/<trial>/{GAME_FILE} in it; {_FETCH}"
            )
        self._tasks: dict[str, dict[str, Task]] = {}
        self._skipped: dict[str, tuple[Skipped, ...]] = {}

    def ids(self, split: str) -> tuple[str, ...]:
        """Task ids of a split, sorted.

        Raises:
            SandboxError: damaged game files, with their names.
        """
        return tuple(self._split(split))

    def skipped(self, split: str) -> tuple[Skipped, ...]:
        """Games of a split that are not played, sorted."""
        self._split(split)
        return self._skipped[split]

    def hash(self, task_id: str) -> str:
        """SHA-256 of a game's file; ``KeyError`` for another task."""
        return self._task(task_id).hash

    def task_type(self, task_id: str) -> int:
        """Task type of a game, 1 to 6; ``KeyError`` for another task."""
        return self._task(task_id).task_type

    def game_file(self, task_id: str) -> str:
        """Where a game's file is."""
        return str(self.root / task_id / GAME_FILE)

    def game(self, task_id: str) -> Game:
        """Read and compile a game.

        Raises:
            KeyError: no such task.
            SandboxError: the file is damaged, or is not the one that was listed.
        """
        task, path = self._task(task_id), self.root / task_id / GAME_FILE
        content = _read(path)
        if hashlib.sha256(content).hexdigest() != task.hash:
            raise SandboxError(f"{path} has changed since it was listed; start again")
        try:
            return compile_game(parse_game(_text(content)))
        except GameFileError as error:
            raise GameFileError(f"{path}: {error}") from None

    def _task(self, task_id: str) -> Task:
        return self._split(task_id.partition("/")[0])[task_id]

    def _split(self, split: str) -> dict[str, Task]:
        if split not in self._tasks:
            if split not in self.splits:
                raise KeyError(split)
            self._scan(split)
        return self._tasks[split]

    def _scan(self, split: str) -> None:
        tasks: dict[str, Task] = {}
        skipped: list[Skipped] = []
        damaged: list[str] = []
        for task_id in self._trials(split):
            try:
                found = self._inspect(task_id)
            except GameFileError as error:
                damaged.append(f"{task_id}: {error}")
                continue
            if isinstance(found, Task):
                tasks[task_id] = found
            else:
                skipped.append(Skipped(task_id, found))
        if damaged:
            raise GameFileError(
                f"{len(damaged)} damaged game files in {self.root}, the first {damaged[0]}; "
                "unpack or download them again, or remove their folders to play without them"
            )
        self._skipped[split] = tuple(skipped)
        self._tasks[split] = tasks

    def _trials(self, split: str) -> list[str]:
        return sorted(
            f"{split}/{task}/{trial}"
            for task in _subfolders(self.root / split)
            for trial in _subfolders(self.root / split / task)
        )

    def _inspect(self, task_id: str) -> Task | str:
        """What is known about a game, or why it is not played."""
        if "movable" in task_id or "Sliced" in task_id:
            return "a movable receptacle or a sliced object, which the text version does not have"
        path = self.root / task_id / GAME_FILE
        if not path.is_file():
            return f"no {GAME_FILE}"
        content = _read(path)
        task_type, solvable = peek_game(_text(content))
        if solvable is None:
            return "the file does not say whether it is solvable"
        if not solvable:
            return "unsolvable"
        return Task(hashlib.sha256(content).hexdigest(), task_type)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SandboxError(f"cannot read {path}: {error.strerror}") from error


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GameFileError(f"not UTF-8 text ({error})") from None


def _subfolders(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir())


def _has_trials(split: Path) -> bool:
    return any(_subfolders(split / task) for task in _subfolders(split))

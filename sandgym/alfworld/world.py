"""Data sets of games: what never changes while an environment lives, shared by a process.

Invariant: ``Split.key`` is a hash of the ids and contents of a split's games, so that
equal keys mean equal tasks on every machine. Memory is bounded by the games that are
being played and the ``_KEPT`` last used ones.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from sandgym.alfworld.game import Game
from sandgym.alfworld.gamefile import TASK_TYPES
from sandgym.alfworld.tasks import OFFICIAL_ROOT, GameFolder, Skipped
from sandgym.core import digest_of

ALIASES = (
    ("dev", "valid_seen", "eval_in_distribution"),
    ("test", "valid_unseen", "eval_out_of_distribution"),
)
_KEPT = 128
_log = logging.getLogger(__name__)


class GameStore(Protocol):
    """Where games come from: a folder of game files, or one packed file.

    Attributes:
        splits: names of the splits, sorted.
    """

    splits: tuple[str, ...]

    def ids(self, split: str) -> Sequence[str]:
        """Task ids ``<split>/<task>/<trial>`` of the games that are played, sorted; ``KeyError`` for another split."""

    def skipped(self, split: str) -> tuple[Skipped, ...]:
        """Games of a split that are not played, and why."""

    def game(self, task_id: str) -> Game:
        """The compiled game; ``KeyError`` for another task."""

    def hash(self, task_id: str) -> str:
        """SHA-256 of the game's file (hexadecimal); ``KeyError`` for another task."""

    def task_type(self, task_id: str) -> int:
        """Task type of a game, 1 to 6; ``KeyError`` for another task."""

    def game_file(self, task_id: str) -> str:
        """Path of the game's file, as ``info["extra.gamefile"]`` gives it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """The tasks of a split, or those of some task types.

    Attributes:
        name: as the store calls it.
        ids: task ids, sorted.
        positions: index of each id in ``ids``.
        key: content hash of the whole split (hexadecimal).
        skipped: games of the split that are not played.
    """

    name: str
    ids: tuple[str, ...]
    positions: dict[str, int]
    key: str
    skipped: tuple[Skipped, ...]


class World:
    """A data set, shared by all environments of a process.

    Args:
        data: ``"bundled"``, ``"official"`` or the folder that was named.
        store: its games.
    """

    def __init__(self, data: str, store: GameStore) -> None:
        self.data = data
        self.store = store
        self._splits: dict[tuple[str, tuple[int, ...]], Split] = {}
        self._alive: weakref.WeakValueDictionary[str, Game] = weakref.WeakValueDictionary()
        self._recent: OrderedDict[str, Game] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return (load_world, (self.data,))

    def split(self, name: str, task_types: tuple[int, ...] = tuple(TASK_TYPES)) -> Split:
        """The tasks of a split.

        Args:
            name: of a split of the data set, or another name for it (see ``ALIASES``).
            task_types: which tasks, as numbers in ascending order.

        Raises:
            ValueError: no such split, or no task of these types in it; the message lists what there is.
            SandboxError: see ``GameFolder.ids``.
        """
        name = self._resolve(name)
        key = (name, task_types)
        if key not in self._splits:
            self._splits[key] = self._select(name, task_types)
        return self._splits[key]

    def game(self, task_id: str) -> Game:
        """The compiled game of a task; the same object while somebody plays it."""
        game = self._alive.get(task_id) or self.store.game(task_id)
        with self._lock:
            game = self._alive.setdefault(task_id, game)
            self._recent[task_id] = game
            self._recent.move_to_end(task_id)
            if len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
        return game

    def _resolve(self, name: str) -> str:
        candidates = [name, *(other for group in ALIASES if name in group for other in group)]
        for candidate in candidates:
            if candidate in self.store.splits:
                return candidate
        raise ValueError(f"unknown split {name!r}; known: {', '.join(self._names())}")

    def _names(self) -> list[str]:
        splits = set(self.store.splits)
        return sorted(splits.union(*(group for group in ALIASES if splits & set(group))))

    def _select(self, name: str, task_types: tuple[int, ...]) -> Split:
        store = self.store
        everything = tuple(store.ids(name))
        skipped = tuple(store.skipped(name))
        ids = tuple(task_id for task_id in everything if store.task_type(task_id) in task_types)
        if not ids:
            asked = ", ".join(TASK_TYPES[number] for number in task_types)
            raise ValueError(
                f"split {name!r} has no task of the types asked ({asked}): "
                f"{len(everything)} games in all, {len(skipped)} skipped{_named(skipped)}"
            )
        if skipped:
            _log.warning("ALFWorld split %s: %d games are skipped%s", name, len(skipped), _named(skipped))
        key = digest_of(everything, tuple(map(store.hash, everything)))
        return Split(name, ids, {task_id: index for index, task_id in enumerate(ids)}, key, skipped)


def load_world(data: str | Path = "bundled") -> World:
    """The world of a data set; the same object until its folder or the folder of a split changes.

    Args:
        data: ``"bundled"``, ``"official"``, a folder in the official layout (see ``tasks``), or one with a
            packed file that ``sandgym data build`` wrote.

    Raises:
        SandboxError: there is no data; the message says what to do.
    """
    folder = _folder(str(data))
    return _load(folder, str(data), _stamp(folder))


@lru_cache(maxsize=8)
def _load(folder: Path, data: str, _: tuple[tuple[str, int], ...]) -> World:
    world = World(data, _open(folder))
    what = "bundled (generated, not the official games)" if data == "bundled" else data
    _log.info("ALFWorld data: %s, splits %s, in %s", what, ", ".join(world.store.splits), folder)
    return world


def _open(folder: Path) -> GameStore:
    from sandgym.alfworld import pack

    return pack.open_pack(folder) if pack.is_pack(folder) else GameFolder(folder)


def _folder(data: str) -> Path:
    if data == "bundled":
        from sandgym.alfworld.generate import ensure_bundled

        return ensure_bundled()
    if data == "official":
        from sandgym.data import official

        return official("alfworld")
    return Path(data).expanduser()


def _stamp(folder: Path) -> tuple[tuple[str, int], ...]:
    """Times of a folder, its files and its splits: a world is loaded again when they change."""
    paths = [folder, *folder.glob("*"), *folder.glob(f"{OFFICIAL_ROOT}/*")] if folder.exists() else []
    return tuple(sorted((str(path), path.stat().st_mtime_ns) for path in paths))


def _named(skipped: Sequence[Skipped]) -> str:
    """Every skipped game with its reason, for a message."""
    return "".join(f"\n  {task_id}: {reason}" for task_id, reason in skipped)

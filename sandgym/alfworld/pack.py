"""All games of a data set in one memory-mapped file, which is opened without reading the games.

Invariant: an opened pack answers like the ``GameFolder`` it was built from: the same
splits, ids, hashes, skipped games and ``Game`` values. The file appears under its name
only when it is whole, and what is read from it is what was written, or an error.

The file is a header, then blocks of JSON. The last block is the directory; it names the
block of each split, which names the blocks of its games. A block is named by where it
starts, its length and its SHA-256, so that the header's hash covers the whole file.
Values that games have in common, such as a floor plan's receptacles, are blocks of their
own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from sandgym.alfworld.game import Game
from sandgym.alfworld.tasks import GAME_FILE, GameFolder, Skipped, Task
from sandgym.core import SandboxError

PACK = "games.pack"
FORMAT = 1
_MAGIC = b"sandgym ALFWorld"
_HEADER = struct.Struct("<16sIQQQ32s")  # magic, format, file size, the directory's start and length, its SHA-256
_FIELDS = tuple(field.name for field in dataclasses.fields(Game))
_SHARED = tuple(map(_FIELDS.index, ("receptacles", "receptacle_types", "locations", "can_contain")))
_REPAIR = "run `sandgym data build alfworld` again, with --source and --out where it was built with them"

Block = tuple[int, int, str]
"""Where a block starts, its length, and its SHA-256 in hexadecimal."""
Progress = Callable[[int], None]


class PackError(SandboxError):
    """A file that is not a whole pack of this version; the message says what to run."""


def build_pack(source: str | Path, out: str | Path, *, progress: Progress | None = None) -> Path:
    """Pack all games of a folder, replacing the pack that ``out`` held.

    Args:
        source: a folder in the official layout (see ``GameFolder``).
        out: folder to put the file ``games.pack`` into.
        progress: called with the number of games done so far.

    Returns:
        The file.

    Raises:
        SandboxError: a game is damaged, or ``out`` cannot be written; nothing was changed.
    """
    games = GameFolder(Path(source))
    target = Path(out) / PACK
    temporary = target.with_name(f".{PACK}.{os.getpid()}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            _Writer(file, progress or (lambda done: None)).write(games)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise SandboxError(
            f"cannot write {target}: {error}; nothing was changed. Free space, or set SANDGYM_DATA to another folder"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return target


def is_pack(path: str | Path) -> bool:
    """Whether a folder has a pack, or a path is a file, which can be nothing else (not whether it is intact)."""
    return _file(Path(path)).is_file()


def open_pack(path: str | Path) -> GamePack:
    """Open a pack, or the one in a folder; takes the same time for any number of games.

    Raises:
        PackError: it is missing, damaged, of another version, or something else.
    """
    return GamePack(_file(Path(path)))


class GamePack:
    """The games of a pack; a ``GameStore``. Processes that open the same file share its memory.

    Attributes:
        path: of the file.
        key: SHA-256 that covers the whole content (hexadecimal).
        splits: names of the splits, sorted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._memory, directory = _map(path)
        self.key = directory[2]
        content = self._read(directory)
        if tuple(content["fields"]) != _FIELDS:
            raise PackError(f"{path} was built by another version of sandgym; {_REPAIR}")
        self.splits: tuple[str, ...] = tuple(content["splits"])
        self._split_blocks: dict[str, Block] = content["splits"]
        self._shared_blocks: list[Block] = content["shared"]
        self._shared_values: dict[int, Any] = {}
        self._tasks: dict[str, dict[str, tuple[Task, Block]]] = {}
        self._skipped: dict[str, tuple[Skipped, ...]] = {}

    def ids(self, split: str) -> tuple[str, ...]:
        """See ``GameStore``."""
        return tuple(self._split(split))

    def skipped(self, split: str) -> tuple[Skipped, ...]:
        """See ``GameStore``."""
        self._split(split)
        return self._skipped[split]

    def hash(self, task_id: str) -> str:
        """See ``GameStore``."""
        return self._task(task_id)[0].hash

    def task_type(self, task_id: str) -> int:
        """See ``GameStore``."""
        return self._task(task_id)[0].task_type

    def game_file(self, task_id: str) -> str:
        """Where a game's file would be if the pack were a folder."""
        return f"{self.path}{os.sep}{task_id}{os.sep}{GAME_FILE}"

    def game(self, task_id: str) -> Game:
        """See ``GameStore``.

        Raises:
            PackError: the file is damaged.
        """
        values = self._read(self._task(task_id)[1])
        for field in _SHARED:
            values[field] = self._shared(values[field])
        return Game.from_record(_tuples(values))

    def check(self) -> None:
        """Read everything.

        Raises:
            PackError: the file is damaged.
        """
        for split in self.splits:
            for task_id in self.ids(split):
                self.game(task_id)

    def _task(self, task_id: str) -> tuple[Task, Block]:
        return self._split(task_id.partition("/")[0])[task_id]

    def _split(self, split: str) -> dict[str, tuple[Task, Block]]:
        tasks = self._tasks.get(split)
        if tasks is None:
            content = self._read(self._split_blocks[split])
            self._skipped[split] = tuple(Skipped(*each) for each in content["skipped"])
            tasks = self._tasks[split] = {
                task_id: (Task(digest, task_type), block) for task_id, digest, task_type, block in content["tasks"]
            }
        return tasks

    def _shared(self, number: int) -> Any:
        if number not in self._shared_values:
            self._shared_values[number] = _tuples(self._read(self._shared_blocks[number]))
        return self._shared_values[number]

    def _read(self, block: Block) -> Any:
        start, length, digest = block
        content = self._memory[start : start + length]
        if hashlib.sha256(content).hexdigest() != digest:
            raise PackError(f"{self.path} is damaged: it has changed since it was built; {_REPAIR}")
        return json.loads(content.decode("ascii"))


class _Writer:
    """Writes a pack block by block."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self.file = file
        self.progress = progress
        self.done = 0
        self.shared: dict[Any, int] = {}
        self.shared_blocks: list[Block] = []

    def write(self, games: GameFolder) -> None:
        """Write all splits of a folder, then the directory and the header that finds it."""
        self.file.write(bytes(_HEADER.size))
        splits = {split: self._write_split(games, split) for split in games.splits}
        directory = {"fields": _FIELDS, "splits": splits, "shared": self.shared_blocks}
        start, length, digest = self._block(directory)
        self.file.seek(0)
        self.file.write(_HEADER.pack(_MAGIC, FORMAT, start + length, start, length, bytes.fromhex(digest)))

    def _write_split(self, games: GameFolder, split: str) -> Block:
        tasks = []
        for task_id in games.ids(split):
            block = self._block(self._record(games.game(task_id)))
            tasks.append((task_id, games.hash(task_id), games.task_type(task_id), block))
            self.done += 1
            self.progress(self.done)
        return self._block({"tasks": tasks, "skipped": games.skipped(split)})

    def _record(self, game: Game) -> list[Any]:
        """The game's values, with numbers of shared blocks in the place of shared values."""
        values = list(game.record())
        for field in _SHARED:
            number = self.shared.setdefault(values[field], len(self.shared))
            if number == len(self.shared_blocks):
                self.shared_blocks.append(self._block(values[field]))
            values[field] = number
        return values

    def _block(self, value: Any) -> Block:
        content = json.dumps(value, separators=(",", ":")).encode("ascii")
        start = self.file.tell()
        self.file.write(content)
        return start, len(content), hashlib.sha256(content).hexdigest()


def _file(path: Path) -> Path:
    return path if path.is_file() else path / PACK


def _map(path: Path) -> tuple[mmap.mmap, Block]:
    """The memory of a pack whose header and size are right, and the block of its directory."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            found = os.fstat(file.fileno()).st_size
            if len(header) < _HEADER.size or not header.startswith(_MAGIC):
                raise PackError(f"{path} is not a pack of ALFWorld games; {_REPAIR}")
            _, version, size, start, length, digest = _HEADER.unpack(header)
            if version != FORMAT:
                raise PackError(f"{path} has format {version}, this version reads {FORMAT}; {_REPAIR}")
            if not found == size == start + length:
                raise PackError(f"{path} is cut off or damaged: it has {found:,} bytes of {size:,}; {_REPAIR}")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), (start, length, digest.hex())
    except FileNotFoundError:
        raise PackError(f"there is no pack {path}; {_REPAIR}") from None
    except OSError as error:
        raise PackError(f"cannot read {path}: {error.strerror}") from error


def _tuples(values: list[Any]) -> tuple[Any, ...]:
    """A list, and the lists in it, as tuples."""
    return tuple([_tuples(value) if type(value) is list else value for value in values])

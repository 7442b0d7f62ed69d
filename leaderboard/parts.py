"""Parts of a submission, replayed in parallel, and those that have passed before remembered.

Invariant: a part is remembered by the hash of everything that its result depends on, this code included;
only parts without a problem are, and what waits to be replayed is bounded.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium

from leaderboard.problems import Problem
from leaderboard.record import open_panel
from leaderboard.records import decode
from leaderboard.replay import replay
from leaderboard.schema import Shown
from leaderboard.submission import Folder
from sandgym.core import digest_of
from sandgym.data import data_root
from sandgym.panels import Panel

PART = 20  # episodes that are replayed together
_CODE = ("sandgym", "leaderboard")  # packages that decide what a replay gives


@dataclass(frozen=True)
class Options:
    """How a verification runs.

    Attributes:
        jobs: processes.
        overrides: arguments of the environment that say where its data and sandboxes are.
        fresh: whether everything is replayed, whatever was verified before.
    """

    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False


@dataclass(frozen=True)
class Part:
    """Some episodes in a row, as lines of the file, and the places of their tasks in the panel."""

    lines: tuple[bytes, ...]
    places: tuple[int, ...]


def replayed(folder: Folder, options: Options, parts: Iterable[Part]) -> Iterator[tuple[Part, list[Problem] | None]]:
    """Each part, as it is done, and its problems; none in place of a list for a part that had passed before.

    Raises:
        SandboxError: the machine failed; what has passed is remembered.
    """
    key = _Memory(folder, options)
    if options.jobs <= 1:
        with closing(_Replayer(folder.panel, folder.submission.shown, options.overrides)) as replayer:
            for part in parts:
                yield part, None if key.knows(part) else key.keep(part, replayer(part))
        return
    context = multiprocessing.get_context("spawn")
    arguments = (folder.panel.to_json(), folder.submission.shown.model_dump_json(), dict(options.overrides))
    running: dict[Future[list[Problem]], Part] = {}
    with ProcessPoolExecutor(options.jobs, context, _start, arguments) as pool:
        try:
            for part in parts:
                if key.knows(part):
                    yield part, None
                    continue
                running[pool.submit(_work, part)] = part
                if len(running) >= 2 * options.jobs:  # what waits is bounded, and so is memory
                    yield from _finished(running, key)
            while running:
                yield from _finished(running, key)
        finally:
            pool.shutdown(cancel_futures=True)


def _finished(running: dict[Future[list[Problem]], Part], key: _Memory) -> Iterator[tuple[Part, list[Problem] | None]]:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        part = running.pop(future)
        yield part, key.keep(part, future.result())


class _Replayer:
    """Replays parts in an environment of its own."""

    def __init__(self, panel: Panel, visible: Shown, overrides: Mapping[str, Any]) -> None:
        self._panel, self._visible, self._overrides = panel, visible, overrides
        self._env: gymnasium.Env[Any, Any] | None = None

    def __call__(self, part: Part) -> list[Problem]:
        if self._env is None:
            self._env = open_panel(self._panel, self._visible, **self._overrides)
        problems: list[Problem] = []
        for line, place in zip(part.lines, part.places, strict=True):
            problems += replay(self._env, self._panel, decode(line), place)
        return problems

    def close(self) -> None:
        if self._env is not None:
            self._env.close()


_replayer: _Replayer | None = None  # of a process of the pool


def _start(panel: str, visible: str, overrides: dict[str, Any]) -> None:
    import sandgym  # noqa: F401  registers the environments

    global _replayer
    _replayer = _Replayer(Panel.from_json(panel), Shown.model_validate_json(visible), overrides)
    atexit.register(_replayer.close)


def _work(part: Part) -> list[Problem]:
    assert _replayer is not None
    return _replayer(part)


class _Memory:
    """Parts that have passed on this machine, with this code, by content hash."""

    def __init__(self, folder: Folder, options: Options) -> None:
        self._root = data_root() / "leaderboard" / "verified"
        self._fresh = options.fresh
        self._prefix = digest_of(code_hash(), folder.panel.to_json(), folder.submission.shown.model_dump_json())

    def knows(self, part: Part) -> bool:
        return not self._fresh and self._path(part).is_file()

    def keep(self, part: Part, problems: list[Problem]) -> list[Problem]:
        if not problems:
            path = self._path(part)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return problems

    def _path(self, part: Part) -> Path:
        name = digest_of(self._prefix, part.lines, part.places)
        return self._root / name[:2] / name


@functools.cache
def code_hash() -> str:
    """Of the code that decides what a replay gives."""
    digest = hashlib.sha256()
    base = Path(__file__).resolve().parents[1]
    for package in _CODE:
        for path in sorted((base / package).rglob("*.py")):
            digest.update(f"{path.relative_to(base)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()

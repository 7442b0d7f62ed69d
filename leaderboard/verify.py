"""A whole submission replayed, in parallel, going on where an earlier verification stopped.

Invariant: a submission passes only if every task of the panel was played once by each seed and sample,
in order, and every replayed number equals the submitted one. Time and memory are bounded by the panel.
A part is remembered by the hash of everything that its result depends on, this code included.
"""

from __future__ import annotations

import functools
import hashlib
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from leaderboard.problems import Problem, SubmissionError, shown
from leaderboard.record import Key, open_panel
from leaderboard.records import decode
from leaderboard.replay import check_chain, replay
from leaderboard.schema import Episode, Shown
from leaderboard.submission import Folder, read
from sandgym.core import digest_of
from sandgym.data import data_root
from sandgym.panels import Panel

PART = 20  # episodes that are replayed together
MOST_PROBLEMS = 20  # after which a verification stops
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
class Verified:
    """A submission that passed.

    Attributes:
        folder: it.
        success: of shape (tasks, runs, samples); 0 or 1.
        score: of the same shape; in [0, 1].
        steps: of the same shape.
        replayed: episodes that were replayed now; the others had been before.
    """

    folder: Folder
    success: npt.NDArray[np.float64]
    score: npt.NDArray[np.float64]
    steps: npt.NDArray[np.float64]
    replayed: int


@dataclass(frozen=True)
class Part:
    """Some episodes in a row, as lines of the file, and the places of their tasks in the panel."""

    lines: tuple[bytes, ...]
    places: tuple[int, ...]


def verify(path: Path, options: Options | None = None, progress: Callable[[int, int], None] | None = None) -> Verified:
    """Verify a submission.

    Args:
        path: its folder.
        options: see ``Options``.
        progress: called with (episodes done, episodes in all).

    Raises:
        SubmissionError: it is refused; says why.
        PanelMismatch, SandboxError: this machine cannot verify it.
    """
    options = options or Options()
    folder = read(path)
    _check_environment(folder, options)
    collected = _Collected.of(folder)
    replayed, done, problems = 0, 0, list[Problem]()
    for part, found in _verified(folder, options, collected):
        done += len(part.lines)
        replayed += len(part.lines) if found is not None else 0
        problems += found or ()
        if progress is not None:
            progress(done, folder.limits.episodes)
        if len(problems) >= MOST_PROBLEMS:
            break
    if problems:
        raise SubmissionError(*problems[:MOST_PROBLEMS])
    _check_claims(folder, collected)
    return collected.verified(replayed)


def without_replay(path: Path) -> Verified:
    """A submission that is whole, in order and consistent in itself, whether or not its actions give its numbers.

    Raises:
        SubmissionError: it is refused; says why.
    """
    folder = read(path)
    collected = _Collected.of(folder)
    for episode, _, _ in structure(folder):
        collected.add(episode)
    _check_claims(folder, collected)
    return collected.verified(0)


def structure(folder: Folder) -> Iterator[tuple[Episode, int, bytes]]:
    """Episodes with their tasks' places and lines, checked for completeness, order and chain.

    Raises:
        SubmissionError: naming the first episode that is missing, repeated, out of order or not whole.
    """
    expected = iter(folder.expected())
    seen: set[tuple[str, int, int]] = set()
    for line in folder.lines():
        episode = decode(line)
        key = Key(*next(expected))
        found = (episode.task, episode.seed, episode.sample)
        if found != (key.task, key.seed, key.sample):
            raise SubmissionError(_out_of_place(folder, key, found, seen))
        if problems := check_chain(episode, folder.panel):
            raise SubmissionError(*problems)
        seen.add(found)
        yield episode, key.place, line
    for task, _, seed, sample in expected:
        raise SubmissionError(Problem("is missing; the file ends before it", task, seed, sample))


def _out_of_place(folder: Folder, key: Key, found: tuple[str, int, int], seen: set[tuple[str, int, int]]) -> Problem:
    if found in seen:
        return Problem("is there twice", *found)
    if found not in {(task, seed, sample) for task, _, seed, sample in folder.expected()}:
        return Problem("does not belong in this submission: no such task, seed or sample", *found)
    task, seed, sample = found
    instead = f"task {shown(task)}, seed {seed}, sample {sample}"
    return Problem(f"is missing or out of order; in its place is {instead}", key.task, key.seed, key.sample)


@dataclass
class _Collected:
    """What the episodes of a submission say, while they are read."""

    folder: Folder
    columns: npt.NDArray[np.float64]
    count: int = 0

    @classmethod
    def of(cls, folder: Folder) -> _Collected:
        submission = folder.submission
        shape = (3, len(submission.runs), submission.sampling.samples, len(folder.panel.task_ids))
        return cls(folder, np.zeros(shape))

    def add(self, episode: Episode) -> None:
        flat = self.columns.reshape(3, -1)
        flat[:, self.count] = episode.success, episode.score, len(episode.steps)
        self.count += 1

    def verified(self, replayed: int) -> Verified:
        success, score, steps = np.moveaxis(self.columns, 3, 1)
        return Verified(self.folder, success, score, steps, replayed)


def _check_environment(folder: Folder, options: Options) -> None:
    try:
        open_panel(folder.panel, folder.submission.shown, **options.overrides).close()
    except (ValueError, TypeError) as error:
        raise SubmissionError(f"the environment refuses what is shown: {shown(str(error))}") from None


def _check_claims(folder: Folder, collected: _Collected) -> None:
    claims = folder.submission.claims
    means = claimed(collected.columns[0], collected.columns[1])
    for name, value in zip(("success", "score"), means, strict=True):
        if getattr(claims, name) != value:
            raise SubmissionError(f"claims.{name} is {getattr(claims, name)!r}; the replay gives {value!r}")


def claimed(success: npt.NDArray[np.float64], score: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The two means that a submission claims, of all episodes in the order of the file, to nine decimals."""
    return mean(success), mean(score)


def mean(values: npt.NDArray[np.float64]) -> float:
    """Of all values, summed exactly, so that every machine gives the same; to nine decimals."""
    return round(math.fsum(values.ravel().tolist()) / values.size, 9)


def _parts(folder: Folder, collected: _Collected) -> Iterator[Part]:
    lines: list[bytes] = []
    places: list[int] = []
    for episode, place, line in structure(folder):
        collected.add(episode)
        lines.append(line)
        places.append(place)
        if len(lines) == PART:
            yield Part(tuple(lines), tuple(places))
            lines, places = [], []
    if lines:
        yield Part(tuple(lines), tuple(places))


def _verified(folder: Folder, options: Options, collected: _Collected) -> Iterator[tuple[Part, list[Problem] | None]]:
    """Each part and its problems; none in place of a list for a part that had passed before."""
    key = _Memory(folder, options)
    parts = _parts(folder, collected)
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
    import atexit

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

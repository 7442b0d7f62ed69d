"""A whole submission replayed, in parallel, going on where an earlier verification stopped.

Invariant: a submission passes only if every task of the panel was played once by each seed and sample,
in order, and every replayed number equals the submitted one. Time and memory are bounded by the panel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leaderboard.parts import PART, Options, Part, replayed
from leaderboard.problems import Problem, SubmissionError, shown
from leaderboard.record import Key, open_panel
from leaderboard.records import decode
from leaderboard.replay import check_chain
from leaderboard.schema import Episode
from leaderboard.submission import Folder, read

__all__ = ["Options", "Verified", "claimed", "structure", "verify", "without_replay"]

MOST_PROBLEMS = 20  # after which a verification stops


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
    count, done, problems = 0, 0, list[Problem]()
    for part, found in replayed(folder, options, _parts(folder, collected)):
        done += len(part.lines)
        count += len(part.lines) if found is not None else 0
        problems += found or ()
        if progress is not None:
            progress(done, folder.limits.episodes)
        if len(problems) >= MOST_PROBLEMS:
            break
    if problems:
        raise SubmissionError(*problems[:MOST_PROBLEMS])
    _check_claims(folder, collected)
    return collected.verified(count)


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

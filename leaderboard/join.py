"""One submission from several: a method trained with several seeds, each evaluated with a seed of its own.

Invariant: only what differs from seed to seed may differ between what is joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leaderboard import submission, submit
from leaderboard.problems import SubmissionError, shown
from leaderboard.records import decode
from leaderboard.schema import Submission

_SAME = ("panel", "shown", "method", "model", "sampling", "track", "code", "disclosure", "contact")
_SEEDS = ("seed", "evaluation")  # settings that hold the seeds of a run


def join(paths: Sequence[Path], out: Path) -> Submission:
    """Write the submission of all runs of several submissions.

    Args:
        paths: folders of at least two submissions.
        out: folder to write, empty or absent.

    Raises:
        SubmissionError: one is not whole, or they differ in more than their seeds.
        FileExistsError: there is something in ``out``.
    """
    folders = [submission.read(path) for path in paths]
    first = folders[0].submission
    for folder in folders[1:]:
        _check_alike(first, folder.submission, folder.path)
    facts = submit.Facts(
        shown=first.shown,
        method=first.method,
        model=first.model,
        runs=tuple(run for folder in folders for run in folder.submission.runs),
        sampling=first.sampling,
        track=first.track,
        config=_without_seeds(first.config),
        compute=first.compute.model_copy(
            update={
                part: _summed([getattr(folder.submission.compute, part) for folder in folders])
                for part in ("training", "evaluation")
            }
        ),
        code=first.code,
        disclosure=first.disclosure,
        contact=first.contact,
    )
    return submit.write(out, folders[0].panel, facts, [decode(line) for each in folders for line in each.lines()])


def _check_alike(first: Submission, other: Submission, path: Path) -> None:
    for key in _SAME:
        one, another = getattr(first, key), getattr(other, key)
        if one != another:
            raise SubmissionError(f"{shown(str(path))} differs in {key}: {shown(another)}, the first has {shown(one)}")
    if _without_seeds(first.config) != _without_seeds(other.config):
        raise SubmissionError(f"{shown(str(path))} differs in config, not only in its seeds")
    if taken := {run.evaluation_seed for run in first.runs} & {run.evaluation_seed for run in other.runs}:
        raise SubmissionError(
            f"{shown(str(path))} was evaluated with seed {min(taken)}, as the first was; "
            "each run needs its own: sandgym eval --seed"
        )


def _without_seeds(config: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if config is None else {key: value for key, value in config.items() if key not in _SEEDS}


def _summed(ledgers: Sequence[dict[str, float]]) -> dict[str, float]:
    columns = sorted({column for ledger in ledgers for column in ledger})
    return {column: round(sum(ledger.get(column, 0.0) for ledger in ledgers), 3) for column in columns}

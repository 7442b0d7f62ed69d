"""From verified submissions to the rows of the pages.

Invariant: rows follow from episodes and ``submission.yaml`` alone; nothing is typed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from leaderboard import panels, statistics
from leaderboard.problems import SubmissionError
from leaderboard.records import MAX_FILE, read_bytes
from leaderboard.statistics import Interval
from leaderboard.verify import Options, Verified, verify

REFERENCES = "references.json"
_DECIMALS = 4

Row = dict[str, Any]
Report = Callable[[str, int, int], None]
"""Called with the submission at work, and the episodes of it that are done and that there are."""


def submissions(root: Path) -> list[Path]:
    """Folders of a leaderboard's submissions, sorted.

    Raises:
        SubmissionError: something else lies among them.
    """
    base = root / "submissions"
    environments = {panels.folder_of(name) for name in panels.DEFINITIONS}
    found: list[Path] = []
    if root.is_symlink() or base.is_symlink():
        raise SubmissionError("a leaderboard's folder of submissions is no link")
    for folder in sorted(base.iterdir()) if base.is_dir() else ():
        if folder.name not in environments or folder.is_symlink() or not folder.is_dir():
            raise SubmissionError(f"{folder.name!a} does not belong in {base.name}")
        for path in sorted(folder.iterdir()):
            if not panels.FOLDER_NAME.fullmatch(path.name):
                raise SubmissionError(f"{path.name!a} is not named <date>-<words in small letters>")
            found.append(path)
    return found


def changed(root: Path, base: Path) -> list[Path]:
    """Folders of submissions that another leaderboard does not have, or has with other content.

    Raises:
        SubmissionError: one that the other has is gone, or something else lies among the submissions.
    """
    here, there = ({path.relative_to(each): path for path in submissions(each)} for each in (root, base))
    if gone := sorted(set(there) - set(here)):
        raise SubmissionError(*(f"{'/'.join(path.parts[1:])} is removed" for path in gone))
    return [path for name, path in here.items() if name not in there or _content(path) != _content(there[name])]


def _content(path: Path) -> dict[str, bytes | None]:
    """Files of a submission; nothing for what cannot be one."""
    found: dict[str, bytes | None] = {}
    for member in path.iterdir():
        try:
            found[member.name] = read_bytes(member, MAX_FILE)
        except SubmissionError:
            found[member.name] = None
    return found


def verify_all(paths: Sequence[Path], options: Options, report: Report | None = None) -> list[Verified]:
    """Verify submissions; the error names all that are refused.

    Raises:
        SubmissionError: see ``verify.verify``.
    """
    passed: list[Verified] = []
    for path in paths:
        name = f"{path.parent.name}/{path.name}"
        told = (lambda done, total, name=name: report(name, done, total)) if report is not None else None
        try:
            passed.append(verify(path, options, told))
        except SubmissionError as error:
            raise SubmissionError(f"{name}: {error.problems[0]}", *error.problems[1:]) from None
    return passed


def results(verified: Sequence[Verified], references: Mapping[str, str]) -> dict[str, Any]:
    """Everything that the pages show, by panel; rows from the best to the worst success.

    Args:
        verified: submissions, at most one of each path.
        references: by panel, the submission that others are compared with, as ``<folder>/<name>``.
    """
    return {"panels": {name: _panel(name, verified, references.get(name)) for name in panels.names()}}


def load_references(root: Path) -> dict[str, str]:
    """The submission of each panel that others are compared with."""
    path = root / REFERENCES
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def _panel(name: str, verified: Sequence[Verified], reference: str | None) -> dict[str, Any]:
    panel = panels.load(name)
    mine = [each for each in verified if each.folder.panel.name == name]
    compared = next((each for each in mine if _path(each) == reference), None)
    strata = [statistics.stratum(task) for task in panel.task_ids]
    success = [statistics.interval(_flat(each.success), strata) for each in mine]
    ranked = [index for index, each in enumerate(mine) if each.folder.submission.track != "reference"]
    places = dict(zip(ranked, statistics.ranks([success[index] for index in ranked]), strict=True))
    rows = [_row(each, success[i], strata, places.get(i), compared) for i, each in enumerate(mine)]
    rows.sort(key=lambda row: (-row["success"]["value"], -row["score"]["value"], row["path"]))
    return {
        "env_id": panel.env_id,
        "tasks": len(panel.task_ids),
        "horizon": panel.horizon,
        "content_hash": panel.content_hash,
        "reference": reference if compared is not None else None,
        "rows": rows,
    }


def _row(
    verified: Verified, success: Interval, strata: Sequence[str], rank: int | None, compared: Verified | None
) -> Row:
    submission, score = verified.folder.submission, _flat(verified.score)
    versus = None
    if compared is not None and compared is not verified:
        versus = statistics.paired(_flat(verified.success), _flat(compared.success), strata)
    return {
        "path": _path(verified),
        "rank": rank,
        "method": submission.method.name,
        "algorithm": submission.method.algorithm,
        "model": submission.model.name,
        "track": submission.track,
        "temperature": submission.sampling.temperature,
        "top_p": submission.sampling.top_p,
        "top_k": submission.sampling.top_k,
        "runs": len(submission.runs),
        "samples": submission.sampling.samples,
        "episodes": int(verified.success.size),
        "success": _rounded(success),
        "score": _rounded(statistics.interval(score, strata)),
        "interquartile_mean": _rounded(statistics.interval(score, strata, statistics.interquartile_mean)),
        "difference": _rounded(versus) if versus is not None else None,
        "steps": round(float(verified.steps.mean()), _DECIMALS),
        "per_seed": [
            {
                "seed": run.evaluation_seed,
                "training_seed": run.training_seed,
                "success": round(float(verified.success[:, index].mean()), _DECIMALS),
                "score": round(float(verified.score[:, index].mean()), _DECIMALS),
            }
            for index, run in enumerate(submission.runs)
        ],
        "training": dict(sorted(submission.compute.training.items())),
        "overlap": submission.disclosure.overlap,
        "code": submission.code.version,
    }


def _flat(values: statistics.Floats) -> statistics.Floats:
    """Of shape (tasks, episodes of each)."""
    return np.ascontiguousarray(values.reshape(len(values), -1))


def _rounded(found: Interval) -> dict[str, float]:
    return {key: round(value, _DECIMALS) for key, value in vars(found).items()}


def _path(verified: Verified) -> str:
    path = verified.folder.path
    return f"{path.parent.name}/{path.name}"

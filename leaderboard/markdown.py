"""Tables in Markdown: the leaderboard's README, and what a check of submissions found.

Invariant: a text from a submission can neither leave its cell nor format, link or mention anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leaderboard.problems import SubmissionError
from leaderboard.results import Row
from leaderboard.verify import Verified

_PLAIN = re.compile(r"[^\w ,.()+%-]|_", re.ASCII)
_TOLD = 5  # problems of a submission in a comment, which has a limit
PROOF = (
    "Every number is computed from episodes that `sandgym leaderboard verify` replays. That proves that a score "
    "follows from the submitted actions, not who chose them: method, model and compute are the authors' own words."
)
LEGEND = (
    "success and score in percent [95 % interval: stratified bootstrap over tasks]; IQM is the mean of all episodes' "
    "scores without the lowest and the highest quarter; the difference is that of success from the panel's reference, "
    "in points, on the same tasks; the rank counts the methods that are better beyond the intervals, so that "
    "overlapping ones tie; references have no rank."
)
_HEADER = (
    *("rank", "method", "track", "success", "score", "IQM", "difference", "success by seed", "episodes", "sampling"),
    "overlap",
)


def escape(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _PLAIN.sub(lambda match: f"&#{ord(match[0])};", text)


def readme(results: dict[str, Any]) -> str:
    """The leaderboard's README."""
    parts = [
        "# Leaderboard",
        PROOF,
        f"In the tables: {LEGEND}",
        "[CONTRIBUTING.md](CONTRIBUTING.md) says how to submit; `sandgym leaderboard verify` checks all of this on "
        "your machine, without a model. [results.json](results.json) has the same numbers, and "
        "[site/index.html](site/index.html) is a page that sorts them. This file is written by "
        "`sandgym leaderboard render`.",
    ]
    for name, panel in results["panels"].items():
        parts.append(f"## {name}")
        parts.append(
            f"{panel['tasks']} tasks of `{panel['env_id']}`, at most {panel['horizon']} actions each; "
            f"content `{panel['content_hash'][:12]}`."
        )
        rows = [_cells(row) for row in panel["rows"]]
        parts.append(_table(_HEADER, rows) if rows else "No submission yet.")
    return "\n\n".join(parts) + "\n"


def checks(found: Sequence[tuple[Path, Verified | Exception]]) -> str:
    """What a check of submissions found, for a comment on a pull request.

    Args:
        found: by folder, the submission that passed, the ``SubmissionError`` that refuses it, or the error that
            kept this machine from verifying it.
    """
    rows = []
    for path, result in found:
        name = escape(f"{path.parent.name}/{path.name}")
        if isinstance(result, SubmissionError):
            told = "<br>".join(escape(str(problem)) for problem in result.problems[:_TOLD])
            rows.append((name, "refused", "", "", told))
            continue
        if isinstance(result, Exception):
            rows.append((name, "not verified here", "", "", escape(str(result))))
            continue
        claims = result.folder.submission.claims
        numbers = (f"{100 * claims.success:.1f}", f"{100 * claims.score:.1f}")
        rows.append((name, "verified", *numbers, f"{claims.episodes} episodes replayed"))
    if not rows:
        return "No submission is changed.\n"
    return _table(("submission", "check", "success, %", "score, %", "what was found"), rows) + "\n"


def number(measure: dict[str, float]) -> str:
    """A share in percent with its interval."""
    return f"{100 * measure['value']:.1f} [{100 * measure['low']:.1f}, {100 * measure['high']:.1f}]"


def points(measure: dict[str, float] | None) -> str:
    """A difference in points with its interval; empty without one."""
    if measure is None:
        return ""
    return f"{100 * measure['value']:+.1f} [{100 * measure['low']:+.1f}, {100 * measure['high']:+.1f}]"


def sampling(row: Row) -> str:
    """How a row's actions were drawn, in words."""
    temperature = row["temperature"]
    if temperature is None:
        return "no model"
    if temperature == 0:
        return "greedy"
    cut = [f"{name} {row[name]:g}" for name in ("top_p", "top_k") if row[name] is not None]
    return ", ".join([f"temperature {temperature:g}", *cut])


def played(row: Row) -> str:
    """How many episodes a row has, in words: runs x samples x tasks."""
    return f"{row['episodes']} ({row['runs']} x {row['samples']})"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        "" if row["rank"] is None else str(row["rank"]),
        f"[{escape(row['method'])}](submissions/{row['path']}/README.md)",
        row["track"],
        number(row["success"]),
        number(row["score"]),
        f"{100 * row['interquartile_mean']['value']:.1f}",
        points(row["difference"]),
        ", ".join(f"{100 * run['success']:.1f}" for run in row["per_seed"]),
        played(row),
        sampling(row),
        row["overlap"],
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

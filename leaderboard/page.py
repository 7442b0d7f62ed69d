"""The page: one static file with a table and a figure for each panel, whose columns sort.

Invariant: every text from a submission is escaped, and the page allows no script but its own, by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources
from typing import Any

from leaderboard import markdown
from leaderboard.figure import figure
from leaderboard.results import Row

_COLUMNS = (
    ("rank", "number"),
    ("method", "text"),
    ("track", "text"),
    ("success, %", "number"),
    ("score, %", "number"),
    ("IQM, %", "number"),
    ("difference, points", "number"),
    ("steps", "number"),
    ("trained: environment steps", "number"),
    ("trained: tokens", "number"),
    ("episodes", "number"),
    ("sampling", "text"),
    ("overlap", "text"),
)


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    style, script = _asset("page.css"), _asset("page.js")
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hashed}'"
    sections = "\n".join(_section(name, panel) for name, panel in results["panels"].items())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>sandgym leaderboard</title>
<style>
{style}</style>
</head>
<body>
<h1>sandgym leaderboard</h1>
<p>{escape(markdown.PROOF).replace("`sandgym leaderboard verify`", "<code>sandgym leaderboard verify</code>")}</p>
<p class="legend">In the tables: {escape(markdown.LEGEND)} Click on a heading to sort by it.</p>
{sections}
<script>{script}</script>
</body>
</html>
"""


def _section(name: str, panel: dict[str, Any]) -> str:
    head = (
        f'<section id="{escape(name.replace("/", "-"))}">\n<h2>{escape(name)}</h2>\n<p>{panel["tasks"]} tasks of '
        f"<code>{escape(panel['env_id'])}</code>, at most {panel['horizon']} actions each; content "
        f"<code>{escape(panel['content_hash'][:12])}</code></p>"
    )
    if not panel["rows"]:
        return f"{head}\n<p>No submission yet.</p>\n</section>"
    headings = "".join(
        f'<th scope="col" data-kind="{kind}"><button type="button">{title}</button></th>' for title, kind in _COLUMNS
    )
    rows = "\n".join(_row(row) for row in panel["rows"])
    table = f"<table>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    return f'{head}\n<div class="scroll">{table}</div>\n{figure(panel["rows"])}\n</section>'


def _row(row: Row) -> str:
    link = f'<a href="../submissions/{escape(row["path"])}/README.md">{escape(row["method"])}</a>'
    trained = row["training"]
    cells = (
        (row["rank"], "" if row["rank"] is None else str(row["rank"])),
        (row["method"], link),
        (row["track"], escape(row["track"])),
        (row["success"]["value"], _per_seed(row)),
        (row["score"]["value"], _number(row["score"])),
        (row["interquartile_mean"]["value"], f"{100 * row['interquartile_mean']['value']:.1f}"),
        (row["difference"] and row["difference"]["value"], _spaced(markdown.points(row["difference"]))),
        (row["steps"], f"{row['steps']:.1f}"),
        (trained.get("env_steps"), _count(trained.get("env_steps"))),
        (trained.get("trained_tokens"), _count(trained.get("trained_tokens"))),
        (row["episodes"], markdown.played(row)),
        (markdown.sampling(row), markdown.sampling(row)),
        (row["overlap"], escape(row["overlap"])),
    )
    made = "".join(
        f'<td data-value="{"" if value is None else escape(str(value))}">{told}</td>' for value, told in cells
    )
    return f"<tr>{made}</tr>"


def _number(measure: dict[str, float]) -> str:
    return _spaced(markdown.number(measure))


def _spaced(number: str) -> str:
    """A number and, smaller, its interval."""
    value, _, interval = number.partition(" ")
    return f'{value} <span class="interval">{interval}</span>' if interval else value


def _per_seed(row: Row) -> str:
    """What each run of a row earned, as a hint."""
    told = "; ".join(
        f"seed {run['seed']}: success {100 * run['success']:.1f} %, score {100 * run['score']:.1f}"
        for run in row["per_seed"]
    )
    return f'<span title="{escape(told)}">{_number(row["success"])}</span>'


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _asset(name: str) -> str:
    return resources.files("leaderboard").joinpath("assets", name).read_text(encoding="utf-8")

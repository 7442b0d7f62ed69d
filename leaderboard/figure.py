"""A figure of one panel: each method's success with its interval, as SVG.

Invariant: it is a function of the rows, and every text in it is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from leaderboard.results import Row

_LEFT, _WIDTH, _RIGHT, _ROW, _TOP, _BOTTOM = 240, 520, 60, 26, 8, 40
_LONGEST = 34  # characters of a label


def figure(rows: Sequence[Row]) -> str:
    """Success in percent of each row, from top to bottom."""
    height = _TOP + _ROW * len(rows) + _BOTTOM
    axis = _TOP + _ROW * len(rows)
    parts = [
        f'<svg viewBox="0 0 {_LEFT + _WIDTH + _RIGHT} {height}" role="img" '
        'aria-label="success in percent with 95 % intervals">'
    ]
    for percent in range(0, 101, 20):
        x = _x(percent / 100)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{axis}"/>')
        parts.append(f'<text class="tick" x="{x}" y="{axis + 16}">{percent}</text>')
    parts.append(f'<text class="tick" x="{_x(0.5)}" y="{axis + 33}">success, % [95 % interval]</text>')
    for index, row in enumerate(rows):
        parts += _mark(row, _TOP + _ROW * index + _ROW / 2)
    return "\n".join([*parts, "</svg>"])


def _mark(row: Row, y: float) -> list[str]:
    success = row["success"]
    name = row["method"] if len(row["method"]) <= _LONGEST else row["method"][: _LONGEST - 1] + "…"
    low, middle, high = (_x(success[key]) for key in ("low", "value", "high"))
    kind = "reference" if row["track"] == "reference" else "ranked"
    return [
        f'<text class="label" x="{_LEFT - 12}" y="{y + 4}">{escape(name)}</text>',
        f'<line class="{kind} whisker" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>',
        f'<circle class="{kind}" cx="{middle}" cy="{y}" r="5"><title>{100 * success["value"]:.1f} %</title></circle>',
    ]


def _x(share: float) -> float:
    return round(_LEFT + _WIDTH * share, 1)

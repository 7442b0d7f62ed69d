"""Where the commands print."""

from __future__ import annotations

import sys

from rich.console import Console

PLAIN_WIDTH = 120  # columns of tables that go to a file or a pipe


def console() -> Console:
    """Standard output; tables in a pipe get a fixed width, colours only in a terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)


def duration(seconds: float) -> str:
    """``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def count(value: float) -> str:
    """A large number in words that fit a column: ``940``, ``12.3 k``, ``4.56 M``."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            scale = 1e3 if unit == "k" else limit
            return f"{value / scale:.3g} {unit}"
    return f"{value:,.0f}"

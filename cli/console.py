"""Where the commands print."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 120  # columns of tables that go to a file or a pipe


def console() -> Console:
    """Standard output; tables in a pipe get a fixed width, colours only in a terminal."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)


def print_facts(out: Console, facts: Mapping[str, str]) -> None:
    """Names and what there is to say of each: wrapped in a terminal, a line each in a pipe."""
    if not out.is_terminal:
        for name, text in facts.items():
            out.print(f"{name:8}{text}", markup=False, soft_wrap=True)
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in facts.items():
        grid.add_row(name, Text(text))
    out.print(grid)


@contextmanager
def progress_bar(out: Console, what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar in a terminal, moved by calls with (done, in all)."""
    bar = Progress(
        TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=out, transient=True, disable=not out.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


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

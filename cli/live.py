"""The live display of a run: a dashboard in a terminal, lines elsewhere.

Invariant: both show the same numbers; a pipe or a file never gets control codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cli.console import count, duration
from cli.progress import PHASES, RunProgress, evaluation_name
from cli.tables import evaluation_line

Format = Callable[[float], str]
METRICS: tuple[tuple[str, str, str, Format], ...] = (  # key, name in the panel, name in a line, how it is written
    ("success", "success", "success", lambda v: f"{100 * v:.1f} %"),
    ("score", "score", "score", lambda v: f"{100 * v:.1f}"),
    ("return", "return", "return", lambda v: f"{v:.3f}"),
    ("behaviour_entropy", "entropy, nats a token", "entropy", lambda v: f"{v:.3f}"),
    ("branches_per_root", "branches a backbone", "branches", lambda v: f"{v:.2f}"),
    ("spent/tied_groups", "tied groups", "ties", lambda v: f"{v:.0f}"),
    ("spent/generated_tokens", "tokens generated", "generated", count),
    ("spent/trained_tokens", "tokens trained", "trained", count),
    ("grad_norm", "gradient norm", "gradient", lambda v: f"{v:.2f}"),
)
_BARS = "▁▂▃▄▅▆▇█"
_SPARKS = 24
_RECENT = 10


def display(console: Console, progress: RunProgress) -> Dashboard | Lines:
    """The display that suits the console."""
    return Dashboard(console, progress) if console.is_terminal else Lines(console, progress)


class Lines:
    """One line an update; other phases report every tenth of their way."""

    def __init__(self, console: Console, progress: RunProgress) -> None:
        self._console, self._progress = console, progress
        self._shown = ("", -1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        pass

    def __call__(self, event: str, data: dict[str, Any]) -> None:
        """Take one event of ``Trainer``."""
        progress = self._progress
        progress(event, data)
        if event == "update":
            self._print(update_line(progress))
        elif event == "evaluated":
            self._print(f"{evaluation_name(data['when'])}: {evaluation_line(data)}")
        elif event in ("demonstrations", "sft", "evaluating"):
            tenth = 10 * progress.done // max(progress.total, 1)
            if progress.done and (progress.phase, tenth) != self._shown:
                self._shown = (progress.phase, tenth)
                self._print(
                    f"{progress.phase}: {progress.done} of {progress.total}{_detail(progress)}{_left(progress)}"
                )

    def say(self, text: str) -> None:
        """A remark between the lines."""
        self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


class Dashboard:
    """A panel that is redrawn in place: the phase, the time left, and each metric's course."""

    def __init__(self, console: Console, progress: RunProgress) -> None:
        self._progress = progress
        self._remark = ""
        self._live = Live(get_renderable=self._render, console=console, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.refresh()
        self._live.stop()

    def __call__(self, event: str, data: dict[str, Any]) -> None:
        """Take one event of ``Trainer``."""
        self._progress(event, data)
        if event == "evaluated":
            line = Text.assemble((evaluation_name(data["when"]), "bold"), ": ", evaluation_line(data))
            self._live.console.print(line)

    def say(self, text: str) -> None:
        """A remark that stays in the panel."""
        self._remark = text

    def _render(self) -> RenderableType:
        progress = self._progress
        bar = Table.grid(padding=(0, 2), expand=True)
        bar.add_column(no_wrap=True)
        bar.add_column(ratio=1)
        bar.add_column(no_wrap=True, justify="right")
        total = progress.total or None
        bar.add_row(
            Text(progress.phase, "bold"),
            ProgressBar(total=total, completed=progress.done, pulse=total is None),
            f"{progress.done}/{progress.total}" if total else "",
        )
        times = f"{duration(progress.elapsed)} so far"
        if left := progress.left():
            what = "" if progress.phase == PHASES["training"] else " of this phase"
            times += f", about {duration(left)} left{what}"
        parts: list[RenderableType] = [bar, Text(f"{progress.detail}   {times}".strip(), "dim")]
        if progress.rows:
            parts += [Text(), metrics_table(progress.rows)]
        if self._remark:
            parts.append(Text(self._remark, "bold yellow"))
        return Panel(Group(*parts), title="sandgym train", title_align="left", border_style="cyan")


def metrics_table(rows: Sequence[dict[str, Any]]) -> Table:
    """The last update, means over the last and the first updates, and the course of each metric."""
    recent = min(_RECENT, len(rows))
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    table.add_column("", no_wrap=True)
    for name in (f"update {rows[-1]['update']}", f"last {recent}", f"first {recent}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("over the run", no_wrap=True, overflow="crop")
    for key, name, _, show in METRICS:
        values = [float(row[key]) for row in rows if key in row]
        if values:
            means = [sum(part) / len(part) for part in (values[-recent:], values[:recent])]
            table.add_row(name, show(values[-1]), *map(show, means), Text(sparkline(values), "cyan"))
    return table


def sparkline(values: Sequence[float], width: int = _SPARKS) -> str:
    """The course of a metric in block characters: means of equal stretches, lowest to highest."""
    cells = min(width, len(values))
    edges = [round(i * len(values) / cells) for i in range(cells + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, span = min(means), max(means) - min(means)
    return "".join(_BARS[min(int((m - low) / span * len(_BARS)), len(_BARS) - 1)] if span else _BARS[0] for m in means)


def update_line(progress: RunProgress) -> str:
    """The last update's metrics in one line."""
    row = progress.rows[-1]
    parts = [f"update {row['update']}/{progress.updates}"]
    parts += [f"{name} {show(float(row[key]))}" for key, _, name, show in METRICS if key in row]
    parts.append(f"{progress.update_seconds:.1f} s")
    return "  ".join(parts) + _left(progress)


def _detail(progress: RunProgress) -> str:
    return f"  {progress.detail}" if progress.detail.startswith("loss") else ""


def _left(progress: RunProgress) -> str:
    left = progress.left()
    return f"  ~{duration(left)} left" if left else ""

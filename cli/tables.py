"""The tables that say how good a policy is and what a run has spent."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from cli.console import count, duration

if TYPE_CHECKING:
    from algos.evaluate import Evaluation

Summary = dict[str, Any]
_LEGEND = "success: % of episodes with the full reward; score: mean reward x 100; [95 % interval, bootstrap over tasks]"


def print_evaluations(out: Console, title: str, columns: dict[str, Summary], gain: bool = False) -> None:
    """Print success and score, greedy and sampled, of one or more evaluations.

    Args:
        out: where to.
        title: what was played.
        columns: evaluations (``greedy`` and ``sampled`` summaries) by their names.
        gain: add the difference of the last and the first, in points.
    """
    table = Table("", "", *(Column(name, justify="right") for name in columns))
    if gain:
        table.add_column("gain, points", justify="right", style="bold")
    first, last = next(iter(columns.values())), list(columns.values())[-1]
    for way in ("greedy", "sampled"):
        for measure in ("success", "score"):
            cells = [_cell(column[way][measure]) for column in columns.values()]
            if gain:
                points = 100 * (last[way][measure]["mean"] - first[way][measure]["mean"])
                cells.append(f"{points:+.1f}")
            table.add_row(_played(last[way], way) if measure == "success" else "", measure, *cells)
        table.add_section()
    out.print(Text(title, "bold"), soft_wrap=not out.is_terminal)
    out.print(table)
    out.print(Text(_LEGEND, "dim"), soft_wrap=not out.is_terminal)


def print_success_by_type(out: Console, results: dict[str, Evaluation], types: Sequence[str]) -> None:
    """Print success for each type of task.

    Args:
        out: where to.
        results: ``greedy`` and ``sampled``.
        types: of each task, in the evaluations' order.
    """
    from algos.evaluate import Statistic

    table = Table("task type", Column("tasks", justify="right"), *(Column(way, justify="right") for way in results))
    for kind in sorted(set(types)):
        rows = [row for row, each in enumerate(types) if each == kind]
        cells = [_cell(dataclasses.asdict(Statistic.of(result.success[rows]))) for result in results.values()]
        table.add_row(kind, str(len(rows)), *cells)
    out.print(Text("success by type of task", "bold"))
    out.print(table)


def evaluation_line(summary: Summary) -> str:
    """An evaluation in one line."""
    return ", ".join(
        f"{way} success {100 * summary[way]['success']['mean']:.1f} % score {100 * summary[way]['score']['mean']:.1f}"
        + (f" (temperature {summary[way]['temperature']:g})" if way == "sampled" else "")
        for way in ("greedy", "sampled")
    )


def spent_line(ledger: dict[str, float]) -> str:
    """A run's ledger in words."""
    environments, all_seconds = ledger["env_seconds"], ledger["rollout_seconds"] + ledger["learn_seconds"]
    rate = f"{ledger['env_steps'] / environments:,.0f} steps/s" if environments else "no steps"
    share = f"{100 * environments / all_seconds:.0f} %" if all_seconds else "0 %"
    parts = [
        f"{count(ledger['episodes'])} episodes",
        f"{count(ledger['env_steps'])} environment steps",
        f"{count(ledger['generated_tokens'])} tokens generated",
        f"{count(ledger['trained_tokens'])} trained",
        f"{count(ledger['branches'])} branches",
        f"{count(ledger['snapshots'])} snapshots ({count(ledger['snapshot_bytes'])}B)",
        f"{duration(ledger['rollout_seconds'])} rollouts ({duration(environments)} in environments, "
        f"{share} of the time, {rate})",
        f"{duration(ledger['learn_seconds'])} learning",
    ]
    return ", ".join(parts)


def _cell(statistic: dict[str, float]) -> str:
    mean, low, high = (100 * statistic[key] for key in ("mean", "low", "high"))
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _played(summary: Summary, way: str) -> str:
    if way == "greedy":
        return "greedy"
    return f"sampled, temperature {summary['temperature']:g}, {summary['samples']} a task"

"""The lab's table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from algos.lab.estimate import Measurement, ratio

REFERENCES = ("rloo", "grpo")


def rows(measurements: Sequence[Measurement]) -> list[dict[str, Any]]:
    """Each measurement with its ratios to the references on the same problem.

    ``of_rloo`` and ``of_grpo`` are ratios of variances at matched tokens with their intervals; ``snr_of_rloo`` and
    ``snr_of_grpo`` are ratios of signal-to-noise ratios, which an estimator that shrinks its gradient cannot improve.
    """
    table = []
    for m in measurements:
        row = m.to_dict() | {"unbiased": m.unbiased}
        for name in REFERENCES:
            reference = next((r for r in measurements if (r.problem, r.method) == (m.problem, name)), None)
            if reference is not None:
                row[f"of_{name}"] = ratio(m, reference)
                row[f"snr_of_{name}"] = m.snr / reference.snr if reference.snr else float("nan")
        table.append(row)
    return table


def markdown(measurements: Sequence[Measurement]) -> str:
    """A Markdown table."""
    lines = [
        "| problem | method | tokens | bias, % | variance / RLOO | variance / GRPO | SNR / RLOO | eta |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(cells) + " |" for cells in map(_cells, rows(measurements))]
    return "\n".join(lines)


def rich_table(measurements: Sequence[Measurement]) -> Any:
    """The same for a terminal."""
    from rich.table import Column, Table

    names = ("tokens", "bias, %", "variance / RLOO", "variance / GRPO", "SNR / RLOO", "eta")
    table = Table("problem", "method", *(Column(name, justify="right") for name in names))
    last = None
    for row in rows(measurements):
        if last not in (None, row["problem"]):
            table.add_section()
        cells = _cells(row)
        cells[0] = "" if row["problem"] == last else cells[0]
        last = row["problem"]
        table.add_row(*cells, style="bold" if row["method"] == "bpo" else None)
    return table


def _cells(row: dict[str, Any]) -> list[str]:
    mark = "" if row["unbiased"] else " (biased)"
    return [
        row["problem"],
        row["method"],
        f"{row['tokens']:.0f}",
        f"{100 * row['bias']:+.1f} ± {100 * row['bias_error']:.1f}{mark}",
        *(_interval(row.get(f"of_{name}")) for name in REFERENCES),
        f"{row['snr_of_rloo']:.2f}" if "snr_of_rloo" in row else "",
        "" if row["eta"] is None else f"{row['eta']:.2f}",
    ]


def _interval(found: tuple[float, float, float] | None) -> str:
    return "" if found is None else f"{found[0]:.2f} [{found[1]:.2f}, {found[2]:.2f}]"


def draw(measurements: Sequence[Measurement], path: Path) -> None:
    """Ratios to RLOO, a group a problem and a bar a method, to a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    table = [row for row in rows(measurements) if "of_rloo" in row and row["method"] != "rloo"]
    problems = list(dict.fromkeys(row["problem"] for row in table))
    methods = list(dict.fromkeys(row["method"] for row in table))
    figure, axes = plt.subplots(figsize=(1.2 + 1.1 * len(problems), 4.2), layout="constrained")
    width = 0.8 / max(len(methods), 1)
    for n, method in enumerate(methods):
        mine = {row["problem"]: row["of_rloo"] for row in table if row["method"] == method}
        at = np.array([k for k, problem in enumerate(problems) if problem in mine])
        found = np.array([mine[problem] for problem in problems if problem in mine])
        error = np.abs(found[:, 1:].T - found[:, 0])
        axes.bar(at + (n - (len(methods) - 1) / 2) * width, found[:, 0], width, yerr=error, label=method, capsize=1.5)
    axes.axhline(1.0, color="black", linewidth=1)
    axes.set_xticks(range(len(problems)), problems)
    axes.set(ylabel="variance x tokens, RLOO = 1", title="Gradient variance at matched tokens")
    axes.legend(fontsize=8, ncols=min(len(methods), 5), loc="upper center", bbox_to_anchor=(0.5, -0.1))
    figure.savefig(path, dpi=110)
    plt.close(figure)

"""``sandgym lab``: how good the gradient estimators are, on problems whose gradients are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from cli.console import console
from cli.errors import UsageError

EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym lab late sparse",
        "sandgym lab late --method bpo --method bpo-uniform --trees 1000",
        "sandgym lab --all-methods --out lab  (writes lab.json and lab.png)",
    )
)


def lab(
    families: Annotated[
        list[str] | None,
        typer.Argument(
            help="Problems: sparse, spread, often, late, early, noisy, horizons, words, world, two-steps. "
            "By default all.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Estimator; may be repeated. By default the main ones.", show_default=False),
    ] = None,
    all_methods: Annotated[bool, typer.Option("--all-methods", help="Every estimator and option.")] = False,
    trees: Annotated[int, typer.Option(min=2, help="Gradient samples in each replicate.")] = 100,
    replicates: Annotated[
        int, typer.Option(min=2, help="Independent repetitions; intervals come from their differences.")
    ] = 3,
    batches: Annotated[int, typer.Option(min=1, help="Batches of 12 trees to learn values from beforehand.")] = 20,
    seed: Annotated[int, typer.Option(help="Of everything.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the numbers to OUT.json and a figure to OUT.png.", show_default=False)
    ] = None,
) -> None:
    """Bias, variance and signal-to-noise ratio of the policy-gradient estimators.

    Small problems with exact gradients are played by the same rollouts and credited by the same code as in training;
    only the policy is a table and nothing is trained. A variance is the total variance of a tree's gradient times the
    tokens generated for it, so that 0.5 means: half the tokens for the same precision. RLOO and GRPO (without division
    by the standard deviation) are the references and always measured.

    Values are learned from earlier batches, as in training, except by bpo-exact. A variance can be low because the
    gradient is too short: compare the signal-to-noise ratio (SNR) too, and look for "biased". eta is the share of the
    return's variance that is settled before a branch.
    """
    from algos.lab.estimate import LabConfig, run_lab
    from algos.lab.methods import MAIN, METHODS
    from algos.lab.problems import FAMILIES
    from algos.lab.report import draw, rich_table, rows

    chosen = list(families or FAMILIES)
    wanted = list(METHODS) if all_methods else list(method or MAIN)
    methods = list(dict.fromkeys(["rloo", "grpo", *wanted]))
    for given, known, what in ((chosen, FAMILIES, "problem"), (methods, METHODS, "method")):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise UsageError(f"unknown {what} {unknown[0]!r}; known: {', '.join(known)}")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"there is no folder {out.parent} for --out")
    config = LabConfig(replicates, trees, batches, seed=seed)
    total = len(chosen) * len(methods) * replicates * (trees + batches * config.batch_trees)
    screen = console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("lab", total=total)
        measured = run_lab(
            chosen, methods, config, lambda what, n: progress.update(task, advance=n, description=f"{what:24}")
        )
    screen.print(rich_table(measured))
    for name in methods:
        screen.print(f"{name:16}{METHODS[name].what}", soft_wrap=True, highlight=False)
    if out is not None:
        out.with_suffix(".json").write_text(json.dumps(rows(measured), indent=1) + "\n", encoding="utf-8")
        draw(measured, out.with_suffix(".png"))
        screen.print(f"wrote {out.with_suffix('.json')} and {out.with_suffix('.png')}", soft_wrap=True)

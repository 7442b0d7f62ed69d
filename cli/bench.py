"""``sandgym bench``: how fast an environment is on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import console
from cli.errors import UsageError

app = typer.Typer(no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure speed and memory."""


@app.command(
    epilog="Examples:\n\nsandgym bench env webshop\n\nsandgym bench env webshop --data official --repeats 3\n\n"
    "sandgym bench env alfworld --reference-python textworld/bin/python"
)
def env(
    name: Annotated[str, typer.Argument(help="Environment: webshop or alfworld.")],
    data: Annotated[str, typer.Option(help="bundled, official, or a folder.")] = "bundled",
    traces: Annotated[
        Path | None,
        typer.Option(help="webshop: episodes to replay (JSON, plain or .xz); by default random ones."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times that each figure is measured.")] = 7,
    reference_python: Annotated[
        Path | None,
        typer.Option(help="alfworld: interpreter that has textworld and alfworld, to measure them in the same run."),
    ] = None,
) -> None:
    """Steps, resets, snapshots and memory (and WebShop's searches and rewards), beside the original's figures."""
    from sandgym.bench.measurement import table

    if name not in ("alfworld", "webshop"):
        raise UsageError(f"no measurements for {name!r}; known: alfworld, webshop")
    _check_options(name, traces, reference_python)
    out = console()
    with out.status("measuring (a few minutes)"):
        if name == "webshop":
            from sandgym.bench.webshop import measure_webshop, read_traces

            measured = measure_webshop(data, read_traces(traces) if traces is not None else None, repeats)
        else:
            from sandgym.bench.alfworld import measure_alfworld

            measured = measure_alfworld(data, repeats, str(reference_python) if reference_python else None)
    out.print(table(measured, f"{name}, {data} data"))


def _check_options(name: str, traces: Path | None, reference_python: Path | None) -> None:
    for owner, option, path in (("webshop", "--traces", traces), ("alfworld", "--reference-python", reference_python)):
        if path is not None and name != owner:
            raise UsageError(f"{option} is for {owner}, not for {name}")
        if path is not None and not path.is_file():
            raise UsageError(f"there is no file {path}")

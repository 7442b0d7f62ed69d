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


@app.command(epilog="Examples:\n\nsandgym bench env webshop\n\nsandgym bench env webshop --data official --repeats 3")
def env(
    name: Annotated[str, typer.Argument(help="Environment: webshop.")],
    data: Annotated[str, typer.Option(help="bundled, official, or a folder.")] = "bundled",
    traces: Annotated[
        Path | None, typer.Option(help="Episodes to replay (JSON, plain or .xz); by default random ones.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Times that each figure is measured.")] = 7,
) -> None:
    """Steps, resets, searches, rewards, snapshots and memory, beside the original's figures."""
    from sandgym.bench.measurement import table
    from sandgym.bench.webshop import measure_webshop, read_traces

    if name != "webshop":
        raise UsageError(f"no measurements for {name!r}; known: webshop")
    if traces is not None and not traces.is_file():
        raise UsageError(f"there is no file {traces}")
    played = read_traces(traces) if traces is not None else None
    out = console()
    with out.status("measuring (a minute or two)"):
        measured = measure_webshop(data, played, repeats)
    out.print(table(measured, f"{name}, {data} data"))

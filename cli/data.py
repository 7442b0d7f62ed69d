"""``sandgym data``: the official data sets on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table

from cli.console import console, count
from cli.errors import UsageError
from sandgym import data

app = typer.Typer(
    help="Official data sets: what is here, download, build. Nothing is needed for the bundled data.",
    no_args_is_help=True,
)
Name = Annotated[str, typer.Argument(help="Data set: webshop or alfworld; `sandgym data status` lists them.")]
Size = Annotated[
    str | None,
    typer.Option(help="webshop: 1000, or full (1.18 million products, over 5 GB). By default the smallest."),
]


@app.command(epilog="Example:\n\nsandgym data status")
def status() -> None:
    """List the data sets, and what to run next to have them."""
    table = Table("data set", "size", "state", "on disk", "next", title=f"in {data.data_root()}", title_justify="left")
    for found in data.status():
        table.add_row(
            found.name, found.size, found.state, f"{count(found.bytes)}B" if found.bytes else "", found.command
        )
    console().print(table)


@app.command(epilog="Examples:\n\nsandgym data download webshop --size 1000\n\nsandgym data download alfworld")
def download(
    name: Name,
    size: Size = None,
    mirror: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where the files lie under their names, if not at the publisher's."),
    ] = None,
) -> None:
    """Fetch the official files; an interrupted download goes on where it stopped."""
    _check(name, size)
    out = console()
    with _download_bars(out) as report:
        folder = data.download(name, size, progress=report, mirror=mirror)
    following = f"sandgym data build {name}" + (f" --size {size}" if size else "")
    out.print(f"downloaded to {folder}; next: {following}", markup=False, soft_wrap=True)


@app.command(
    epilog="Examples:\n\nsandgym data build webshop --size 1000\n\n"
    "sandgym data build alfworld --source ~/.cache/alfworld/json_2.1.1"
)
def build(
    name: Name,
    size: Size = None,
    source: Annotated[
        Path | None, typer.Option(help="Folder of files in the official format; by default the downloaded ones.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help='Folder of the result; by default where data="official" finds it.')
    ] = None,
) -> None:
    """Turn downloaded files into the form that the environment opens at once."""
    _check(name, size)
    if source is not None and not source.is_dir():
        raise UsageError(f"there is no folder {source}")
    screen = console()
    counted = data.DATA_SETS[name].counted
    bar = Progress(
        TextColumn("building"), BarColumn(), TextColumn("{task.completed:,} " + counted),
        console=screen, transient=True, disable=not screen.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("building", total=None)
        folder = data.build(name, size, source=source, out=out, progress=lambda done: bar.update(task, completed=done))
    playable = "official" if out is None else folder
    screen.print(f'built in {folder}; play it with data="{playable}"', markup=False, soft_wrap=True)


def _check(name: str, size: str | None) -> None:
    try:
        data.raw_folder(name, size)
    except TypeError as error:
        raise UsageError(str(error)) from error


@contextmanager
def _download_bars(out: Console) -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar for each file."""
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
        console=out, disable=not out.is_terminal,
    )  # fmt: skip
    tasks: dict[str, TaskID] = {}
    with bars:

        def report(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
                if not out.is_terminal:
                    out.print(f"{name}: {count(total or 0)}B" if total else name, markup=False)
            bars.update(tasks[name], completed=done, total=total)

        yield report

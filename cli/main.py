"""The ``sandgym`` command and its subcommands; each lives in a module of its own."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from cli import algos, bench, data, doctor, envs, evaluate, play, sft, train
from cli.errors import Commands

app = typer.Typer(
    cls=Commands,
    name="sandgym",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start here: sandgym train --algo bpo --env webshop\n\nthen: sandgym eval RUN, or: sandgym play webshop",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"sandgym {metadata.version('sandgym')}")
        except metadata.PackageNotFoundError:
            typer.echo("sandgym, from a source folder that is not installed")
        raise typer.Exit


@app.callback()
def sandgym(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="With any command: show the traceback of an error.")] = False,
) -> None:
    """Snapshottable environments for language agents, and branching policy optimization on them."""


app.command("train", epilog=train.EXAMPLES)(train.train)
app.command("eval", epilog=evaluate.EXAMPLES)(evaluate.evaluate)
app.command("sft", epilog=sft.EXAMPLES)(sft.sft)
app.command("play", epilog=play.EXAMPLES)(play.play)
app.command("envs", epilog=envs.ENVS_EXAMPLES)(envs.envs)
app.command("algos", epilog=algos.EXAMPLES)(algos.algos)
app.command("check", epilog=envs.CHECK_EXAMPLES)(envs.check)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)


if __name__ == "__main__":
    app()

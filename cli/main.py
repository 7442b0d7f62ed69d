"""The ``sandgym`` command and its subcommands; each lives in a module of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import metadata
from typing import Annotated

import typer

from cli import algos, bench, data, doctor, envs, evaluate, export, lab, leaderboard, play, sft, train
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


def _paragraphs(command: Callable[..., None]) -> str:
    """A command's docstring with each paragraph on one line, for the terminal to wrap."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(command) or "").split("\n\n"))


for _name, _command, _examples in (
    ("train", train.train, train.EXAMPLES),
    ("eval", evaluate.evaluate, evaluate.EXAMPLES),
    ("sft", sft.sft, sft.EXAMPLES),
    ("export", export.export, export.EXAMPLES),
    ("play", play.play, play.EXAMPLES),
    ("envs", envs.envs, envs.ENVS_EXAMPLES),
    ("algos", algos.algos, algos.EXAMPLES),
    ("lab", lab.lab, lab.EXAMPLES),
    ("check", envs.check, envs.CHECK_EXAMPLES),
    ("doctor", doctor.doctor, doctor.EXAMPLES),
):
    app.command(_name, help=_paragraphs(_command), epilog=_examples)(_command)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.add_typer(leaderboard.app, name="leaderboard")


if __name__ == "__main__":
    app()

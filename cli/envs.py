"""``sandgym envs`` and ``sandgym check``: which environments there are, and whether they keep the contract."""

from __future__ import annotations

import functools
from enum import StrEnum
from typing import Annotated, Any

import gymnasium
import typer
from rich.markup import escape
from rich.table import Column, Table

import sandgym
from cli.console import console
from cli.environments import describe_data, environment_id, keyword_arguments, make
from cli.errors import print_error

ENVS_EXAMPLES = "Example:\n\nsandgym envs"
CHECK_EXAMPLES = "\n\n".join(
    (
        "Examples:",
        "sandgym check webshop --kwargs split=dev",
        "sandgym check CartPole-v1 --wrap copy",
        "sandgym check my_package:MyEnv-v0",
    )
)


class Wrap(StrEnum):
    """Ways of giving the contract to an environment that does not have it."""

    copy = "copy"
    replay = "replay"


def envs() -> None:
    """List the environments, their tasks and their data."""
    from sandgym.data import status
    from sandgym.panels import SPLITS, bundled_panels

    table = Table("name", Column("Gymnasium id", no_wrap=True), "tasks", "data", "fixed panels")
    for name, env_id in sandgym.ENV_IDS.items():
        worlds = {split: gymnasium.make(env_id, split=split) for split in SPLITS}
        tasks = "\n".join(f"{split} {len(world.unwrapped.task_ids):,}" for split, world in worlds.items())  # type: ignore[attr-defined]
        data = [describe_data(worlds[SPLITS[0]])]
        data += [f"official {s.size}: {s.state}" for s in status() if s.name == name]
        panels = "\n".join(panel for panel in bundled_panels() if panel.startswith(f"{name}/"))
        table.add_row(name, env_id, tasks, escape("\n".join(data)), panels)
    out = console()
    out.print(table)
    out.print("Official data: sandgym data status", soft_wrap=True)
    out.print("Any other Gymnasium id works too, once it keeps the contract: sandgym check ID --wrap copy")


def check(
    env: Annotated[str, typer.Argument(metavar="ENV_ID", help="webshop, any Gymnasium id, or module:Id.")],
    wrap: Annotated[
        Wrap | None, typer.Option(help="Give a plain Gymnasium environment snapshots: by deep copy, or by replaying.")
    ] = None,
    kwargs: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Argument of the environment; repeatable.")
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the first episode and of the actions.")] = 0,
) -> None:
    """Check that an environment can be saved, restored and forked at every step.

    Plays episodes, resumes their snapshots here and in a fresh process, steps forks side by
    side, and compares every observation, reward and digest. Prints the first violation, if any.
    """
    env_id = environment_id(env)
    build = functools.partial(wrapped, env_id, keyword_arguments(kwargs or []), wrap.value if wrap else None)
    world = build()
    from sandgym.conformance.violations import ContractViolation, Violation

    out = console()
    try:
        sandgym.check_snapshottable_env(world, episodes=episodes, seed=seed, make=build)
    except ContractViolation as violation:
        kind, *lines = str(violation).splitlines()
        print_error(f"{env_id} breaks the contract: {kind}")
        for line in lines:
            out.print(line, markup=False, soft_wrap=True)
        if wrap is None and violation.violation is Violation.MISSING_METHODS:
            out.print(
                f"A plain Gymnasium environment gets the contract from a wrapper: sandgym check {env} --wrap copy "
                "(state that can be pickled) or --wrap replay (anything deterministic)",
                markup=False,
                soft_wrap=True,
            )
        raise typer.Exit(1) from None
    how = {Wrap.copy: " with sandgym.wrappers.DeepCopySnapshots", Wrap.replay: " with sandgym.wrappers.ReplaySnapshots"}
    out.print(
        f"[green]{env_id}{how.get(wrap, '') if wrap else ''} keeps the contract[/] ({episodes} episodes: snapshot, "
        "restore, fork, digests, a fresh process)",
        soft_wrap=True,
    )


def wrapped(env_id: str, options: dict[str, Any], wrap: str | None) -> Any:
    """An environment, with the contract added by ``"copy"`` or ``"replay"`` where asked."""
    from sandgym.wrappers import DeepCopySnapshots, ReplaySnapshots

    env = make(env_id, options)
    if wrap is None:
        return env
    return DeepCopySnapshots(env) if wrap == "copy" else ReplaySnapshots(env)

"""``sandgym algos``: the algorithms, their settings and the vetted defaults."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from rich.table import Table

from cli.console import console
from cli.presets import ADAPTER, PRESETS, PRETRAINED, TINY, WITHOUT_VALUES

EXAMPLES = "\n\n".join(
    ("Example:", "sandgym algos", "then: sandgym train --algo bpo --env webshop --set algo_options.roots=2")
)


def algos() -> None:
    """List the algorithms and every setting of a run, with defaults."""
    from algos.config import TrainConfig
    from algos.registry import ALGORITHMS

    out = console()
    for name, kind in ALGORITHMS.items():
        summary = (inspect.getdoc(inspect.getmodule(kind)) or "").splitlines()[0]
        out.print(f"[bold]{name}[/]  {summary}", soft_wrap=True)
        out.print(_table([(f"algo_options.{key}", value) for key, value in _fields(kind.Config())]))
    out.print("[bold]settings of every run[/]")
    base = TrainConfig(env="", algo="bpo")
    skipped = ("env", "algo", "algo_options", "env_options", "train_options")
    out.print(_table([(key, value) for key, value in _fields(base) if key not in skipped]))
    others = {f"for {env_id}": preset for env_id, preset in PRESETS.items()}
    others |= {f"for {algo} with tiny": preset for algo, preset in TINY.items()}
    others |= {f"for {algo} with engine=vllm": preset for algo, preset in WITHOUT_VALUES.items()}
    others |= {"for models other than tiny": PRETRAINED, "for an adapter on one": ADAPTER}
    for where, preset in others.items():
        out.print(f"[bold]{where} instead[/]")
        out.print(_table(list(preset.items())))
    out.print("Change any with --set, for example --set optimizer.lr=1e-4 --set env_options.max_steps=20")


def _table(rows: list[tuple[str, Any]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2))
    for key, value in rows:
        table.add_row(key, _written(value), style="none")
    return table


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _fields(config: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of a configuration's leaves."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            yield from _fields(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value

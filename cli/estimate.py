"""``sandgym train --dry-run``: what a run would take, as tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from cli.console import duration, print_facts
from cli.environments import describe_data, make
from cli.runs import quiet_transformers

if TYPE_CHECKING:
    from algos.config import TrainConfig

STATM = Path("/proc/self/statm")
TYPICAL_PROCESS = 700e6  # bytes, where the system does not say


def print_estimate(out: Console, config: TrainConfig) -> None:
    """Memory by phase and part, disk, time by phase, and where the numbers come from."""
    quiet_transformers(config.model)
    from algos.estimate import disk, memory, seconds
    from algos.probe import probe

    env = make(config.env, config.training_arguments())
    data = describe_data(env)
    process = process_memory() if config.device == "cpu" else 0.0
    with out.status("trying a small batch"):
        found = probe(config, env)
    phases = memory(found.size, found.work, config, process, found.warm)
    peak = max(phases, key=lambda phase: sum(phases[phase].values()))
    parts = seconds(found.work, found.speed, config, found.warm)
    total = sum(count * each for count, each in parts.values())
    room = _room(config.device)
    much = "" if room is None or sum(phases[peak].values()) < room else MUCH
    print_facts(
        out,
        {
            "run": f"{config.algo} on {config.env}{f', {data}' if data else ''}; nothing is started or kept",
            "policy": f"{config.model} on {config.device}: {_million(found.size.parameters)} parameters, "
            f"{_million(found.size.trainable)} of them learn",
            "memory": f"about {_size(sum(phases[peak].values()))} in {peak}"
            + (f", of {_size(room)} of {'this machine' if config.device == 'cpu' else config.device}" if room else "")
            + much,
            "disk": f"about {_size(disk(found.size, config))} for checkpoints in the run's folder",
            "time": f"about {duration(total)}",
        },
    )
    out.print()
    out.print(_memory_table(phases))
    out.print(_time_table(parts))
    print_facts(out, {f"note {n}": f" {note}" for n, note in enumerate(found.notes, 1)})


MUCH = (
    "; too much: lower optimizer.micro_batch_tokens, the episodes of a task (algo_options), rollout.max_live or "
    "eval_tasks, or set lora.rank"
)


def _memory_table(phases: dict[str, dict[str, float]]) -> Table:
    table = Table(title="memory at most")
    table.add_column("")
    for phase in phases:
        table.add_column(phase, justify="right")
    names = list(dict.fromkeys(name for parts in phases.values() for name in parts))
    for name in names:
        table.add_row(name, *(_size(parts[name]) if parts.get(name) else "" for parts in phases.values()))
    table.add_section()
    table.add_row("in all", *(_size(sum(parts.values())) for parts in phases.values()))
    return table


def _time_table(parts: dict[str, tuple[int, float]]) -> Table:
    table = Table(title="time")
    for name in ("", "times", "one", "in all"):
        table.add_column(name, justify="right" if name else "left")
    for name, (count, each) in parts.items():
        table.add_row(name, str(count), _seconds(each), duration(count * each))
    return table


def process_memory() -> float:
    """Resident bytes of this process with what a run imports."""
    import torch.utils.tensorboard  # noqa: F401

    import algos.train  # noqa: F401

    if STATM.is_file():
        return float(STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return TYPICAL_PROCESS


def _room(device: str) -> float | None:
    """Bytes of memory of the machine or the GPU; None where there is no such GPU."""
    import torch

    if device == "cpu":
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return float(torch.cuda.mem_get_info()[1]) if torch.cuda.is_available() else None


def _size(value: float) -> str:
    return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.1f} MB"


def _million(value: float) -> str:
    return f"{value / 1e9:.2f} G" if value >= 1e9 else f"{value / 1e6:.2f} M"


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else duration(value)

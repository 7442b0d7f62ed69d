"""``sandgym doctor``: what works on this machine, and what is missing for the rest.

Invariant: a check tries the thing itself where it can, leaves nothing behind, and never
takes the command down.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer
from rich.markup import escape
from rich.table import Column, Table

import sandgym
from cli.console import console, count
from cli.errors import EXTRAS

EXAMPLES = "Examples:\n\nsandgym doctor\n\nsandgym doctor --clean"
State = Literal["ok", "missing", "note"]
_COLOURS = {"ok": "green", "missing": "yellow", "note": "cyan"}
_DISK_NEEDED = 2e9  # bytes: a run with its checkpoints and a small data set


class Finding(NamedTuple):
    """One row: what was looked at, how it is, what was found, what it is for or how to get it."""

    what: str
    state: State
    found: str
    advice: str = ""


def doctor(
    clean: Annotated[
        bool, typer.Option("--clean", help="First remove what sandboxes of dead processes left on this machine.")
    ] = False,
) -> None:
    """Say what works on this machine: Python, PyTorch, GPU, vllm, sandboxes, disk, data.

    Nothing that is missing keeps the bundled WebShop from running and the tiny policy from
    being trained, except for the train extra.
    """
    if clean:
        from sandgym.sandboxes.choose import clean as remove_left_overs

        for removed in remove_left_overs():
            console().print(f"removed {removed}", markup=False, highlight=False)
    table = Table(
        "", "state", Column("found", overflow="fold"), Column("what it is for, or what to do", overflow="fold")
    )
    for finding in findings():
        colour = _COLOURS[finding.state]
        table.add_row(
            escape(finding.what), f"[{colour}]{finding.state}[/]", escape(finding.found), escape(finding.advice)
        )
    console().print(table)


def findings() -> Iterator[Finding]:
    """All checks, one after the other."""
    yield _python()
    yield from _extras()
    yield _gpu()
    yield from _sandboxes()
    yield from _disk()
    yield from _data()


def _python() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding(
        "Python",
        "ok",
        f"{platform.python_version()} on {platform.system()}, {cores} usable CPU core{'s' * (cores != 1)}",
    )


def _extras() -> Iterator[Finding]:
    purposes = {
        "train": "train, eval, sft, algos",
        "leaderboard": "eval --panel, leaderboard",
        "vllm": "the vllm engine, for large models on a GPU",
        "docker": "sandboxes of a Docker engine",
        "nouns": "building official WebShop data",
        "swebench": "reading SWE-bench rows from parquet files",
    }
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        pip = f'pip install "sandgym[{extra}]"'
        if missing:
            yield Finding(f"[{extra}]", "missing", f"no {', '.join(missing)}", f"{pip}: for {purposes[extra]}")
        else:
            yield Finding(f"[{extra}]", "ok", f"{modules[0]} {_version(modules[0])}", f"for {purposes[extra]}")


def _version(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _gpu() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding("GPU", "missing", "PyTorch is not installed", "not needed for tiny")
    import torch

    if torch.cuda.is_available():
        device = torch.cuda.get_device_properties(0)
        found = f"{torch.cuda.device_count()} x {device.name}, {device.total_memory / 1e9:.0f} GB"
        return Finding("GPU", "ok", found, "used with --device cuda")
    if shutil.which("nvidia-smi"):
        return Finding("GPU", "missing", f"nvidia-smi is here, but PyTorch {torch.__version__} sees no GPU",
                       "install a CUDA build of PyTorch; not needed for tiny")  # fmt: skip
    return Finding("GPU", "note", "none", "not needed for tiny; larger models are slow without one")


def _sandboxes() -> Iterator[Finding]:
    """Each backend of file-system sandboxes, tried by running a command."""
    from sandgym.sandboxes import available

    purposes = {
        "overlay": "sandboxes whose snapshots cost what changed; without it, files are copied",
        "copy": "sandboxes that copy files",
        "docker": "the official images of SWE-bench",
    }
    for backend, reason in available().items():
        works = reason == "ok"
        yield Finding(f"sandboxes, {backend}", "ok" if works else "missing", reason, f"for {purposes[backend]}")


def _disk() -> Iterator[Finding]:
    from sandgym.data import data_root

    for what, path in (("disk, data", data_root()), ("disk, runs", Path("runs").absolute())):
        there = next(folder for folder in (path, *path.parents) if folder.is_dir())
        free, writable = shutil.disk_usage(there).free, os.access(there, os.W_OK)
        advice = "" if writable else "not writable; set SANDGYM_DATA or go to another folder"
        if free < _DISK_NEEDED:
            advice = f"less than {count(_DISK_NEEDED)}B; set SANDGYM_DATA to another disk"
        yield Finding(what, "missing" if advice else "ok", f"{count(free)}B free in {path}", advice)


def _data() -> Iterator[Finding]:
    from sandgym.data import status

    for name in sandgym.ENV_IDS:
        yield Finding(f"data, {name}", "ok", "bundled: generated", "the default; nothing to download")
    for found in status():
        state: State = "ok" if found.state == "built" else "note"
        advice = f'data="official" where it is wanted: {found.command}' if found.command else 'data="official"'
        yield Finding(f"data, {found.name} official {found.size}", state, found.state, advice)

"""``sandgym doctor``: what works on this machine, and what is missing for the rest.

Invariant: a check tries the thing itself where it can, changes nothing, and never
takes the command down.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from rich.markup import escape
from rich.table import Column, Table

import sandgym
from cli.console import console, count
from cli.errors import EXTRAS

EXAMPLES = "Example:\n\nsandgym doctor"
State = Literal["ok", "missing", "note"]
_COLOURS = {"ok": "green", "missing": "yellow", "note": "cyan"}
_DISK_NEEDED = 2e9  # bytes: a run with its checkpoints and a small data set
_TIMEOUT = 15  # seconds for a program that is asked something


class Finding(NamedTuple):
    """One row: what was looked at, how it is, what was found, what it is for or how to get it."""

    what: str
    state: State
    found: str
    advice: str = ""


def doctor() -> None:
    """Say what works on this machine: Python, PyTorch, GPU, vllm, docker, overlayfs, disk, data.

    Nothing that is missing keeps the bundled WebShop from running and the tiny policy from
    being trained, except for the train extra.
    """
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
    yield _docker()
    yield _overlay()
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
        "vllm": "the vllm engine, for large models on a GPU",
        "docker": "SWE-bench containers",
        "nouns": "building official WebShop data",
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


def _docker() -> Finding:
    purpose = "for SWE-bench containers"
    if shutil.which("docker") is None:
        return Finding("docker engine", "missing", "no docker program", f"install Docker: {purpose}")
    code, text = _ask("docker", "version", "--format", "{{.Server.Version}}")
    if code == 0:
        return Finding("docker engine", "ok", f"version {text}", purpose)
    return Finding("docker engine", "missing", text or "it does not answer", f"start it, or join its group: {purpose}")


def _overlay() -> Finding:
    """Mounts an overlay in a user namespace of its own, as a sandbox would."""
    name, purpose = "overlayfs", "for cheap file-system snapshots; without it, files are copied"
    if platform.system() != "Linux":
        return Finding(name, "note", f"not on {platform.system()}", purpose)
    if shutil.which("unshare") is None:
        return Finding(name, "missing", "no unshare program (util-linux)", purpose)
    code, text = _ask("unshare", "--user", "--map-root-user", "--mount", "true")
    if code:
        return Finding(name, "missing", f"no user namespaces: {text}", purpose)
    with tempfile.TemporaryDirectory() as folder:
        for part in ("lower", "upper", "work", "merged"):
            Path(folder, part).mkdir()
        options = "lowerdir=lower,upperdir=upper,workdir=work"
        script = f"cd '{folder}' && mount -t overlay overlay -o {options} merged && umount merged"
        code, text = _ask("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
        if code:
            return Finding(name, "missing", f"user namespaces work, overlay mounts in them do not: {text}", purpose)
    return Finding(name, "ok", "mounts in a user namespace, no root needed", purpose)


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


def _ask(*command: str) -> tuple[int, str]:
    """Exit code and last line of what a program says."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return done.returncode, lines[-1].strip() if lines else ""

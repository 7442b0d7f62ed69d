"""Commands that run as this process's user with everything that it may do.

Invariant: used only where commands cannot be confined and the caller allowed it. Nothing
but the time and the output is limited with certainty; processes that leave their session
survive.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from sandgym.sandboxes import shell
from sandgym.sandboxes.base import HOME, TMP, CommandResult, FolderImage, Limits
from sandgym.sandboxes.confined.output import CappedOutput
from sandgym.sandboxes.isolation import LONGEST_COMMAND, View
from sandgym.sandboxes.paths import within

_CHUNK = 1 << 20


def execute(
    view: View,
    image: FolderImage,
    command: str,
    *,
    cwd: str,
    variables: Mapping[str, str],
    limits: Limits,
    network: bool,
    timeout: float | None = None,
) -> tuple[CommandResult, shell.ShellState | None]:
    """Run a command in the folders of the view; see ``isolation.execute``.

    ``/testbed``, HOME and ``/tmp`` are where the view is, and the network is reached.
    """
    if refused := shell.refusal(command, LONGEST_COMMAND):
        return refused, None
    hosts = {inside: view.folder / part for part, inside in view.parts.items()}
    output = CappedOutput(limits.output_chars)
    seconds = limits.timeout if timeout is None else timeout
    with tempfile.TemporaryDirectory(dir=view.folder.parent) as state:
        start = Path(state, "prologue")
        start.write_text(shell.prologue(f"{state}/state"))
        folder = _outside(cwd, hosts)
        environment = dict(variables) | {
            "HOME": str(hosts[HOME]), "TMPDIR": str(hosts[TMP]), "BASH_ENV": str(start)}  # fmt: skip
        process = subprocess.Popen(
            ["bash", "-c", shell.sendable(command)],
            cwd=folder if folder.is_dir() else hosts[image.workdir],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes)),
        )
        in_time = _wait(process, output, time.monotonic() + seconds)
        left = Path(state, "state.new")
        after = shell.parse(left.read_bytes()) if in_time and left.is_file() else None
    if after is not None:
        kept = {name: value for name, value in after.variables.items() if name not in ("HOME", "TMPDIR")}
        after = shell.ShellState(_inside(after.cwd, hosts), kept | {"HOME": HOME})
    status = process.returncode << 8 if process.returncode >= 0 else -process.returncode
    return shell.result(status, "" if in_time else "timeout", 0, output), after


def _wait(process: subprocess.Popen[bytes], output: CappedOutput, deadline: float) -> bool:
    """Read until the shell ends, then end its session; whether it ended in time."""
    assert process.stdout is not None
    with process.stdout as pipe, selectors.DefaultSelector() as selector:
        os.set_blocking(pipe.fileno(), False)
        selector.register(pipe, selectors.EVENT_READ)
        in_time = True
        while process.poll() is None and in_time:
            selector.select(0.02)
            _drain(pipe.fileno(), output)
            in_time = time.monotonic() < deadline
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _drain(pipe.fileno(), output)
    return in_time


def _drain(pipe: int, output: CappedOutput) -> None:
    with contextlib.suppress(BlockingIOError):
        for _ in range(64):
            data = os.read(pipe, _CHUNK)
            if not data:
                return
            output.add(data)


def _outside(path: str, hosts: Mapping[str, Path]) -> Path:
    for inside, host in hosts.items():
        if within(path, inside):
            return host / posixpath.relpath(path, inside)
    return Path(path)


def _inside(path: str, hosts: Mapping[str, Path]) -> str:
    for inside, host in hosts.items():
        real = os.path.realpath(host)
        if within(path, real):
            return posixpath.normpath(posixpath.join(inside, posixpath.relpath(path, real)))
    return path

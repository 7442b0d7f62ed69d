"""The launcher: takes jobs from one host process and runs each in namespaces of its own.

Invariant: it keeps nothing between jobs, and everything it started ends with the host
process, even when that is killed.

A job arrives as two file descriptors: a socket, from which the job is read and to which
its report is written, and the pipe for the command's output.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import select
import signal
import socket
import time
import traceback

from . import init, syscalls
from .agreed import USER
from .job import Job, Report

_NAMESPACES = syscalls.NEW_NS | syscalls.NEW_PID | syscalls.NEW_IPC | syscalls.NEW_UTS
_TICK = 0.1  # seconds between looks at the disk
_PATIENCE = 5.0  # seconds after its time in which a job has to be over
_MOST_FILES = 1_000_000  # below a view
_LONGEST_PAUSE = 60.0
_FULL = 256 << 20  # bytes that a command has to leave free on the disk


@dataclasses.dataclass
class _Running:
    """A job whose first process lives."""

    job: Job
    reply: socket.socket
    first: int
    deadline: float
    look_at: float  # when to look at the disk
    used: int = -1  # bytes, at the first look


def serve(control: int, host: int) -> None:
    """Take jobs until the host process is gone.

    Args:
        control: file descriptor of the socket that jobs arrive at.
        host: PID of the host process.
    """
    try:
        watched = os.pidfd_open(host)
    except OSError:
        return
    if os.geteuid() != 0:
        syscalls.enter_user_namespace(USER)
    gc.disable()
    gc.freeze()
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(watched, select.POLLIN)
    running: dict[int, _Running] = {}
    with socket.socket(fileno=control) as jobs:
        while True:
            pause = None
            if running:
                soonest = min(min(each.look_at, each.deadline) for each in running.values())
                pause = 1000 * min(max(0.0, soonest - time.monotonic()), _LONGEST_PAUSE)
            for ready, _ in poller.poll(pause):
                if ready in running:
                    poller.unregister(ready)
                    _finish(ready, running.pop(ready))
                elif ready == watched:
                    return
                else:
                    message, files, _, _ = socket.recv_fds(jobs, 1, 2)
                    if not message:
                        return
                    if (started := _start(socket.socket(fileno=files[0]), files[1])) is not None:
                        process, running_job = started
                        running[process] = running_job
                        poller.register(process, select.POLLIN)
            for each in running.values():
                _look(each)


def _start(reply: socket.socket, output: int) -> tuple[int, _Running] | None:
    """Read a job and start it; the process descriptor of its first process."""
    with reply.makefile("rb") as stream:
        line = stream.readline()
        job = Job.decode(stream.read(int(line))) if line else None
    first = 0
    if job is not None:
        try:
            first = syscalls.clone(_NAMESPACES | (0 if job.network else syscalls.NEW_NET))
        except OSError as error:
            _tell(reply, Report(error=str(error)))
        else:
            if first == 0:
                _be_first(job, reply, output)
    os.close(output)
    if job is None or first == 0:
        reply.close()
        return None
    now = time.monotonic()
    return os.pidfd_open(first), _Running(job, reply, first, now + job.timeout + _PATIENCE, now + _TICK)


def _be_first(job: Job, reply: socket.socket, output: int) -> None:
    """Be the first process of a job's namespaces; returns never."""
    try:
        syscalls.die_with_parent()
        socket.sethostname("sandbox")
        init.main(job, reply, output)
    except BaseException:
        _tell(reply, Report(error=traceback.format_exc()))
    finally:
        os._exit(0)


def _finish(process: int, running: _Running) -> None:
    os.close(process)
    os.waitpid(running.first, 0)
    running.reply.close()  # which tells the host that it is over


def _look(running: _Running) -> None:
    """End a job that is over its time or over its room on the disk."""
    now = time.monotonic()
    ended = "timeout" if now >= running.deadline else ""
    if now >= running.look_at and not ended:
        with contextlib.suppress(FileNotFoundError):
            used, free = _used(running.job.view), os.statvfs(running.job.view)
            running.used = used if running.used < 0 else running.used
            if used > running.used and free.f_bavail * free.f_frsize < _FULL:
                ended = "disk"
            if used > max(running.job.disk_bytes, running.used):
                ended = "disk"
        running.look_at = now + max(_TICK, 10 * (time.monotonic() - now))
    if ended:
        os.kill(running.first, signal.SIGKILL)
        _tell(running.reply, Report(ended=ended))
        running.look_at = running.deadline = float("inf")


def _tell(reply: socket.socket, report: Report) -> None:
    with contextlib.suppress(OSError):  # the host is gone
        reply.sendall(report.encode())


def _used(folder: str) -> int:
    """Bytes on disk of everything below a folder; more than there are where there are too many files."""
    total = count = 0
    stack = [folder]
    while stack:
        if count > _MOST_FILES:
            return 1 << 62
        try:
            with os.scandir(stack.pop()) as items:
                for item in items:
                    count += 1
                    total += item.stat(follow_symlinks=False).st_blocks * 512
                    if item.is_dir(follow_symlinks=False):
                        stack.append(item.path)
        except OSError:
            continue
    return total

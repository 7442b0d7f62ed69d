"""The launcher: takes jobs from one host process and runs each in namespaces of its own.

Invariant: it keeps nothing between jobs, and everything it started ends with the host
process, even when that is killed.

A job arrives as two file descriptors: a socket, from which the job is read and to which
its report is written, and the pipe for the command's output.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
import traceback

from . import init, syscalls
from .job import USER, Job, Report

_NAMESPACES = syscalls.NEW_PID | syscalls.NEW_IPC | syscalls.NEW_UTS
_TICK = 0.1  # seconds between looks at the disk
_PATIENCE = 5.0  # seconds after its time in which a job has to be over
_FULL = 256 << 20  # bytes that a command has to leave free on the disk


def serve(control: int, host: int) -> None:
    """Take jobs until the host process is gone.

    Args:
        control: file descriptor of the socket that jobs arrive at.
        host: PID of the host process.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what was forked is not waited for
    try:
        watched = os.pidfd_open(host)
    except OSError:
        return
    if os.geteuid() != 0:
        syscalls.enter_user_namespace(USER)
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(watched, select.POLLIN)
    with socket.socket(fileno=control) as jobs:
        while True:
            if any(ready == watched for ready, _ in poller.poll()):
                return
            message, files, _, _ = socket.recv_fds(jobs, 1, 2)
            if not message:
                return
            if os.fork() == 0:
                try:
                    jobs.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    _supervise(socket.socket(fileno=files[0]), files[1])
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)
            for file in files:
                os.close(file)


def _supervise(reply: socket.socket, output: int) -> None:
    """Run one job from outside its namespaces."""
    syscalls.die_with_parent()
    job = _receive(reply)
    try:
        syscalls.unshare(_NAMESPACES | (0 if job.network else syscalls.NEW_NET))
        socket.sethostname("sandbox")
    except OSError as error:
        reply.sendall(Report(error=str(error)).encode())
        return
    first = os.fork()
    if first == 0:
        try:
            syscalls.die_with_parent()
            init.main(job, reply, output)
        except BaseException:
            reply.sendall(Report(error=traceback.format_exc()).encode())
        finally:
            os._exit(0)
    os.close(output)
    ended = _watch(first, job)
    if ended:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
        reply.sendall(Report(ended=ended).encode())


def _watch(first: int, job: Job) -> str:
    """Wait until the namespaces are empty; why they have to be ended, where that is so."""
    deadline = time.monotonic() + job.timeout + _PATIENCE
    allowed = max(job.disk_bytes, 0)
    over = select.poll()
    over.register(os.pidfd_open(first), select.POLLIN)
    pause = _TICK
    started_with: int | None = None
    while not over.poll(pause * 1000):
        began = time.monotonic()
        if began > deadline:
            return "timeout"
        used = _used(job.view)
        if started_with is None:
            started_with = used
        free = os.statvfs(job.view)
        if used > max(allowed, started_with) or (free.f_bavail * free.f_frsize < _FULL and used > started_with):
            return "disk"
        pause = max(_TICK, 10 * (time.monotonic() - began))
    os.waitpid(first, 0)
    return ""


def _used(folder: str) -> int:
    """Bytes on disk of everything below a folder."""
    total = 0
    stack = [folder]
    while stack:
        try:
            with os.scandir(stack.pop()) as items:
                for item in items:
                    total += item.stat(follow_symlinks=False).st_blocks * 512
                    if item.is_dir(follow_symlinks=False):
                        stack.append(item.path)
        except OSError:
            continue
    return total


def _receive(sender: socket.socket) -> Job:
    with sender.makefile("rb") as stream:
        return Job.decode(stream.read(int(stream.readline())))


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))

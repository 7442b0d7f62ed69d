"""The first process of a command's namespaces: it starts the shell and ends everything.

Invariant: it reports only when no other process of the namespaces is left.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import time

from . import network, process, root, seccomp, syscalls
from .agreed import USER
from .job import Job, Report


def main(job: Job, reply: socket.socket, output: int) -> None:
    """Run the job and report; returns when that is done."""
    try:
        root.build(job)
        if not job.network:
            network.black_hole()
        syscalls.set_dumpable(False)
        process.write_prologue(job.prologue)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        shell = os.fork()
    except OSError as error:
        reply.sendall(Report(error=str(error), missing=isinstance(error, FileNotFoundError)).encode())
        return
    if shell == 0:
        try:
            _become_shell(job, output)
        except BaseException as error:
            os.write(2, f"sandbox: {error}\n".encode())
        finally:
            os._exit(126)
    os.close(output)
    status, ended = _watch(shell, job)
    background = _end_all(shell, grace=not ended)
    report = Report(status=status, ended=ended, background=0 if ended else background, state=process.state())
    reply.sendall(report.encode())


def _watch(shell: int, job: Job) -> tuple[int, str]:
    """Wait for the shell; its status, and why it has to be ended where it has not ended itself."""
    deadline = time.monotonic() + job.timeout
    looked = time.monotonic()
    while True:
        left = deadline - time.monotonic()
        signal.sigtimedwait({signal.SIGCHLD}, max(0.0, min(process.TICK, left)))
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == shell:
                return found[1], ""
        now = time.monotonic()
        if now >= deadline:
            return 0, "timeout"
        if now - looked >= process.TICK:
            looked = now
            if process.resident() > job.memory_bytes:
                return 0, "memory"


def _end_all(shell: int, grace: bool) -> int:
    """End every other process; how many there were beside the shell."""
    deadline = time.monotonic() + process.GRACE
    count = 0
    with contextlib.suppress(ChildProcessError):
        while grace and time.monotonic() < deadline:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                signal.sigtimedwait({signal.SIGCHLD}, max(0.0, deadline - time.monotonic()))
        while True:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            count += os.waitpid(-1, 0)[0] != shell
    return count


def _become_shell(job: Job, output: int) -> None:
    """Give up everything and execute the shell; returns never."""
    process.detach(output)
    if job.uid is not None:
        os.setgroups([])
        os.setresgid(job.uid, job.uid, job.uid)
        os.setresuid(job.uid, job.uid, job.uid)
    syscalls.set_dumpable(True)
    with contextlib.suppress(OSError):  # as root where user namespaces are switched off
        syscalls.enter_user_namespace(USER)
    process.set_limit(resource.RLIMIT_NPROC, job.processes)  # counted for each user namespace
    process.limit(job.memory_bytes, job.file_bytes)
    process.go_to(job.cwd, job.fallback)
    process.default_signals()
    arguments = process.shell_arguments(job.command)
    syscalls.give_up_privileges()
    seccomp.install()
    process.execute(arguments, job.env)

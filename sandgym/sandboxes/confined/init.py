"""The first process of a command's namespaces: it starts the shell and ends everything.

Invariant: it reports only when no other process of the namespaces is left.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import stat
import time

from . import network, root, seccomp, syscalls
from .job import LONGEST_ARGUMENT, STATE, USER, Job, Report

_TICK = 0.1  # seconds between looks at memory
_GRACE = 0.1  # seconds in which what the shell left may end by itself
_MOST_STATE = 1 << 20
_OPEN_FILES = 4096


def main(job: Job, reply: socket.socket, output: int) -> None:
    """Run the job and report; returns when that is done."""
    try:
        root.build(job)
        if not job.network:
            network.black_hole()
        syscalls.set_dumpable(False)
        _write(f"{STATE}/prologue", job.prologue)
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
    reply.sendall(Report(status=status, ended=ended, background=0 if ended else background, state=_state()).encode())


def _watch(shell: int, job: Job) -> tuple[int, str]:
    """Wait for the shell; its status, and why it has to be ended where it has not ended itself."""
    deadline = time.monotonic() + job.timeout
    looked = time.monotonic()
    while True:
        left = deadline - time.monotonic()
        signal.sigtimedwait({signal.SIGCHLD}, max(0.0, min(_TICK, left)))
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == shell:
                return found[1], ""
        now = time.monotonic()
        if now >= deadline:
            return 0, "timeout"
        if now - looked >= _TICK:
            looked = now
            if _resident() > job.memory_bytes:
                return 0, "memory"


def _resident() -> int:
    """Bytes of memory that all processes of the namespace have."""
    pages = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/statm") as file:
                _, resident, shared = file.read().split()[:3]
                pages += int(resident) - int(shared)
    return pages * os.sysconf("SC_PAGESIZE")


def _end_all(shell: int, grace: bool) -> int:
    """End every other process; how many there were beside the shell."""
    deadline = time.monotonic() + _GRACE
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


def _state() -> str:
    """What the shell left; the command may have put anything there."""
    try:
        file = os.open(f"{STATE}/state.new", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    facts = os.fstat(file)
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_STATE:
        return ""
    return os.read(file, _MOST_STATE).decode("latin-1")


def _become_shell(job: Job, output: int) -> None:
    """Give up everything and execute the shell; returns never."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.closerange(3, 1024)
    if job.uid is not None:
        os.setgroups([])
        os.setresgid(job.uid, job.uid, job.uid)
        os.setresuid(job.uid, job.uid, job.uid)
    syscalls.set_dumpable(True)
    with contextlib.suppress(OSError):  # as root where user namespaces are switched off
        syscalls.enter_user_namespace(USER)
    _limit(resource.RLIMIT_NPROC, job.processes)  # counted for each user namespace
    _limit(resource.RLIMIT_AS, job.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, job.file_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    os.umask(0o022)
    try:
        os.chdir(job.cwd)
    except OSError:
        os.chdir(job.fallback)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    command = os.fsencode(job.command)
    arguments: tuple[bytes, ...] = (b"bash", b"-c", command)
    if len(command) > LONGEST_ARGUMENT:
        script = f"{STATE}/command"
        with open(script, "wb") as file:
            file.write(command)
        arguments = (b"bash", script.encode())
    environment = job.env | {"BASH_ENV": f"{STATE}/prologue"}
    syscalls.give_up_privileges()
    seccomp.install()
    os.execvpe("bash", arguments, environment)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _write(path: str, text: str) -> None:
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644), "w") as file:
        file.write(text)

"""What every first process of a sandbox does, however the sandbox was made.

Invariant: nothing here needs a privilege that a command must not have, or keeps a file of the
first process open for it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat

from .agreed import LONGEST_ARGUMENT, STATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TICK = 0.1  # seconds between looks at memory
GRACE = 0.1  # seconds in which what the shell left may end by itself
_MOST_STATE = 1 << 20
_OPEN_FILES = 4096


def resident() -> int:
    """Bytes of memory that all processes of the namespace have."""
    pages = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/statm") as file:
                _, here, shared = file.read().split()[:3]
                pages += int(here) - int(shared)
    return pages * os.sysconf("SC_PAGESIZE")


def write_prologue(text: str) -> None:
    """Write what the shell reads first."""
    with open(os.open(f"{STATE}/prologue", os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644), "w") as file:
        file.write(text)


def state() -> str:
    """What the shell left, in Latin-1; the command may have put anything there."""
    try:
        file = os.open(f"{STATE}/state.new", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_STATE:
            return ""
        return os.read(file, _MOST_STATE).decode("latin-1")
    finally:
        os.close(file)


def detach(output: int) -> None:
    """Be in a session of its own, with no file open but the output."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.closerange(3, 1024)


def limit(memory_bytes: int, file_bytes: int) -> None:
    """Limit what this process, and each that it starts, may use."""
    set_limit(resource.RLIMIT_AS, memory_bytes)
    set_limit(resource.RLIMIT_FSIZE, file_bytes)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    os.umask(0o022)


def set_limit(kind: int, value: int) -> None:
    """Set a limit, or leave it where it is lower already."""
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def go_to(folder: str, fallback: str) -> None:
    """Change to a folder, or to another where it is gone."""
    try:
        os.chdir(folder)
    except OSError:
        os.chdir(fallback)


def default_signals() -> None:
    """Undo what Python does with signals."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def shell_arguments(text: str) -> tuple[bytes, ...]:
    """Arguments with which bash runs a command; a long one is read from a file."""
    command = os.fsencode(text)
    if len(command) <= LONGEST_ARGUMENT:
        return (b"bash", b"-c", command)
    script = f"{STATE}/command"
    with open(script, "wb") as file:
        file.write(command)
    return (b"bash", script.encode())


def execute(arguments: tuple[bytes, ...], variables: Mapping[str, str]) -> None:
    """Become the shell; returns never."""
    os.execvpe("bash", arguments, {**variables, "BASH_ENV": f"{STATE}/prologue"})

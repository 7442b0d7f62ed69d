"""Confined commands: what the host process does to run one in namespaces of its own.

Invariant: a command runs in new mount, PID, IPC, UTS, user and network namespaces, as a
user that is not root, or it does not run at all. It can write to its view only, and when
``execute`` returns, none of its processes is left.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from sandgym.core import SandboxError
from sandgym.data import data_root
from sandgym.sandboxes import shell
from sandgym.sandboxes.base import HOME, CommandResult, FolderImage, Limits, SandboxLost
from sandgym.sandboxes.confined.agreed import STATE, USER
from sandgym.sandboxes.confined.job import Job, Report
from sandgym.sandboxes.confined.output import CappedOutput
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.reaper import process_folder, store_root

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
AGENT_UID = 64_837  # of commands on this machine where the host process is root; nobody else's
LONGEST_COMMAND = 1 << 20  # bytes
_CHUNK = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of fcntl(2), which Python has on Linux only
_PATIENCE = 30.0  # seconds after its time in which the launcher has to report
_BOOT = "import sys; sys.path.insert(0, {folder!r}); from confined.server import serve; serve({control}, {host})"
ETC = {
    "/etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    f"agent:x:{USER}:{USER}:agent:{HOME}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "/etc/group": f"root:x:0:\nagent:x:{USER}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/hostname": "sandbox\n",
    # A black hole as well: names are looked up in vain for a second.
    "/etc/resolv.conf": "nameserver 10.0.2.3\noptions timeout:1 attempts:1\n",
}
HIDDEN_ETC = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-", "/etc/ssh", "/etc/sudoers.d")


@dataclasses.dataclass(frozen=True)
class View:
    """The writable files of a sandbox on this machine.

    Attributes:
        folder: of its parts, or of an overlay's upper layer.
        parts: name of a part to where it appears inside.
        lowers: of the overlay, topmost first; empty without an overlay.
        work: an empty folder beside ``folder``, for the overlay.
        image_bytes: in ``folder`` that came from the image.
    """

    folder: Path
    parts: Mapping[str, str]
    lowers: tuple[Path, ...] = ()
    work: Path | None = None
    image_bytes: int = 0


def agent_uid() -> int | None:
    """Who owns a view: a user for agents alone where this process is root; None for this process's user."""
    return AGENT_UID if os.geteuid() == 0 else None


def give_to_agent(path: str | Path) -> None:
    """Let commands own a file, folder or link."""
    if (uid := agent_uid()) is not None:
        os.lchown(path, uid, uid)


def first_variables(image: FolderImage) -> dict[str, str]:
    """Environment variables of the first command."""
    standard = {
        "HOME": HOME,
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
    }
    return standard | dict(image.env)


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
    """Run a command; its result, and the shell's state where it left one.

    Raises:
        SandboxLost: a folder of the view is gone.
        SandboxError: the command could not be run.
    """
    if refused := shell.refusal(command, LONGEST_COMMAND):
        return refused, None
    seconds = limits.timeout if timeout is None else timeout
    readable = {inside: str(host) for inside, host in image.mounts.items()}
    job = Job(
        command=shell.sendable(command),
        prologue=shell.prologue(f"{STATE}/state"),
        cwd=cwd,
        fallback=image.workdir,
        env=dict(variables),
        timeout=seconds,
        root=str(_root()),
        parts=dict(view.parts),
        view=str(view.folder),
        lowers=tuple(map(str, view.lowers)),
        work=str(view.work or ""),
        readable=readable | _etc(network),
        hidden=(*HIDDEN_ETC, *secrets()),
        covered=covered(image.mounts),
        uid=agent_uid(),
        network=network,
        memory_bytes=limits.memory_bytes,
        processes=limits.processes,
        file_bytes=limits.file_bytes,
        disk_bytes=limits.disk_bytes + view.image_bytes,
    )
    output = CappedOutput(limits.output_chars)
    report = _launcher().execute(job, output)
    if report.missing:
        raise SandboxLost(f"the sandbox vanished: {report.error}")
    if report.error:
        raise SandboxError(f"cannot confine a command here: {report.error}")
    return shell.result(report.status, report.ended, report.background, output), shell.parse(
        report.state.encode("latin-1")
    )


@functools.cache
def problem() -> str | None:
    """Why commands cannot be confined here; None where they can."""
    if sys.platform != "linux":
        return f"{sys.platform} has no namespaces"
    try:
        with tempfile.TemporaryDirectory(dir=process_folder()) as name:
            folder = Path(name)
            for part in ("work", "home"):
                (folder / part).mkdir()
                give_to_agent(folder / part)
            image = FolderImage(folder)
            result, _ = execute(
                View(folder, {"work": image.workdir, "home": HOME}),
                image,
                "echo ok > here && cat here",
                cwd=image.workdir,
                variables=first_variables(image),
                limits=Limits(timeout=20.0),
                network=False,
            )
    except (SandboxError, OSError) as error:
        return str(error).strip().splitlines()[-1]
    return None if (result.returncode, result.output) == (0, "ok\n") else f"a confined command says {result.output!r}"


class Launcher:
    """The process that forks commands; see ``confined.server``."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        boot = _BOOT.format(folder=str(Path(__file__).parent), control=other.fileno(), host=os.getpid())
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", boot],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )

    @property
    def alive(self) -> bool:
        """Whether it takes jobs."""
        return self._process.poll() is None

    def execute(self, job: Job, output: CappedOutput) -> Report:
        """Run a job to its end; what it writes goes to ``output``."""
        reply, theirs = socket.socketpair()
        reader, writer = os.pipe()
        with reply, contextlib.closing(os.fdopen(reader, "rb", 0)):
            with contextlib.suppress(OSError):  # the user has too many large pipes
                fcntl.fcntl(reader, _SET_PIPE_SIZE, _CHUNK)
            try:
                socket.send_fds(self._socket, [b"j"], [theirs.fileno(), writer])
            except OSError as error:
                raise SandboxError(f"the launcher of commands is gone: {error}") from error
            finally:
                theirs.close()
                os.close(writer)
            encoded = job.encode()
            with contextlib.suppress(BrokenPipeError):  # the report says why
                reply.sendall(b"%d\n" % len(encoded) + encoded)
            said = _collect(reply, reader, output, time.monotonic() + job.timeout + _PATIENCE)
        if not said:
            raise SandboxError("the launcher of commands ended in the middle of one")
        return Report.decode(said.splitlines()[0])

    def close(self) -> None:
        """End it and everything that it runs."""
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
            return
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def _collect(reply: socket.socket, reader: int, output: CappedOutput, deadline: float) -> bytes:
    """Read output and report until the command's last process is gone; the report."""
    said = bytearray()
    poller = select.poll()
    poller.register(reply, select.POLLIN)
    poller.register(reader, select.POLLIN)
    os.set_blocking(reader, False)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise SandboxError("a command did not end in its time, and could not be ended")
        for ready, _ in poller.poll(left * 1000):
            if ready == reader:
                if not _read(reader, output):
                    poller.unregister(reader)
            elif chunk := reply.recv(_CHUNK):
                said += chunk
            else:
                while _read(reader, output):  # what is still in the pipe
                    pass
                return bytes(said)


def _read(reader: int, output: CappedOutput) -> bool:
    """Take what is in the pipe; whether there was anything."""
    try:
        data = os.read(reader, _CHUNK)
    except BlockingIOError:
        return False
    output.add(data)
    return bool(data)


_LAUNCHERS: dict[int, Launcher] = {}
_LOCK = threading.Lock()


def _launcher() -> Launcher:
    """The launcher of this process; a forked process starts its own."""
    with _LOCK:
        launcher = _LAUNCHERS.get(os.getpid())
        if launcher is None or not launcher.alive:
            _LAUNCHERS.clear()
            launcher = _LAUNCHERS[os.getpid()] = Launcher()
        return launcher


def _root() -> Path:
    """An empty folder of this process; new roots are mounted at it, each in a namespace of its own."""
    folder = process_folder() / "root"
    folder.mkdir(exist_ok=True)
    return folder


def _etc(network: bool) -> dict[str, str]:
    """Files of ``/etc`` that are the same on every machine: path inside to path here."""
    folder = process_folder() / "etc"
    with _LOCK:
        if not folder.is_dir():
            folder.mkdir()
            for path, text in ETC.items():
                host = folder / Path(path).name
                host.write_text(text)
                host.chmod(0o644)
    names = [path for path in ETC if not (network and path == "/etc/resolv.conf")]
    return {path: str(folder / Path(path).name) for path in names}


def secrets() -> list[str]:
    """Folders of this machine that no command may see, even where they lie below one that it may."""
    return sorted({str(data_root().absolute()), str(store_root()), str(Path.home())})


def covered(mounts: Mapping[str, Path]) -> tuple[str, ...]:
    """Where the folders of an image's mounts would show secrets that lie below them."""
    return tuple(
        inside + secret.removeprefix(str(host))
        for inside, host in mounts.items()
        for secret in secrets()
        if secret != str(host) and within(secret, str(host)) and not any(within(other, secret) for other in mounts)
    )

"""The first process of a container: it runs commands, one after the other, and looks at files.

Invariant: when a command's reply is sent, no other process is left in the container. It has
capabilities that no command has, so that no command can trace it; a signal cannot end it.

It needs Python 3.8 and what is sent to it; nothing of it is a file of the container.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import select
import signal
import time

from . import bundle, files, network, process, seccomp, syscalls
from .agreed import STATE
from .channel import CHUNK, Channel
from .output import CappedOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MOUNTED = ("/etc/hosts", "/etc/hostname", "/etc/resolv.conf")  # by the engine, and in no snapshot
_PASSING = (STATE, "/dev/shm", "/dev/mqueue")
_FULL = 256 << 20  # bytes that a command has to leave free on the disk
_OOM_SCORE = "500"  # commands are ended before this process is


def main() -> None:
    """Take orders until nobody gives any."""
    channel = Channel()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    syscalls.set_dumpable(False)
    facts, _ = channel.next()
    worker = Worker(channel, facts)
    channel.reply(**worker.facts())
    while True:
        facts, body = channel.next()
        act = getattr(worker, f"do_{facts['do']}", None)
        if act is None:  # a command was to be ended that had ended by itself
            continue
        try:
            told, answer = act(facts, body)
        except OSError as error:
            channel.reply(error=str(error), errno=error.errno)
        except Exception:
            import traceback

            channel.reply(error=traceback.format_exc(), errno=None)
        else:
            channel.reply(answer, **told)


class Worker:
    """Does what it is ordered to.

    Args:
        channel: of the orders.
        facts: the first order: ``user``, of commands; ``keep``, their capabilities; ``network``, whether it is on.
    """

    def __init__(self, channel: Channel, facts: dict[str, Any]) -> None:
        self._channel = channel
        self._files = files.Files()
        self._keep = facts["keep"]
        self._user = _user(facts["user"])
        self._mounted = {path: self._files.read(path) for path in _MOUNTED if os.path.isfile(path)}
        os.chmod(STATE, 0o1777)  # engines give it the mode of what it is mounted at
        if not facts["network"]:
            network.black_hole()
        self._wake, signals = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(signals, False)
        signal.set_wakeup_fd(signals, warn_on_full_buffer=False)

    def facts(self) -> dict[str, Any]:
        """Who the user of commands is."""
        name, uid, gid, home = self._user
        return {"name": name, "uid": uid, "gid": gid, "home": home}

    # Orders about files.

    def do_look(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.look``."""
        return self._files.look(facts["paths"]), b""

    def do_layer(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.layer``."""
        return self._files.layer(facts["folder"]), b""

    def do_walk(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.walk``."""
        return {"paths": self._files.walk(facts["path"])}, b""

    def do_at(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.at``."""
        return {"entry": self._files.at(facts["path"])}, b""

    def do_read(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.read``."""
        return {}, self._files.read(facts["path"])

    def do_write(self, facts: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.write``; files belong to the user of commands."""
        self._files.write(facts["path"], body, facts["mode"], self._user[1:3])
        return {}, b""

    def do_pack(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.pack``."""
        self._files.pack(facts["paths"], self._channel)
        return {"more": False}, b""

    def do_unpack(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``Files.unpack``."""
        self._files.unpack(facts["delete"], self._channel)
        return {}, b""

    def do_bundle(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """See ``bundle.write``."""
        return {"command": bundle.write(facts["folder"])}, b""

    def do_compile(self, _: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """The program of a first process, compiled for this interpreter."""
        return {}, bundle.compiled(body)

    # Commands.

    def do_run(self, facts: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
        """Run a command; its status, why it was ended, the processes that it left, its state and its output."""
        process.write_prologue(facts["prologue"])
        output = CappedOutput(facts["output_chars"])
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        shell = os.fork()
        if shell == 0:
            self._be_shell(facts, writer)
        os.close(writer)
        try:
            running = _Running(self._channel, shell, reader, self._wake, output)
            status, ended = running.attend(facts["timeout"], facts["memory_bytes"])
            background = running.end_all(grace=not ended)
        finally:
            os.close(reader)
        told = {"status": status, "ended": ended, "background": 0 if ended else background, "state": process.state()}
        self._forget()
        head, tail, told["cut"], told["left_out"] = output.pieces()
        return {**told, "head": len(head)}, head + tail

    def _be_shell(self, facts: dict[str, Any], output: int) -> None:
        """Give up everything and execute the shell; returns never."""
        try:
            process.detach(output)
            with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
                file.write(_OOM_SCORE)
            _, uid, gid, _ = self._user
            process.limit(facts["memory_bytes"], facts["file_bytes"])
            syscalls.give_up_privileges(self._keep)
            os.setgroups([gid])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            syscalls.have_capabilities(self._keep)
            syscalls.set_dumpable(True)
            process.go_to(facts["cwd"], facts["fallback"])
            signal.set_wakeup_fd(-1)
            process.default_signals()
            arguments = process.shell_arguments(facts["command"])
            seccomp.install()
            process.execute(arguments, facts["env"])
        except BaseException as error:
            os.write(2, f"sandbox: {error}\n".encode())
        finally:
            os._exit(126)

    def _forget(self) -> None:
        """Remove what a command left that is in no snapshot."""
        for folder in _PASSING:
            if os.path.isdir(folder):
                for name in os.listdir(folder):
                    with contextlib.suppress(OSError):
                        files.remove(f"{folder}/{name}")
        for path, content in self._mounted.items():
            if self._files.read(path) != content:
                with open(path, "wb") as file:
                    file.write(content)
        _forget_ipc()


class _Running:
    """A command that runs."""

    def __init__(self, channel: Channel, shell: int, reader: int, wake: int, output: CappedOutput) -> None:
        self._channel, self._shell, self._reader, self._wake, self._output = channel, shell, reader, wake, output
        self._poller = select.poll()
        for each in (0, reader, wake):
            self._poller.register(each, select.POLLIN)
        self._ended = 0

    def attend(self, timeout: float, memory_bytes: int) -> tuple[int, str]:
        """Wait for the shell; its status, and why it has to be ended where it has not ended itself."""
        deadline = time.monotonic() + timeout
        looked = time.monotonic()
        room = _room()
        while True:
            why = self._wait(min(process.TICK, deadline - time.monotonic()))
            status = self._reap()
            if status is not None:
                return status, ""
            now = time.monotonic()
            if why or now >= deadline:
                return 0, why or "timeout"
            if now - looked >= process.TICK:
                looked = now
                if process.resident() > memory_bytes:
                    return 0, "memory"
                if _room() < min(room, _FULL):
                    return 0, "disk"

    def end_all(self, grace: bool) -> int:
        """End every process, after a moment in which they may end by themselves; how many there were."""
        deadline = time.monotonic() + process.GRACE
        count = 0
        with contextlib.suppress(ChildProcessError):
            while grace and (left := deadline - time.monotonic()) > 0:
                self._reap(raises=True)
                self._wait(left)
            while True:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
                count += os.waitpid(-1, 0)[0] != self._shell
        self._drain()
        return count

    def _wait(self, seconds: float) -> str:
        """Take output and orders for a time, or until a process ends; why the command is to be ended."""
        why = ""
        for ready, _ in self._poller.poll(max(0.0, seconds) * 1000):
            if ready == self._reader:
                if not self._drain():
                    self._poller.unregister(self._reader)
            elif ready == self._wake:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 4096)
            else:
                self._channel.fill()
                if (found := self._channel.waiting()) is not None:
                    why = found[0]["why"]
        return why

    def _reap(self, raises: bool = False) -> int | None:
        """Take note of processes that ended; the status of the shell if it did."""
        status = None
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self._shell:
                    status = found[1]
        except ChildProcessError:
            if raises:
                raise
        return status

    def _drain(self) -> bool:
        """Take what is in the pipe; whether more may come."""
        for _ in range(64):
            try:
                data = os.read(self._reader, CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._output.add(data)
        return True


def _room() -> int:
    """Bytes that are free on the disk."""
    facts = os.statvfs("/")
    return facts.f_bavail * facts.f_frsize


def _user(named: str) -> tuple[str, int, int, str]:
    """Name, number, group and home of a user, given as name or number, with or without a group."""
    who, _, group = named.partition(":")
    try:
        entry = pwd.getpwuid(int(who)) if who.isdigit() else pwd.getpwnam(who)
    except KeyError:
        if not who.isdigit():
            raise
        return who, int(who), int(group) if group.isdigit() else int(who), "/"
    return entry.pw_name, entry.pw_uid, int(group) if group.isdigit() else entry.pw_gid, entry.pw_dir


def _forget_ipc() -> None:
    """Remove System V's semaphores, queues and memory."""
    libc = ctypes.CDLL(None)
    calls: dict[str, Callable[[int], object]] = {
        "sem": lambda number: libc.semctl(number, 0, 0),
        "msg": lambda number: libc.msgctl(number, 0, None),
        "shm": lambda number: libc.shmctl(number, 0, None),
    }
    for kind, remove in calls.items():
        with contextlib.suppress(OSError), open(f"/proc/sysvipc/{kind}") as table:
            for line in table.readlines()[1:]:
                remove(int(line.split()[1]))

"""A container whose first process takes orders.

Invariant: the container lives as long as the connection to its standard input: when this
process ends, however it does, the first process ends, and the engine removes the container.

The program of the first process is sent over the connection, so nothing of it is a file of the
container; see ``confined.inside``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sandgym.core import SandboxError
from sandgym.sandboxes.base import SandboxLost
from sandgym.sandboxes.confined.agreed import STATE
from sandgym.sandboxes.engine import OWNER, api, engine_errors
from sandgym.sandboxes.reaper import owner_label

_MODULES = (*("agreed", "syscalls", "process", "seccomp", "network", "output", "channel", "files", "bundle", "inside"),)
_BOOT = """
import marshal, os, sys, types
def take(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
package = types.ModuleType("confined")
package.__path__ = []
sys.modules["confined"] = package
kind = take(1)
program = take(int(take(10)))
if kind == b"s":
    import json
    program = [(name, compile(text, name + ".py", "exec")) for name, text in json.loads(program.decode())]
else:
    program = marshal.loads(program)
for name, code in program:
    module = types.ModuleType("confined." + name)
    module.__package__ = "confined"
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(code, module.__dict__)
sys.modules["confined.inside"].main()
"""
# The first process starts commands as another user and ends them, looks into every folder, and sets up the network.
_CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("NET_BIND_SERVICE", "NET_ADMIN"),
)
_PATIENCE = 60.0  # seconds in which an answer has to come
_CHUNK = 1 << 20
_LAST_WORDS = 2000  # bytes
_STDERR = 2


@dataclasses.dataclass(frozen=True)
class Housing:
    """How containers of an image are set up.

    Attributes:
        python: the command that starts an interpreter in them.
        user: of commands.
        keep: numbers of the capabilities of commands.
        mounts: as the engine takes them.
        covered: folders that show nothing.
        variables: of the first process.
        more: capabilities of the first process, beside those that it always has.
        compiled: the program of the first process, for its interpreter; None where that has to do it.
    """

    python: tuple[str, ...]
    user: str
    keep: tuple[int, ...] = ()
    mounts: tuple[Mapping[str, Any], ...] = ()
    covered: tuple[str, ...] = ()
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    more: tuple[str, ...] = ()
    compiled: bytes | None = None


class Container:
    """A running container.

    Args:
        image: in the engine.
        housing: how it is set up.
        memory_bytes: that all processes together may have at the very most.
        processes: that may exist at the same time.
        network: whether it shares the network of the engine's machine. Otherwise it has one of its own
            that drops everything.

    Attributes:
        id: in the engine.
        facts: name, number, group and home of the user of commands.
        upper: where the engine keeps its writable layer, once that is known.

    Raises:
        SandboxLost: the image is gone.
        SandboxError: it cannot be started.
    """

    def __init__(self, image: str, housing: Housing, memory_bytes: int, processes: int, network: bool) -> None:
        client = api()
        with engine_errors(f"the image {image}"):
            made = client.create_container(
                image,
                entrypoint=[*housing.python, "-I", "-S", "-B", "-c", _BOOT],
                command=[],
                user="0:0",
                working_dir="/",
                environment=dict(housing.variables),
                stdin_open=True,
                hostname=None if network else "sandbox",
                labels={OWNER: owner_label()},
                healthcheck={"test": ["NONE"]},
                host_config=_host_config(client, housing, memory_bytes, processes, network),
            )
        self.id: str = made["Id"]
        self.upper: str | None = None
        self._lock = threading.RLock()
        self._data = bytearray()
        self._words = bytearray()  # of its standard error
        try:
            with engine_errors(f"the container {self.id[:12]}"):
                attached = client.attach_socket(self.id, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
                self._socket: socket.socket = getattr(attached, "_sock", attached)
                self._closer = weakref.finalize(self, _hang_up, self._socket, attached, os.getpid())
                client.start(self.id)
            with _lost_connection(self._last_words):
                self._socket.sendall(_sent(housing.compiled))
            self.facts, _ = self.ask(user=housing.user, keep=housing.keep, network=network)
        except BaseException:
            self.close()
            with contextlib.suppress(Exception):
                client.remove_container(self.id, force=True, v=True)
            raise

    @property
    def closed(self) -> bool:
        """Whether it was closed here."""
        return not self._closer.alive

    def check(self) -> None:
        """Raise ``SandboxLost`` if it was closed, or is gone."""
        if self.closed:
            raise SandboxLost("the sandbox was closed")
        with self._lock, _lost_connection(self._last_words):
            self._socket.settimeout(0)
            with contextlib.suppress(BlockingIOError, ValueError):  # the latter where it is encrypted
                if not self._socket.recv(1, socket.MSG_PEEK):
                    raise ConnectionResetError("its connection has ended")

    def ask(
        self,
        do: str = "",
        body: bytes = b"",
        patience: float = _PATIENCE,
        look: Callable[[], str] | None = None,
        **facts: Any,
    ) -> tuple[dict[str, Any], bytes]:
        """Give an order and wait for its reply.

        Args:
            do: what; see ``confined.inside``.
            body: bytes that belong to it.
            patience: seconds in which the reply has to come.
            look: called while there is none; what it returns, unless that is nothing, is why the command is ended.
            facts: that belong to the order.

        Raises:
            OSError: the first process met with one.
            SandboxLost: the container is gone.
            SandboxError: there was no reply, or the first process failed.
        """
        with self._lock:
            try:
                self.tell(do=do, body=body, **facts)
                return self.hear(patience, look)
            except (OSError, SandboxError):
                raise
            except BaseException:  # such as an interrupt, after which the reply would be taken for another's
                self.close()
                raise

    def tell(self, body: bytes = b"", **facts: Any) -> None:
        """Give an order."""
        with _lost_connection(self._last_words):
            self._socket.settimeout(_PATIENCE)
            self._socket.sendall(json.dumps({**facts, "size": len(body)}).encode() + b"\n" + body)

    def hear(self, patience: float = _PATIENCE, look: Callable[[], str] | None = None) -> tuple[dict[str, Any], bytes]:
        """Wait for a reply; see ``ask``."""
        deadline = time.monotonic() + patience
        while (end := self._data.find(b"\n")) < 0:
            self._take(deadline, look)
        facts = json.loads(self._data[:end])
        while len(self._data) < end + 1 + facts["size"]:
            self._take(deadline, None)
        body = bytes(self._data[end + 1 : end + 1 + facts["size"]])
        del self._data[: end + 1 + facts["size"]]
        if "error" in facts:
            if facts["errno"] is None:
                raise SandboxError(f"the first process of a container failed: {facts['error']}")
            raise OSError(facts["errno"], facts["error"])
        return facts, body

    def close(self) -> None:
        """Let it end; the engine removes it."""
        if (closer := getattr(self, "_closer", None)) is not None:
            closer()

    def _take(self, deadline: float, look: Callable[[], str] | None) -> None:
        """Take what comes next on the connection, until a frame of it is there."""
        header = self._receive(8, deadline, look)
        data = self._receive(int.from_bytes(header[4:], "big"), deadline, None)
        if header[0] == _STDERR:
            self._words = (self._words + data)[-_LAST_WORDS:]
        else:
            self._data += data

    def _receive(self, size: int, deadline: float, look: Callable[[], str] | None) -> bytes:
        parts, missing = [], size
        while missing:
            left = deadline - time.monotonic()
            if left <= 0:
                self.close()
                raise SandboxError("the first process of a container does not answer; the sandbox was given up")
            with _lost_connection(self._last_words):
                self._socket.settimeout(min(left, _LOOK) if look else left)
                try:
                    part = self._socket.recv(min(missing, _CHUNK))
                except TimeoutError:
                    if look and (why := self._looked(look)):
                        self.tell(do="end", why=why)
                        look = None
                    continue
                if not part:
                    raise ConnectionResetError("its connection has ended")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _looked(self, look: Callable[[], str]) -> str:
        try:
            return look()
        except SandboxError:  # the command still runs, and its reply would be taken for another's
            self.close()
            raise

    def _last_words(self) -> str:
        return bytes(self._words).decode("utf-8", "replace").strip()


_LOOK = 0.2  # seconds between looks at the disk


@contextlib.contextmanager
def _lost_connection(last_words: Callable[[], str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SandboxLost(f"the container of the sandbox is gone: {last_words() or error}") from error


def _hang_up(connection: socket.socket, attached: Any, pid: int) -> None:
    for each in (connection, attached):
        with contextlib.suppress(OSError):
            if pid == os.getpid() and each is connection:
                connection.shutdown(socket.SHUT_RDWR)  # whoever else was forked has it open too
            each.close()


def _host_config(client: Any, housing: Housing, memory_bytes: int, processes: int, network: bool) -> Any:
    options: dict[str, Any] = {}
    if not network:
        options = {"dns": ["10.0.2.3"], "dns_opt": ["timeout:1", "attempts:1"]}  # a black hole as well
    covers = dict.fromkeys(housing.covered, "ro,nosuid,nodev,size=4k,mode=755")
    return client.create_host_config(
        auto_remove=True,
        network_mode="host" if network else "none",
        cap_drop=["ALL"],
        cap_add=[*_CAPABILITIES, *housing.more],
        security_opt=["no-new-privileges"],
        mem_limit=memory_bytes,
        memswap_limit=memory_bytes,
        pids_limit=processes + 1,
        log_config={"Type": "none", "Config": {}},
        tmpfs={STATE: "nosuid,nodev,size=4m,mode=1777", **covers},
        mounts=list(housing.mounts),
        **options,
    )


@functools.cache
def sources() -> bytes:
    """Names and sources of the modules of the first process."""
    folder = Path(__file__).parent / "confined"
    return json.dumps([(name, (folder / f"{name}.py").read_text()) for name in _MODULES]).encode()


def _sent(compiled: bytes | None) -> bytes:
    """What the first process is sent before any order."""
    kind, program = (b"s", sources()) if compiled is None else (b"c", compiled)
    return b"%b%010d%b" % (kind, len(program), program)

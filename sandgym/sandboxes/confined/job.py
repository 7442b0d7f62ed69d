"""One command to run, and where: what goes from the host process to the launcher.

Invariant: a job is complete; a command sees nothing of the machine that its job does not name.
"""

from __future__ import annotations

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Job:
    """A command and its confinement.

    Attributes:
        command: for ``bash -c``.
        prologue: what bash reads first.
        cwd: working folder; ``fallback`` where that is gone.
        fallback: the working folder at the start.
        env: environment variables.
        timeout: seconds.
        root: an empty folder that the new root is mounted at.
        parts: of the view, name to path inside.
        view: folder whose parts are writable, or upper layer of an overlay.
        lowers: of the overlay, topmost first; empty without an overlay.
        work: working folder of the overlay.
        readable: further files and folders, path inside to path on this machine.
        hidden: paths that are covered where this machine's own folders show them.
        covered: paths that are covered where ``readable`` shows them.
        uid: user and group of the command on this machine; None to stay what this process is.
        network: whether the machine's network can be reached.
        memory_bytes, processes, file_bytes, disk_bytes: limits.
    """

    command: str
    prologue: str
    cwd: str
    fallback: str
    env: dict[str, str]
    timeout: float
    root: str
    parts: dict[str, str]
    view: str
    lowers: tuple[str, ...]
    work: str
    readable: dict[str, str]
    hidden: tuple[str, ...]
    covered: tuple[str, ...]
    uid: int | None
    network: bool
    memory_bytes: int
    processes: int
    file_bytes: int
    disk_bytes: int

    def encode(self) -> bytes:
        """For ``decode``."""
        return json.dumps(dataclasses.asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Job:
        """What ``encode`` gave."""
        values = json.loads(data)
        return cls(**values | {name: tuple(values[name]) for name in ("lowers", "hidden", "covered")})


@dataclasses.dataclass(frozen=True)
class Report:
    """What became of a job.

    Attributes:
        error: why it could not be run at all.
        missing: whether that is because a folder of it is gone.
        status: of the command, as ``waitpid`` gives it.
        ended: why it was ended: ``timeout``, ``memory``, ``disk`` or nothing.
        background: processes that it left.
        state: what the shell left, in Latin-1.
    """

    error: str = ""
    missing: bool = False
    status: int = 0
    ended: str = ""
    background: int = 0
    state: str = ""

    def encode(self) -> bytes:
        """One line for ``decode``."""
        return json.dumps(dataclasses.asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Report:
        """What ``encode`` gave."""
        return cls(**json.loads(line))

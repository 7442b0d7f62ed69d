"""What every sandbox offers, whatever keeps its files.

Invariant: a sandbox is its writable view (the repository, HOME and ``/tmp``), the working
folder and the exported variables; no process lives between two commands. A snapshot holds
all of that, so what happens after ``restore`` depends on the snapshot and on nothing else.

Paths are absolute and as seen from inside.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import posixpath
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from sandgym.core import SandboxError
from sandgym.sandboxes.images import HOME, TMP, DockerImage, FolderImage, Image
from sandgym.sandboxes.paths import resolve
from sandgym.sandboxes.snapshots import Change, Changes, Entry, SandboxSnapshot

__all__ = [
    "HOME",
    "TMP",
    "CommandResult",
    "DockerImage",
    "FolderImage",
    "Image",
    "Limits",
    "Sandbox",
    "SandboxLost",
    "Unconfinable",
    "typed_errors",
]


class SandboxLost(SandboxError):  # noqa: N818
    """What holds the sandbox (its folders, its container) vanished behind its back."""


class Unconfinable(SandboxError):  # noqa: N818
    """Commands cannot be confined on this machine, and were not allowed to run unconfined."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a command may use.

    Attributes:
        memory_bytes: of all processes together, resident; and of each one, address space.
        processes: that exist at the same time, threads included.
        file_bytes: size of one file.
        disk_bytes: of everything that is not in the image.
        output_chars: beyond which the middle of the output is left out.
        timeout: seconds, where ``run`` is given none.
    """

    memory_bytes: int = 4 << 30
    processes: int = 256
    file_bytes: int = 1 << 30
    disk_bytes: int = 4 << 30
    output_chars: int = 10_000
    timeout: float = 60.0


@dataclasses.dataclass(frozen=True)
class CommandResult:
    """What a command did.

    Attributes:
        returncode: as a shell reports it, 128 + n for signal n; None after a time-out.
        output: standard output and standard error together, its middle left out where it is too long.
        truncated: whether it was.
        timed_out: whether the time was up.
        ended_background: processes that it left behind, and that were ended.
    """

    returncode: int | None
    output: str
    truncated: bool = False
    timed_out: bool = False
    ended_background: int = 0


class Sandbox(abc.ABC):
    """Files that commands may change, and that can be saved, restored and forked.

    Attributes:
        backend: name of what keeps the files.
        image: from which it started.
        limits: of its commands.
        network: whether commands reach the network; without it, what they send is dropped.
        cwd: working folder of the next command.
        variables: exported variables of the next command.
    """

    backend: str
    image: Image
    limits: Limits
    network: bool
    cwd: str
    variables: dict[str, str]

    @abc.abstractmethod
    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run ``bash -c command``; when it returns, none of its processes is left.

        The working folder and the exported variables that it ends with are those of the
        next command, unless it was killed or replaced its exit trap.

        Raises:
            SandboxLost: the sandbox vanished.
            SandboxError: this machine failed otherwise.
        """

    @abc.abstractmethod
    def snapshot(self) -> SandboxSnapshot:
        """Save the sandbox. Does not change it."""

    @abc.abstractmethod
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """Go to a saved state.

        Raises:
            SnapshotMismatch: the snapshot is of another image or backend.
            SandboxLost: the snapshot's store is gone.
        """

    @abc.abstractmethod
    def _another(self) -> Self:
        """A new sandbox of the same image and options."""

    @abc.abstractmethod
    def changes(self) -> Changes:
        """Every path whose kind, mode or content differs from the image."""

    @abc.abstractmethod
    def _at(self, path: str) -> Entry | None:
        """What is at a path without links, without the content of a file; None when nothing is there.

        Raises:
            PermissionError: the path is outside the writable view.
        """

    @abc.abstractmethod
    def _content(self, path: str) -> bytes:
        """Content of the file at a path without links."""

    @abc.abstractmethod
    def _put(self, path: str, data: bytes, mode: int) -> None:
        """Write a file at a path without links, instead of what may be there."""

    @abc.abstractmethod
    def _in_image(self, path: str) -> bool:
        """Whether the image has something at the path."""

    @abc.abstractmethod
    def close(self) -> None:
        """Remove the sandbox; its snapshots stay. May be called twice."""

    def fork(self, k: int) -> list[Self]:
        """``k`` sandboxes at this very state that share no future with this one.

        Raises:
            ValueError: ``k`` is negative.
        """
        if k < 0:
            raise ValueError(f"cannot fork {k} times")
        saved = self.snapshot()
        forks: list[Self] = []
        try:
            for each in self._others_at(saved, k):
                forks.append(each)
        except BaseException:
            for each in forks:
                each.close()
            raise
        return forks

    def _others_at(self, snapshot: SandboxSnapshot, k: int) -> Iterator[Self]:
        """``k`` new sandboxes at a saved state."""
        for _ in range(k):
            yield self.another_at(snapshot)

    def another_at(self, snapshot: SandboxSnapshot) -> Self:
        """A new sandbox of the same image and options at a saved state; see ``restore``."""
        other = self._another()
        try:
            other.restore(snapshot)
        except BaseException:
            other.close()
            raise
        return other

    def diff(self) -> dict[str, Change]:
        """What differs from the image, by path."""
        return {
            path: "deleted" if entry is None else "changed" if self._in_image(path) else "added"
            for path, entry in sorted(self.changes().items())
        }

    def read(self, path: str) -> bytes:
        """Content of a file of the writable view; links are followed as they lead inside.

        Raises:
            FileNotFoundError, IsADirectoryError: there is no such file.
            PermissionError: it is outside the writable view.
        """
        resolved = self._resolve(path)
        present = self._at(resolved)
        if present is None:
            raise FileNotFoundError(f"no {path} in the sandbox")
        if present.kind != "file":
            raise IsADirectoryError(f"{path} in the sandbox is no file")
        return self._content(resolved)

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        """Write a file of the writable view, with the folders that lead to it.

        A link or file at the path itself is replaced; links before it are followed as they
        lead inside.

        Args:
            path: of the file.
            data: its content.
            mode: permission bits; by default those of the present file, or 0o644.

        Raises:
            IsADirectoryError: a folder is there.
            NotADirectoryError: a file is where a folder should be.
            PermissionError: it is outside the writable view.
        """
        folder, name = posixpath.split(posixpath.normpath(path))
        resolved = posixpath.join(self._resolve(folder), name)
        self._check_folders(resolved)
        present = self._at(resolved)
        if present is not None and present.kind == "folder":
            raise IsADirectoryError(f"{path} in the sandbox is a folder")
        if mode is None:
            mode = present.mode if present is not None and present.kind == "file" else 0o644
        self._put(resolved, data, mode)

    def _check_folders(self, path: str) -> None:
        """Raise unless whatever exists of the folders that lead to a path is a folder."""
        while (path := posixpath.dirname(path)) != "/":
            try:
                present = self._at(path)
            except PermissionError:  # above the writable view
                return
            if present is not None and present.kind != "folder":
                raise NotADirectoryError(f"{path} in the sandbox is no folder")

    def _resolve(self, path: str) -> str:
        """The path with every link in it replaced by what it leads to."""
        return resolve(path, self._link_target)

    def _link_target(self, path: str) -> str | None:
        try:
            present = self._at(path)
        except PermissionError:
            return None
        return present.content if present is not None and present.kind == "link" else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.backend} sandbox of {getattr(self.image, 'root', getattr(self.image, 'name', ''))}>"


@contextlib.contextmanager
def typed_errors() -> Iterator[None]:
    """Turns what the machine refuses (no space, no permission) into ``SandboxError``."""
    try:
        yield
    except OSError as error:
        raise SandboxError(f"the sandbox's store failed: {error}") from error

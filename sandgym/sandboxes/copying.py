"""The ``copy`` backend: every sandbox is a copy of the image; snapshots keep what changed.

Invariant: what is known of a path is true as long as the path's inode, size, mode and times
are those that were recorded; a command cannot set a change time. Snapshots share blobs,
which are files named by their SHA-256 and never written again.

Hard links become files of their own, and sockets are not kept.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from sandgym.core import SandboxError
from sandgym.sandboxes import isolation, unconfined
from sandgym.sandboxes.base import (
    Changes,
    CommandResult,
    Entry,
    FolderImage,
    Limits,
    SandboxLost,
    SandboxSnapshot,
    Unconfinable,
    check_restorable,
    typed_errors,
)
from sandgym.sandboxes.blobs import Blob, keep
from sandgym.sandboxes.hosted import HostedSandbox
from sandgym.sandboxes.reaper import process_folder, remove, remove_with
from sandgym.sandboxes.tree import (
    HOME_MODE,
    PARTS,
    TMP_MODE,
    Found,
    Opened,
    copy_tree,
    entry_of,
    tree_of,
)

_RACY = 50_000_000  # nanoseconds: a change so soon after a look may leave all times as they were

Signature = tuple[int, ...]


class Saved(NamedTuple):
    """What is at a changed path, and where its content is kept.

    Attributes:
        entry: None where the path was deleted.
        blob: content of a file that differs from the image's.
        mtime_ns: of a file.
    """

    entry: Entry | None
    blob: Blob | None
    mtime_ns: int


class CopyingSnapshot(SandboxSnapshot):
    """Changed paths and the blobs of their content."""

    def __init__(self, image: str, cwd: str, variables: Mapping[str, str], saved: Mapping[str, Saved]) -> None:
        super().__init__(image, cwd, variables)
        self.saved = dict(saved)

    @property
    def changes(self) -> Changes:
        """Every path whose kind, mode or content differs from the image."""
        return {path: item.entry for path, item in self.saved.items()}

    @property
    def bytes(self) -> int:
        """Size of the blobs, of which snapshots that have the same share one."""
        return sum({item.blob.digest: item.blob.size for item in self.saved.values() if item.blob}.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.image, self.cwd, self.variables, self.saved))


def problem() -> str | None:
    """Why the backend does not work here; None where it does."""
    return isolation.problem()


class CopyingSandbox(HostedSandbox):
    """See the module. ``unconfined`` allows commands to run without namespaces where there are none."""

    backend = "copy"
    image: FolderImage

    @typed_errors()
    def __init__(
        self, image: FolderImage, limits: Limits | None = None, network: bool = False, *, unconfined: bool = False
    ) -> None:
        self.image, self.limits, self.network, self._unconfined = image, limits or Limits(), network, unconfined
        self.cwd = image.workdir
        self.variables = isolation.first_variables(image)
        self._tree = tree_of(image)
        self._known: dict[str, Signature | None] = {}
        self._changed: dict[str, Saved] = {}
        self._dirty = True  # whether something may have changed that is not known
        self._folder = Path(tempfile.mkdtemp(prefix="copy-", dir=process_folder()))
        self._remover = remove_with(self, self._folder)
        try:
            for part, mode in zip(PARTS, (None, HOME_MODE, TMP_MODE), strict=True):
                top = self._folder / part
                if mode is None:
                    copy_tree(image.root, top, self._own)
                else:
                    top.mkdir()
                    top.chmod(mode)
                    self._own(top)
            self._look(self._tree.entries)
        except BaseException:
            self.close()
            raise

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """See the base class.

        Raises:
            Unconfinable: commands cannot be confined here, and running them unconfined was not allowed.
        """
        self._check_alive()
        if (reason := isolation.problem()) is None:
            execute = isolation.execute
        elif self._unconfined:
            execute = unconfined.execute
        else:
            raise Unconfinable(
                f"commands cannot be confined here ({reason}); unconfined=True runs them as this process's user, "
                "who may change any of its files"
            )
        self._dirty = True
        view = isolation.View(self._folder, self._tree.places.inside, image_bytes=self._tree.bytes)
        result, state = execute(
            view,
            self.image,
            command,
            cwd=self.cwd,
            variables=self.variables,
            limits=self.limits,
            network=self.network,
            timeout=timeout,
        )
        if state is not None:
            self.cwd, self.variables = state
        return result

    @typed_errors()
    def snapshot(self) -> CopyingSnapshot:
        """See the base class."""
        self._check_alive()
        self._look()
        return CopyingSnapshot(self._tree.identity, self.cwd, self.variables, self._changed)

    @typed_errors()
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """See the base class."""
        self._check_alive()
        check_restorable(snapshot, CopyingSnapshot, self._tree.identity)
        assert isinstance(snapshot, CopyingSnapshot)
        self._look()
        wanted = snapshot.saved
        for item in wanted.values():
            if item.blob is not None and not item.blob.path.exists():
                raise SandboxLost(f"{snapshot!r} is gone with the process that made it")
        touched = sorted(
            path
            for path in self._changed.keys() | wanted.keys()
            if self._changed.get(path, _IMAGE) != wanted.get(path, _IMAGE)
        )
        self._dirty = True  # should the disk fail in between
        with Opened() as opened:
            for path in touched:
                opened.open_above(self._host(path), self._folder)
            for path in reversed(touched):
                self._clear(path, self._target(path, wanted).entry)
            for path in touched:
                self._make(path, self._target(path, wanted))
            for path in reversed(touched):  # what is in a folder before it, since its mode may forbid that
                opened.leave(self._host(path))
                self._settle(path, self._target(path, wanted).entry)
        self._changed, self._dirty = dict(wanted), False
        self.cwd, self.variables = snapshot.cwd, dict(snapshot.variables)

    def _another(self) -> Self:
        return type(self)(self.image, self.limits, self.network, unconfined=self._unconfined)

    @typed_errors()
    def changes(self) -> Changes:
        """See the base class."""
        self._check_alive()
        self._look()
        return {path: item.entry for path, item in self._changed.items()}

    def close(self) -> None:
        """See the base class."""
        self._remover()

    def _locate(self, path: str) -> Path | None:
        host = self._host(path)
        return host if os.path.lexists(host) else None

    def _in_image(self, path: str) -> bool:
        return path in self._tree.entries

    def _put(self, path: str, data: bytes, mode: int) -> None:
        self._check_alive()
        self._dirty = True
        host = self._host(path)
        for folder in reversed(host.relative_to(self._folder).parents[:-1]):
            here = self._folder / folder
            if not here.is_dir():
                here.mkdir(mode=0o755)
                self._own(here)
        host.unlink(missing_ok=True)
        host.write_bytes(data)
        self._own(host)
        host.chmod(mode)

    def _host(self, path: str) -> Path:
        return self._tree.places.on_host(self._folder, path)

    def _check_alive(self) -> None:
        if not (self._folder / PARTS[0]).is_dir():
            raise SandboxLost(f"the sandbox in {self._folder} was closed or removed")

    def _own(self, path: str | Path) -> None:
        """Let commands own what was made for them."""
        if isolation.problem() is None:  # unconfined ones run as this process's user
            isolation.give_to_agent(path)

    def _look(self, from_image: Mapping[str, Entry] | None = None) -> None:
        """Learn what is at every path, unless nothing happened since; of a fresh copy, what the image has."""
        if not self._dirty:
            return
        before, known, unknown = self._known, dict[str, Signature | None](), list[Found]()
        settled = time.time_ns() - _RACY
        with Opened() as opened:
            stack = [(str(self._folder / part), top) for part, top in self._tree.places.inside.items()]
            while stack:  # runs through everything at every snapshot, hence without a call for what is as it was
                folder, path = stack.pop()
                own, folders, others = opened.list(folder)
                signature: Signature = (own.st_mode,)
                known[path] = signature
                if before.get(path) != signature:
                    unknown.append(Found(path, folder, own))
                for name, status in others:
                    below = f"{path}/{name}"
                    signature = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
                    known[below] = signature
                    if before.get(below) != signature:
                        unknown.append(Found(below, f"{folder}/{name}", status))
                for name in folders:
                    stack.append((f"{folder}/{name}", f"{path}/{name}"))
            changed = {path: saved for path, saved in self._changed.items() if path in known}
            for found in unknown:
                racy = from_image is None and found.status.st_ctime_ns > settled
                known[found.path] = None if racy else _signature(found.status)
                entry = from_image.get(found.path) if from_image is not None else entry_of(found)
                if entry is None or entry == self._tree.entries.get(found.path):
                    changed.pop(found.path, None)
                else:
                    blob = keep(found.host, entry.content) if entry.kind == "file" else None
                    changed[found.path] = Saved(entry, blob, found.status.st_mtime_ns)
        for path in self._tree.entries.keys() - known.keys():
            changed[path] = _DELETED
        self._known, self._changed, self._dirty = known, changed, False

    def _target(self, path: str, wanted: Mapping[str, Saved]) -> Saved:
        return wanted[path] if path in wanted else Saved(self._tree.entries.get(path), None, 0)

    def _clear(self, path: str, target: Entry | None) -> None:
        """Remove what is at a path, unless it is the folder that is wanted there."""
        host = self._host(path)
        if not os.path.lexists(host):
            return
        if not (target and target.kind == "folder" and host.is_dir() and not host.is_symlink()):
            remove(host)
        else:
            host.chmod(0o700)

    def _make(self, path: str, target: Saved) -> None:
        entry, host = target.entry, self._host(path)
        if entry is None:
            return
        if entry.kind == "folder":
            host.mkdir(exist_ok=True)
        elif entry.kind == "link":
            host.symlink_to(entry.content)
        elif entry.kind == "fifo":
            os.mkfifo(host)
        elif target.blob is not None:
            shutil.copyfile(target.blob.path, host)
            os.utime(host, ns=(target.mtime_ns, target.mtime_ns))
        else:
            self._copy_from_image(path, host)
        self._own(host)

    def _copy_from_image(self, path: str, host: Path) -> None:
        source = self._tree.source(path)
        try:
            shutil.copyfile(source, host)
        except OSError as error:
            raise SandboxError(f"the image has changed: {error}") from error
        shutil.copystat(source, host)

    def _settle(self, path: str, entry: Entry | None) -> None:
        """Give what was made its mode, and learn it."""
        if entry is None:
            self._known.pop(path, None)
            return
        host = self._host(path)
        if entry.kind != "link":
            host.chmod(entry.mode)
        self._known[path] = _signature(host.lstat())


_DELETED = Saved(None, None, 0)
_IMAGE = Saved(None, None, -1)  # stands for: as in the image


def _signature(status: os.stat_result) -> Signature:
    if stat.S_ISDIR(status.st_mode):  # whose times say nothing about itself
        return (status.st_mode,)
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

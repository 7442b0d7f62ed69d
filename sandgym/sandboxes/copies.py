"""A copy of an image on this machine, and what is known of it.

Invariant: what is known of a path is true as long as the path's inode, size, mode and times are those that were
recorded, and what is known of the names in a folder as long as the folder's are; a command cannot set a change time.
Nothing is looked at or changed through a link. Whatever anybody touched is made anew where the copy is brought to
a state, even if it looks as it should: what its content does not show, such as hard links, goes with it.
"""

from __future__ import annotations

import operator
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from sandgym.core import SandboxError
from sandgym.sandboxes import isolation
from sandgym.sandboxes.blobs import Blob, keep
from sandgym.sandboxes.reaper import process_folder, remove, remove_with
from sandgym.sandboxes.snapshots import Entry
from sandgym.sandboxes.tree import (
    HOME_MODE,
    PARTS,
    TMP_MODE,
    Found,
    ImageTree,
    Opened,
    copy_file,
    copy_tree,
    entry_of,
)

_RACY = 50_000_000  # nanoseconds: a change so soon after a look may leave all times as they were
_FILE_CLOCK = 5  # of clock_gettime(2) on Linux: CLOCK_REALTIME_COARSE, which stamps files

Signature = tuple[int, ...]
Names = dict[str, Signature | None]  # what is in a folder, by path on this machine; None where that has to be looked at
_signature = operator.attrgetter("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns", "st_ino")


class Saved(NamedTuple):
    """What is at a changed path, and where its content is kept.

    Attributes:
        entry: None where the path was deleted.
        blob: content of a file that differs from the image's.
        mtime_ns: of what is there.
    """

    entry: Entry | None
    blob: Blob | None
    mtime_ns: int


_DELETED = Saved(None, None, 0)
_IMAGE = Saved(None, None, -1)  # stands for: as in the image


class _Scan(NamedTuple):
    """What a walk found.

    Attributes:
        listed: what is in each folder.
        unknown: that is not as it was.
        gone: paths at which something was.
    """

    listed: dict[str, Names]
    unknown: list[Found]
    gone: list[str]


class Copy:
    """A copy of an image, made at once and removed with the object or by ``remove``.

    Attributes:
        tree: the image.
        folder: where the parts of the view are.
        changed: what differed from the image at the last look.
    """

    def __init__(self, tree: ImageTree) -> None:
        self.tree = tree
        self.changed: dict[str, Saved] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="copy-", dir=process_folder()))
        self.remove = remove_with(self, self.folder)
        self._dirty = False  # whether something may have changed that is not known
        self._touched: set[str] = set()  # by others than this process since it brought the copy to a state
        try:
            copy_tree(tree.root, self.folder / PARTS[0], own)
            for part, mode in zip(PARTS[1:], (HOME_MODE, TMP_MODE), strict=True):
                top = self.folder / part
                top.mkdir()
                top.chmod(mode)
                own(top)
            self._listed: dict[str, Names] = {}
            with Opened() as opened:
                self._listed = self._scan(opened).listed
        except BaseException:
            self.remove()
            raise
        self._made = _file_time()

    def host(self, path: str) -> str:
        """Where the copy has a path."""
        part, below = self.tree.places.split(path)
        return f"{self.folder}/{part}/{below}" if below else f"{self.folder}/{part}"

    def touch(self) -> None:
        """Say that from now on something may change; what was made gets another time than what is changed."""
        self._dirty = True
        while _file_time() == self._made:
            time.sleep(0.0005)

    def look(self) -> None:
        """Learn what changed, unless nothing can have."""
        if not self._dirty:
            return
        settled, changed = time.time_ns() - _RACY, dict(self.changed)
        with Opened() as opened:
            scan = self._scan(opened)
            for path in scan.gone:
                changed.pop(path, None)
                if path in self.tree.entries:
                    changed[path] = _DELETED
            for found in scan.unknown:
                if found.status.st_ctime_ns > settled:
                    scan.listed[os.path.dirname(found.host)][found.host] = None
                entry = entry_of(found)
                if entry is None or entry == self.tree.entry(found.path):
                    changed.pop(found.path, None)
                else:
                    blob = keep(found.host, entry.content) if entry.kind == "file" else None
                    changed[found.path] = Saved(entry, blob, found.status.st_mtime_ns)
        self._touched.update(scan.gone, (found.path for found in scan.unknown))
        self._listed, self.changed, self._dirty = scan.listed, changed, False

    def bring_to(self, wanted: Mapping[str, Saved]) -> None:
        """Let the copy differ from the image as is wanted, whatever is there now."""
        listed = self._listed
        touched = {
            path
            for path in self.changed.keys() | wanted.keys()
            if self.changed.get(path, _IMAGE) != wanted.get(path, _IMAGE)
        }
        if self._dirty:
            with Opened() as opened:
                scan = self._scan(opened)
            listed = scan.listed
            touched.update(self._touched, scan.gone, (found.path for found in scan.unknown))
        else:
            touched |= self._touched
        self._dirty = True  # should the disk fail in between
        order = self._with_folders(touched)
        targets = {path: wanted[path] if path in wanted else self._original(path) for path in order}
        for path in order:  # folders first, so that none that leads to a path is a link
            _clear(self.host(path), targets[path].entry)
        for path in order:
            self._make(path, targets[path])
        with_wanted = {os.path.dirname(path) for path in wanted}
        made = {}
        for path in reversed(order):  # what is in a folder before it, since its mode may forbid that
            made[path] = self._settle(path, targets[path], path in wanted or path not in with_wanted)
        for path in order:
            self._know(listed, self.host(path), made[path])
        self._listed, self.changed, self._touched = listed, dict(wanted), set()
        self._made, self._dirty = _file_time(), False

    def _scan(self, opened: Opened) -> _Scan:
        """Walk through everything; folders are listed only where they are not as they were."""
        listed, unknown, gone = dict[str, Names](), list[Found](), list[str]()
        stack = [(str(self.folder), True)]
        while stack:
            folder, as_it_was = stack.pop()
            before = self._listed.get(folder)
            if folder == str(self.folder):
                tops = (f"{folder}/{part}" for part in PARTS)
                here: Names = {top: _signature(os.lstat(top)) for top in tops if os.path.lexists(top)}
            else:
                here = _look_into(folder, before if as_it_was else None, opened)
            listed[folder] = here
            before = before or {}
            if here != before:
                unknown += [
                    Found(self._inside(host), host, os.lstat(host))
                    for host, signature in here.items()
                    if before.get(host) != signature
                ]
                gone += [self._inside(host) for host in before if host not in here]
            for host, signature in here.items():
                if signature and stat.S_ISDIR(signature[0]):
                    stack.append((host, before.get(host) == signature))
        for folder in self._listed.keys() - listed.keys():
            gone += [self._inside(host) for host in self._listed[folder]]
        return _Scan(listed, unknown, gone)

    def _inside(self, host: str) -> str:
        part, slash, below = host[len(str(self.folder)) + 1 :].partition("/")
        return self.tree.places.inside[part] + slash + below

    def _with_folders(self, paths: Iterable[str]) -> list[str]:
        """Paths and all folders that lead to them, folders before their content."""
        tops, order = set(self.tree.places.inside.values()), set(paths)
        for path in tuple(order):
            while path not in tops and (path := os.path.dirname(path)) not in order:
                order.add(path)
        return sorted(order)

    def _original(self, path: str) -> Saved:
        """What the image has at a path; its time is that of the image, where the path is in a folder of it."""
        entry = self.tree.entry(path)
        if entry is None or self.tree.places.split(path)[0] != PARTS[0]:
            return Saved(entry, None, -1)
        try:
            return Saved(entry, None, os.lstat(self.tree.source(path)).st_mtime_ns)
        except OSError as error:
            raise SandboxError(f"the image has changed: {error}") from error

    def _make(self, path: str, target: Saved) -> None:
        entry, host = target.entry, self.host(path)
        if entry is None:
            return
        if entry.kind == "folder":
            if os.path.isdir(host):
                return
            os.mkdir(host, 0o700)
        elif entry.kind == "link":
            os.symlink(entry.content, host)
        elif entry.kind == "fifo":
            os.mkfifo(host)
        else:
            copy_file(str(target.blob.path if target.blob else self.tree.source(path)), host)
        own(host)

    def _settle(self, path: str, target: Saved, timed: bool) -> os.stat_result | None:
        """Give what was made its mode and, where it has one, its time; what it is then."""
        entry, host = target.entry, self.host(path)
        if entry is None:
            return None
        if entry.kind != "link":
            os.chmod(host, entry.mode)
        if target.mtime_ns >= 0 and (timed or entry.kind != "folder"):
            os.utime(host, ns=(target.mtime_ns, target.mtime_ns), follow_symlinks=False)
        return os.lstat(host)

    def _know(self, listed: dict[str, Names], host: str, status: os.stat_result | None) -> None:
        names = listed.get(os.path.dirname(host), {})
        if status is None:
            names.pop(host, None)
        else:
            names[host] = _signature(status)
        if status is not None and stat.S_ISDIR(status.st_mode):
            listed.setdefault(host, {})
        else:
            listed.pop(host, None)


def own(path: str | Path) -> None:
    """Let commands own what was made for them."""
    if isolation.problem() is None:  # unconfined ones run as this process's user
        isolation.give_to_agent(path)


def _look_into(folder: str, known: Names | None, opened: Opened) -> Names:
    """What is in a folder, of which the names may be known."""
    if known is not None:
        try:
            return dict(zip(known, map(_signature, map(os.lstat, known)), strict=True))
        except OSError:  # closed
            pass
    listing = opened.list(folder)
    here: Names = {f"{folder}/{name}": _signature(status) for name, status in listing.others}
    for name in listing.folders:
        here[f"{folder}/{name}"] = _signature(os.lstat(f"{folder}/{name}"))
    return here


def _clear(host: str, target: Entry | None) -> None:
    """Remove what is there, unless it is a folder and one is wanted; that is opened and loses its attributes."""
    if not os.path.lexists(host):
        return
    if not (target and target.kind == "folder" and stat.S_ISDIR(os.lstat(host).st_mode)):
        remove(Path(host))
        return
    os.chmod(host, 0o700)
    for name in _attributes(host):
        os.removexattr(host, name)


def _attributes(host: str) -> list[str]:
    """Names of the extended attributes that a command can give, access lists among them."""
    try:
        return [name for name in os.listxattr(host) if not name.startswith("security.")]
    except (OSError, AttributeError):  # there are none, on this file system or on this system
        return []


def _file_time() -> int:
    """The time that files get now, in nanoseconds."""
    return time.clock_gettime_ns(_FILE_CLOCK) if sys.platform == "linux" else time.time_ns()

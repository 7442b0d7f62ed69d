"""Layers of an overlay file system, read and written from outside while it is not mounted.

Invariant: a frozen layer is never written again. Deletions are character devices 0:0, and
a folder that hides those below it has the attribute ``overlay.opaque``, as overlayfs has it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sandgym.sandboxes.isolation import give_to_agent
from sandgym.sandboxes.merging import Touched, merged
from sandgym.sandboxes.reaper import process_folder, remove, remove_with
from sandgym.sandboxes.snapshots import Changes, Entry
from sandgym.sandboxes.tree import ImageTree, Opened, entry_of, readable, walk

MOST = 32  # layers in a chain; their names together have to fit into a page
_numbers = itertools.count()


class Layer:
    """What changed, on top of another layer or of the image.

    Removed from the disk when nothing of this process refers to it, unless it was pickled;
    then it stays as long as the process.

    Attributes:
        path: folder with the parts of a view.
        parent: the layer below.
        depth: of the chain.
    """

    __slots__ = ("__weakref__", "_bytes", "_changes", "_finalizer", "depth", "parent", "path")

    def __init__(self, path: Path, parent: Layer | None, *, owned: bool = True) -> None:
        self.path = path
        self.parent = parent
        self.depth: int = 1 + (parent.depth if parent else 0)
        self._changes: dict[str, Entry | None] | None = None
        self._bytes: int | None = None
        self._finalizer = remove_with(self, path) if owned else None
        _LAYERS[os.getpid(), str(path)] = self

    def chain(self) -> Iterator[Layer]:
        """This layer and all below, topmost first."""
        layer: Layer | None = self
        while layer is not None:
            yield layer
            layer = layer.parent

    def changes(self, tree: ImageTree | None) -> dict[str, Entry | None]:
        """What differs from the image, whose tree is not needed where that is known."""
        if self._changes is None:
            assert tree is not None
            self._changes = changes_of(tree, self.parent, self.path)
        return self._changes

    def know(self, changes: Changes) -> None:
        """Be told what differs from the image, where that was not computed here."""
        if self._changes is None:
            self._changes = dict(changes)

    @property
    def bytes(self) -> int:
        """Size on disk of the whole chain."""
        if self._bytes is None:
            own = sum(found.status.st_blocks * 512 for found in walk(str(self.path), ""))
            self._bytes = own + (self.parent.bytes if self.parent else 0)
        return self._bytes

    def __reduce__(self) -> tuple[Any, ...]:
        if self._finalizer is not None:
            self._finalizer.detach()
        return (_found, (str(self.path), self.parent))


_LAYERS: weakref.WeakValueDictionary[tuple[int, str], Layer] = weakref.WeakValueDictionary()


def _found(path: str, parent: Layer | None) -> Layer:
    """The layer of a pickle: this process's own, or another's, which is not ours to remove."""
    layer = _LAYERS.get((os.getpid(), path))
    return layer if layer is not None else Layer(Path(path), parent, owned=False)


def _new_folder() -> Path:
    folder = process_folder() / "layers"
    folder.mkdir(exist_ok=True)
    return folder / str(next(_numbers))


def freeze(upper: Path, parent: Layer | None) -> Layer:
    """Turn an upper layer into a frozen one; the chain is flattened where it gets too long."""
    path = _new_folder()
    upper.rename(path)
    layer = Layer(path, parent)
    return layer if layer.depth <= MOST else flatten(layer)


def is_whiteout(status: os.stat_result) -> bool:
    """Whether it says that something below is deleted."""
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _opaque_attribute() -> str:
    return "trusted.overlay.opaque" if os.geteuid() == 0 else "user.overlay.opaque"


def is_opaque(folder: str | Path) -> bool:
    """Whether a folder hides those below it."""
    try:
        return readable(str(folder), lambda path: os.getxattr(path, _opaque_attribute())) == b"y"
    except OSError:
        return False


def locate(layers: Iterable[Path], path: str) -> Path | None:
    """Where the path of a view is kept, looked up as overlayfs does.

    Args:
        layers: topmost first.
        path: relative to the layers, without links in it.
    """
    here = list(layers)
    for name in path.split("/"):
        below: list[Path] = []
        for folder in here:
            candidate = folder / name
            try:
                status = candidate.lstat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            if is_whiteout(status):
                break
            if not stat.S_ISDIR(status.st_mode):
                below = below or [candidate]
                break
            below.append(candidate)
            if is_opaque(candidate):
                break
        if not below:
            return None
        here = below
    return here[0]


def put(layers: list[Path], path: str, data: bytes, mode: int) -> None:
    """Write a file into the topmost layer, instead of what may be there."""
    names = path.split("/")
    upper = layers[0]
    for depth in range(1, len(names)):
        folder = "/".join(names[:depth])
        present = locate(layers, folder)
        here = upper / folder
        if present == here:
            continue
        here.unlink(missing_ok=True)  # a whiteout
        here.mkdir()
        if present is None:
            os.setxattr(here, _opaque_attribute(), b"y")
            give_to_agent(here)
            here.chmod(0o755)
        else:
            _copy_facts(present, here)
    file = upper / path
    file.unlink(missing_ok=True)
    file.write_bytes(data)
    give_to_agent(file)
    file.chmod(mode)


def _copy_facts(source: Path, target: Path, mode: int | None = None) -> None:
    """Owner, mode and times of a folder; another mode where its own was changed to read it."""
    status = source.lstat()
    if os.geteuid() == 0:
        os.chown(target, status.st_uid, status.st_gid)
    target.chmod(stat.S_IMODE(status.st_mode) if mode is None else mode)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def changes_of(tree: ImageTree, parent: Layer | None, upper: Path) -> dict[str, Entry | None]:
    """What differs from the image with ``upper`` on top of ``parent``."""
    return merged(tree, parent.changes(tree) if parent else {}, _touched(tree, upper))


def _touched(tree: ImageTree, upper: Path) -> Iterator[Touched]:
    for part, top in tree.places.inside.items():
        if not os.path.lexists(upper / part):
            continue
        for found in walk(str(upper / part), top):
            deleted = is_whiteout(found.status)
            entry = None if deleted else entry_of(found)
            hides = entry is None or entry.kind != "folder" or is_opaque(found.host)
            yield Touched(found.path, entry, deleted, hides)


def flatten(top: Layer) -> Layer:
    """One layer that shows what the whole chain shows. Files are shared with the chain."""
    target = _new_folder()
    target.mkdir()
    folders: dict[Path, Path] = {}
    modes: dict[Path, int] = {}
    with Opened() as opened:
        for layer in reversed(list(top.chain())):
            for found in walk(str(layer.path), str(target), opened):
                here = Path(found.path)
                if not stat.S_ISDIR(found.status.st_mode):
                    remove(here)
                    os.link(found.host, here, follow_symlinks=False)
                    continue
                replaces = os.path.lexists(here) and not here.is_dir()
                if is_opaque(found.host) or replaces or here.is_symlink():
                    remove(here)
                    here.mkdir()
                    os.setxattr(here, _opaque_attribute(), b"y")
                elif not here.is_dir():
                    here.mkdir()
                folders[here] = Path(found.host)
                modes[here] = stat.S_IMODE(found.status.st_mode)
        for here, source in sorted(folders.items(), reverse=True):  # what is in a folder before it
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                _copy_facts(source, here, mode=modes[here])
    flat = Layer(target, None)
    flat._changes = top._changes
    return flat

"""The files of an image and of a view, and what is at each path.

Invariant: entries depend on kind, permission bits and content alone, never on times,
owners or inode numbers; links are never followed. A view is a folder with one part for
each writable place: the repository, HOME and ``/tmp``.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from sandgym.core import SandboxError, digest_of
from sandgym.sandboxes.base import HOME, TMP, FolderImage
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.snapshots import Entry

PARTS = ("work", "home", "tmp")
T = TypeVar("T")
_FICLONE = 0x40049409  # ioctl_ficlone(2)
HOME_MODE, TMP_MODE = 0o755, 0o1777


class Found(NamedTuple):
    """One path of a walk.

    Attributes:
        path: as seen from inside.
        host: where it is on this machine.
        status: ``lstat`` of it.
    """

    path: str
    host: str
    status: os.stat_result


class Listing(NamedTuple):
    """What is in a folder.

    Attributes:
        status: of the folder itself.
        folders: names of those in it.
        others: names and status of everything else.
    """

    status: os.stat_result
    folders: list[str]
    others: list[tuple[str, os.stat_result]]


class Places:
    """Which part of a view appears where."""

    def __init__(self, workdir: str) -> None:
        self.inside = {"work": workdir, "home": HOME, "tmp": TMP}

    def split(self, path: str) -> tuple[str, str]:
        """Part and path below it.

        Raises:
            PermissionError: the path is in no part.
        """
        for part, top in self.inside.items():
            if within(path, top):
                return part, path[len(top) + 1 :]
        raise PermissionError(f"{path} is outside the writable view of the sandbox")

    def on_host(self, view: Path, path: str) -> Path:
        """Where a view keeps the path."""
        part, below = self.split(path)
        return view / part / below if below else view / part


class ImageTree:
    """The content of a folder image, read once.

    Attributes:
        entries: by path inside.
        identity: SHA-256 of the entries.
        root: the folder.
        bytes: of all files.
    """

    def __init__(self, image: FolderImage) -> None:
        self.root = image.root
        if not image.root.is_dir():
            raise SandboxError(f"the image {image.root} is no folder")
        self.places = Places(image.workdir)
        self.signature = _signature(image.root)
        self.entries: dict[str, Entry] = {}
        for found in walk(str(image.root), image.workdir):
            if (entry := entry_of(found)) is not None:
                self.entries[found.path] = entry
        self.entries[HOME] = Entry("folder", HOME_MODE)
        self.entries[TMP] = Entry("folder", TMP_MODE)
        self.bytes = sum(entry.size for entry in self.entries.values())
        self.identity = digest_of(
            {path: (entry.kind, entry.mode, entry.content) for path, entry in self.entries.items()}
        )
        self._children: dict[str, list[str]] = {}
        for path in self.entries:
            self._children.setdefault(os.path.dirname(path), []).append(path)

    def entry(self, path: str) -> Entry | None:
        """What the image has at a path."""
        return self.entries.get(path)

    def source(self, path: str) -> Path:
        """Where the image keeps a path of the working folder."""
        return self.root / self.places.split(path)[1]

    def children(self, path: str) -> list[str]:
        """What the image has directly below a folder."""
        return self._children.get(path, [])


_BY_IMAGE: weakref.WeakKeyDictionary[FolderImage, ImageTree] = weakref.WeakKeyDictionary()
_BY_PLACE: collections.OrderedDict[tuple[str, str], ImageTree] = collections.OrderedDict()
_KEPT = 64  # trees of images that no image object refers to any more


def tree_of(image: FolderImage) -> ImageTree:
    """The tree of an image, read again only when another image object finds the folder changed."""
    tree = _BY_IMAGE.get(image)
    if tree is None:
        place = (os.path.realpath(image.root), image.workdir)
        tree = _BY_PLACE.get(place)
        if tree is None or tree.signature != _signature(image.root):
            tree = ImageTree(image)
        _BY_IMAGE[image] = _BY_PLACE[place] = tree
        _BY_PLACE.move_to_end(place)
        while len(_BY_PLACE) > _KEPT:
            _BY_PLACE.popitem(last=False)
    return tree


def _signature(root: Path) -> str:
    """SHA-256 of names, sizes and times."""
    facts = hashlib.sha256()
    for found in walk(str(root), ""):
        status = found.status
        facts.update(os.fsencode(found.path) + b"\0")
        facts.update(b"%d %d %d %d;" % (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return facts.hexdigest()


class Opened:
    """Folders that their owner may not list or change, made so until the end of the ``with`` block.

    Needed only where this process is not root; agents do close folders.
    """

    def __init__(self) -> None:
        self._modes: dict[str, int] = {}

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        for folder, mode in reversed(self._modes.items()):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.chmod(folder, mode)

    def list(self, folder: str) -> Listing:
        """What is in a folder, with the status that it has when it is not opened."""
        try:
            return _listing(folder)
        except PermissionError:
            status = os.stat(folder)
            self.open(folder)
            return _listing(folder)._replace(status=status)

    def open(self, folder: str) -> None:
        """Let the owner list and change a folder."""
        mode = stat.S_IMODE(os.lstat(folder).st_mode)
        os.chmod(folder, mode | 0o700)
        self._modes.setdefault(folder, mode)

    def open_above(self, path: Path, top: Path) -> None:
        """Let the owner change every folder from ``top``, which is open, to ``path``."""
        for folder in reversed(path.relative_to(top).parents[:-1]):
            here = top / folder
            if here.is_dir() and not here.is_symlink() and not os.access(here, os.R_OK | os.W_OK | os.X_OK):
                self.open(str(here))

    def leave(self, folder: Path) -> None:
        """Let the mode of a folder be what it is now."""
        self._modes.pop(str(folder), None)


def _listing(folder: str) -> Listing:
    folders, others = [], []
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # short names are quicker for the kernel than long paths
    try:
        with os.scandir(opened) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    folders.append(item.name)
                else:
                    others.append((item.name, item.stat(follow_symlinks=False)))
        return Listing(os.fstat(opened), folders, others)
    finally:
        os.close(opened)


def walk(top: str, inside: str, opened: Opened | None = None) -> Iterator[Found]:
    """Everything at and below a folder of this machine, folders before their content.

    Args:
        top: the folder.
        inside: what its path is called.
        opened: keeps folders open that were closed; by default until the walk is over.
    """
    with contextlib.ExitStack() as until_over:
        opened = opened or until_over.enter_context(Opened())
        stack = [(top, inside)]
        while stack:
            folder, path = stack.pop()
            listing = opened.list(folder)
            yield Found(path, folder, listing.status)
            for name, status in listing.others:
                yield Found(f"{path}/{name}", f"{folder}/{name}", status)
            stack.extend((f"{folder}/{name}", f"{path}/{name}") for name in listing.folders)


def readable(path: str, read: Callable[[str], T]) -> T:
    """``read(path)`` of a file, with the owner's permission to do so given for that time where it lacks."""
    try:
        return read(path)
    except PermissionError:
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        os.chmod(path, mode | 0o400)
        try:
            return read(path)
        finally:
            os.chmod(path, mode)


def entry_of(found: Found, content: Callable[[Found], str] | None = None) -> Entry | None:
    """The entry of something found; None for what is no content, such as a socket.

    Args:
        found: by ``walk``.
        content: gives the SHA-256 of a file; by default it is computed.
    """
    mode = found.status.st_mode
    bits = stat.S_IMODE(mode)
    if stat.S_ISREG(mode):
        digest = content(found) if content else sha256(found.host)
        return Entry("file", bits, digest, found.status.st_size)
    if stat.S_ISDIR(mode):
        return Entry("folder", bits)
    if stat.S_ISLNK(mode):
        return Entry("link", 0o777, os.readlink(found.host))
    if stat.S_ISFIFO(mode):
        return Entry("fifo", bits)
    return None


def sha256(host: str) -> str:
    """SHA-256 of a file, in hexadecimal."""

    def read(path: str) -> str:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return readable(host, read)


def copy_tree(source: Path, target: Path, own: Callable[[str], None]) -> None:
    """Copy a folder with modes and times; sockets and devices are left out.

    Args:
        source: the folder.
        target: where to; must not exist.
        own: called with every path that was made.
    """
    folders: list[tuple[str, os.stat_result]] = []
    for found in walk(str(source), str(target)):
        mode, host = found.status.st_mode, found.path
        if stat.S_ISDIR(mode):
            os.mkdir(host)
            folders.append((host, found.status))
        elif stat.S_ISREG(mode):
            copy_file(found.host, host)
            os.chmod(host, stat.S_IMODE(mode))
        elif stat.S_ISLNK(mode):
            os.symlink(os.readlink(found.host), host)
        elif stat.S_ISFIFO(mode):
            os.mkfifo(host, stat.S_IMODE(mode))
        else:
            continue
        own(host)
        if not stat.S_ISDIR(mode):
            os.utime(host, ns=(found.status.st_atime_ns, found.status.st_mtime_ns), follow_symlinks=False)
    for host, status in reversed(folders):
        os.chmod(host, stat.S_IMODE(status.st_mode))
        os.utime(host, ns=(status.st_atime_ns, status.st_mtime_ns))


def copy_file(source: str, target: str) -> None:
    """Copy the bytes of a file; they are shared where the file system can."""
    with readable(source, lambda path: open(path, "rb")) as reader, open(target, "xb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        except OSError:
            shutil.copyfileobj(reader, writer, 1 << 20)

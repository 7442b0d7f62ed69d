"""Files of a container, looked at and changed by its first process.

Invariant: links are never followed, and what is reported of a path is what is there: the
SHA-256 of a file is computed again unless inode, size and times say that it is the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time

from .channel import CHUNK, Channel

TYPE_CHECKING = False
if TYPE_CHECKING:  # what is needed seldom is imported where it is needed, since every container starts anew
    from collections.abc import Iterator
    from typing import Any

_RACY = 20_000_000  # nanoseconds: a change so soon after a look may leave all times as they were
_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo"}
_MOST_KNOWN = 200_000
_UNKNOWN = "\ufffd"  # what the engine writes where a name is not UTF-8


class Files:
    """What is at paths, and changes of it."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[int], str]] = {}  # signature and SHA-256 of files

    def look(self, paths: list[str]) -> dict[str, Any]:
        """What is at each path: kind, mode, content, size and signature, or None.

        ``racy`` says whether something has changed so lately that its signature may not tell a later change.
        """
        settled = time.time_ns() - _RACY
        found = {path: self._entry(path, settled) for named in paths for path in _meant(named)}
        return {"found": list(found.items()), "racy": _racy(found.values(), settled)}

    def layer(self, folder: str) -> dict[str, Any]:
        """What the upper folder of an overlay has, beside itself: path, and as ``look``; whether it is a deletion, and
        whether it hides what layers below have.
        """
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        settled = time.time_ns() - _RACY
        found = []
        for path in _below(folder, os.lstat(folder).st_dev):
            entry = self._entry(path, settled)
            if entry is None:
                continue
            deleted = entry[0] == "other" and _is_whiteout(path)
            opaque = entry[0] == "folder" and _is_opaque(path)
            found.append((path[len(folder) :], None if deleted else entry, deleted, opaque))
        return {"found": found, "racy": _racy([item[1] for item in found], settled)}

    def _entry(self, path: str, settled: int) -> list[Any] | None:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
        times = [status.st_mtime_ns, status.st_ctime_ns]
        signature = [status.st_mode, status.st_size, status.st_ino, *times]
        content = ""
        if kind == "file":
            before = self._known.get(path)
            content = before[1] if before is not None and before[0] == signature else _sha256(path)
            if status.st_ctime_ns <= settled:
                self._known[path] = (signature, content)
            else:
                self._known.pop(path, None)
        elif kind == "link":
            content = os.readlink(path)
        mode = 0o777 if kind == "link" else stat.S_IMODE(status.st_mode)
        return [kind, mode, content, status.st_size if kind == "file" else 0, signature]

    def walk(self, top: str) -> list[str]:
        """Every path below a folder of the same file system."""
        return list(_below(top, os.lstat(top).st_dev)) if os.path.lexists(top) else []

    def at(self, path: str) -> list[Any] | None:
        """What is at a path, without the content of a file."""
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "other")
        return [kind, stat.S_IMODE(status.st_mode), os.readlink(path) if kind == "link" else "", status.st_size]

    def read(self, path: str) -> bytes:
        """Content of a file."""
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read()

    def write(self, path: str, data: bytes, mode: int, owner: tuple[int, int]) -> None:
        """Write a file, with the folders that lead to it, instead of what may be there."""
        missing = []
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(missing):
            os.mkdir(each)
            os.chown(each, *owner)
            os.chmod(each, 0o755)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        os.chown(path, *owner)
        os.chmod(path, mode)

    def pack(self, paths: list[str], channel: Channel) -> None:
        """Send an archive of what is at the paths, which does not include what is below."""
        import tarfile

        replies: Any = _Replies(channel)
        with tarfile.open(fileobj=replies, mode="w|", bufsize=CHUNK) as archive:
            for path in paths:
                archive.add(path, path.lstrip("/"), recursive=False)

    def unpack(self, delete: list[str], channel: Channel) -> None:
        """Delete paths, then take an archive and make what is in it."""
        import tarfile

        for path in delete:
            remove(path)
        orders: Any = _Orders(channel)
        with tarfile.open(fileobj=orders, mode="r|", bufsize=CHUNK) as archive:
            archive.extraction_filter = lambda member, _: member  # owners and modes are to stay
            for member in archive:
                path = "/" + member.name
                if not (member.isdir() and os.path.isdir(path) and not os.path.islink(path)):
                    remove(path)
                archive.extract(member, "/", numeric_owner=True)
                if member.isdir():
                    os.chmod(path, member.mode)
        orders.drain()


class _Replies:
    """A file whose content is sent in replies."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def write(self, data: bytes) -> int:
        self._channel.reply(bytes(data), more=True)
        return len(data)


class _Orders:
    """A file whose content comes in orders; an empty one ends it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._data = bytearray()
        self._over = False

    def read(self, size: int) -> bytes:
        while len(self._data) < size and not self._over:
            _, body = self._channel.next()
            self._data += body
            self._over = not body
        part = bytes(self._data[:size])
        del self._data[:size]
        return part

    def drain(self) -> None:
        """Take orders until the empty one."""
        while not self._over:
            self.read(CHUNK)
            self._data.clear()


def remove(path: str) -> None:
    """Remove what is at a path; what is gone already is fine."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if os.path.isdir(path) and not os.path.islink(path):
            import shutil

            try:
                shutil.rmtree(path)
            except RecursionError:  # a command can put a thousand folders into each other
                import subprocess

                subprocess.run(["rm", "-rf", "--", path], check=False)
        else:
            os.unlink(path)


def _meant(named: str) -> list[str]:
    """The paths that the engine may mean: names that are not UTF-8 reach it in pieces."""
    if _UNKNOWN not in named:
        return [named]
    found = ["/"]
    for name in named.strip("/").split("/"):
        names = [name]
        if _UNKNOWN in name:
            names = sorted({each for folder in found for each in _names(folder) if not _is_text(each)})
        found = [os.path.join(folder, each) for folder in found for each in names]
    return [path for path in found if os.path.lexists(path)]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return _UNKNOWN not in name


def _below(top: str, device: int) -> Iterator[str]:
    stack = [top]
    while stack:
        try:
            with os.scandir(stack.pop()) as items:
                for item in items:
                    if item.is_dir(follow_symlinks=False):
                        if item.stat(follow_symlinks=False).st_dev != device:
                            continue
                        stack.append(item.path)
                    yield item.path
        except OSError:
            continue


def _racy(entries: Any, settled: int) -> bool:
    return any(entry is not None and entry[4][-1] > settled for entry in entries)


def _is_whiteout(path: str) -> bool:
    status = os.lstat(path)
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(path: str) -> bool:
    for attribute in ("trusted.overlay.opaque", "user.overlay.opaque"):  # an engine of root, and one of a user
        with contextlib.suppress(OSError):
            return os.getxattr(path, attribute, follow_symlinks=False) == b"y"
    return False


def _sha256(path: str) -> str:
    import hashlib

    digest = hashlib.sha256()
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        while True:
            data = file.read(CHUNK)
            if not data:
                return digest.hexdigest()
            digest.update(data)

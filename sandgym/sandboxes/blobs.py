"""Contents of files that snapshots keep, each once.

Invariant: a blob is removed when no snapshot of this process refers to it, unless a
snapshot that does was pickled; then it stays as long as the process.
"""

from __future__ import annotations

import itertools
import os
import shutil
import threading
import weakref
from pathlib import Path
from typing import Any

from sandgym.sandboxes.reaper import process_folder, remove_with
from sandgym.sandboxes.tree import readable


class Blob:
    """Content of a file.

    Attributes:
        digest: SHA-256 of it, in hexadecimal.
        path: of the file that has it.
        size: in bytes.
    """

    __slots__ = ("__weakref__", "_finalizer", "digest", "path", "size")

    def __init__(self, digest: str, path: Path, size: int, owned: bool) -> None:
        self.digest = digest
        self.path = path
        self.size = size
        self._finalizer = remove_with(self, path) if owned else None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._finalizer is not None:
            self._finalizer.detach()
            if _BLOBS.get((os.getpid(), self.digest)) is self:  # it is no parent process's
                _STAYING[os.getpid(), self.digest] = self.path
        return (_found, (self.digest, str(self.path), self.size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blob) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


_STAYING: dict[tuple[int, str], Path] = {}  # process and digest of what a pickle refers to
_BLOBS: weakref.WeakValueDictionary[tuple[int, str], Blob] = weakref.WeakValueDictionary()
_LOCK = threading.RLock()
_numbers = itertools.count()


def keep(host: str, digest: str) -> Blob:
    """The blob of a file's content, copied unless it is kept already."""
    key = os.getpid(), digest
    with _LOCK:
        blob = _BLOBS.get(key)
        if blob is None:
            staying = _STAYING.get(key)
            path = staying or _copied(host, digest)
            blob = _BLOBS[key] = Blob(digest, path, path.stat().st_size, owned=staying is None)
        return blob


def _copied(host: str, digest: str) -> Path:
    """A new copy of a file; its name is its own, since an earlier one may be removed at any time."""
    folder = process_folder() / "blobs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{digest}.{next(_numbers)}"
    try:
        readable(host, lambda source: shutil.copyfile(source, path))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _found(digest: str, path: str, size: int) -> Blob:
    """The blob of a pickle: this process's own, or another's, which is not ours to remove."""
    blob = _BLOBS.get((os.getpid(), digest))
    return blob if blob is not None else Blob(digest, Path(path), size, owned=False)

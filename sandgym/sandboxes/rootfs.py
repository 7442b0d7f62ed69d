"""The files of a folder image as an archive that the Docker engine takes for an image.

Invariant: it holds the folder, HOME, ``/tmp``, and of this machine's own files only ``/etc``
without secrets; programs and libraries are shown to containers, not copied.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path
from typing import IO

from sandgym.sandboxes.base import HOME, TMP, FolderImage
from sandgym.sandboxes.confined.agreed import USER
from sandgym.sandboxes.confined.root import SYSTEM
from sandgym.sandboxes.isolation import ETC, HIDDEN_ETC
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.tree import HOME_MODE, TMP_MODE, ImageTree, readable, walk

_EMPTY = ("proc", "sys", "dev", "run", "run/shell", "run/python", "var", "home", "etc")
_CHUNK = 1 << 20


def write_rootfs(archive: IO[bytes], image: FolderImage, tree: ImageTree) -> None:
    """Write the archive.

    Args:
        archive: where to.
        image: the folder.
        tree: what is in it.
    """
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT, bufsize=_CHUNK) as tar:
        made: set[str] = set()
        for name in _EMPTY:
            _add_folder(tar, made, f"/{name}")
        for name in SYSTEM:
            path = f"/{name}"
            if os.path.islink(path):
                tar.addfile(_member(path, tarfile.SYMTYPE, 0o777, link=os.readlink(path)))
            elif os.path.isdir(path):
                _add_folder(tar, made, path)
        tar.addfile(_member("/var/tmp", tarfile.SYMTYPE, 0o777, link=TMP))
        _add_etc(tar)
        for path, mode in ((HOME, HOME_MODE), (TMP, TMP_MODE)):
            tar.addfile(_member(path, tarfile.DIRTYPE, mode, owner=USER))
        for inside in (*image.mounts, image.workdir):
            _add_folder(tar, made, os.path.dirname(inside))
        _add_tree(tar, tree, image)


def _add_folder(tar: tarfile.TarFile, made: set[str], path: str) -> None:
    """Add a folder, with those that lead to it."""
    if path in made or path == "/" or any(within(path, f"/{name}") for name in SYSTEM if f"/{name}" != path):
        return
    _add_folder(tar, made, os.path.dirname(path))
    tar.addfile(_member(path, tarfile.DIRTYPE, 0o755))
    made.add(path)


def _add_etc(tar: tarfile.TarFile) -> None:
    for folder, folders, files in os.walk("/etc"):
        folders[:] = [name for name in folders if os.lstat(f"{folder}/{name}").st_mode & stat.S_IXOTH]
        if any(within(folder, hidden) for hidden in HIDDEN_ETC):
            continue
        if folder != "/etc":
            tar.addfile(_member(folder, tarfile.DIRTYPE, 0o755))
        for name in files:
            path = f"{folder}/{name}"
            if path not in ETC and path not in HIDDEN_ETC:
                _add_file_of_machine(tar, path)
        for name in os.listdir(folder):
            path = f"{folder}/{name}"
            if os.path.islink(path) and os.path.isdir(path):
                tar.addfile(_member(path, tarfile.SYMTYPE, 0o777, link=os.readlink(path)))
    for path, text in ETC.items():
        tar.addfile(_member(path, tarfile.REGTYPE, 0o644, size=len(text)), io.BytesIO(text.encode()))


def _add_file_of_machine(tar: tarfile.TarFile, path: str) -> None:
    """Add a file that everybody may read, or a link."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            tar.addfile(_member(path, tarfile.SYMTYPE, 0o777, link=os.readlink(path)))
        elif stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IROTH:
            with open(path, "rb") as file:
                tar.addfile(_member(path, tarfile.REGTYPE, stat.S_IMODE(status.st_mode), size=status.st_size), file)
    except (FileNotFoundError, PermissionError):
        return


def _add_tree(tar: tarfile.TarFile, tree: ImageTree, image: FolderImage) -> None:
    for found in walk(str(image.root), image.workdir):
        entry = tree.entry(found.path)
        if entry is None:
            continue
        time = found.status.st_mtime
        if entry.kind == "file":
            with readable(found.host, lambda path: Path(path).open("rb")) as file:
                tar.addfile(_member(found.path, tarfile.REGTYPE, entry.mode, USER, entry.size, time=time), file)
        else:
            kind = {"folder": tarfile.DIRTYPE, "link": tarfile.SYMTYPE, "fifo": tarfile.FIFOTYPE}[entry.kind]
            link = entry.content if entry.kind == "link" else ""
            tar.addfile(_member(found.path, kind, entry.mode, USER, link=link, time=time))


def _member(
    path: str, kind: bytes, mode: int, owner: int = 0, size: int = 0, link: str = "", time: float = 0
) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path.lstrip("/"))
    member.type, member.mode, member.size, member.linkname = kind, mode, size, link
    member.uid = member.gid = owner
    member.mtime = int(time)
    return member

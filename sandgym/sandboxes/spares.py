"""Copies that no sandbox uses any more, for the next sandboxes of their images.

Invariant: a copy has one user at a time, and when it gets one it is as a new copy is, except for inode numbers,
access times and change times.
"""

from __future__ import annotations

import threading

from sandgym.core import SandboxError
from sandgym.sandboxes.copies import Copy
from sandgym.sandboxes.reaper import owner_label, store_root
from sandgym.sandboxes.tree import ImageTree

PER_IMAGE = 2
MOST = 16  # of all images

_SPARES: list[Copy] = []  # that were kept last are last
_LOCK = threading.Lock()


def take(tree: ImageTree) -> Copy:
    """A copy of an image that is nobody's: a spare one, as new, or a new one."""
    while (copy := _pop(tree)) is not None:
        if _renew(copy):
            return copy
        copy.remove()
    return Copy(tree)


def give(copy: Copy) -> None:
    """Keep a copy that nobody uses any more, or remove it where enough are kept or it is broken."""
    with _LOCK:
        enough = sum(spare.tree is copy.tree and _is_here(spare) for spare in _SPARES) >= PER_IMAGE
    if enough or not _is_here(copy) or not _renew(copy):
        copy.remove()
        return
    with _LOCK:
        _SPARES.append(copy)
        same = [spare for spare in _SPARES if spare.tree.root == copy.tree.root]
        surplus = {*same[:-PER_IMAGE], *_SPARES[:-MOST]}
        _SPARES[:] = [spare for spare in _SPARES if spare not in surplus]
    for spare in surplus:
        spare.remove()


def _pop(tree: ImageTree) -> Copy | None:
    with _LOCK:
        for spare in reversed(_SPARES):
            if spare.tree is tree and _is_here(spare):
                _SPARES.remove(spare)
                return spare
    return None


def _is_here(copy: Copy) -> bool:
    """Whether the copy is in the store, and this process's own."""
    return copy.folder.parent == store_root() / owner_label()


def _renew(copy: Copy) -> bool:
    """Bring a copy to the image, whatever happened to it; whether that could be done."""
    copy.touch()
    try:
        copy.bring_to({})
    except (OSError, SandboxError):
        return False
    return True

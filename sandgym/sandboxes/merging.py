"""What differs from an image once a layer was put on top of what differed before.

Invariant: the result depends on what is there, not on how it came to be: a change that is
undone is none, and whatever was below a folder that was deleted or replaced is deleted.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from sandgym.sandboxes.snapshots import Changes, Entry


class ImageFacts(Protocol):
    """What an image has."""

    def entry(self, path: str) -> Entry | None:
        """What is at a path; None when nothing is."""

    def children(self, path: str) -> Iterable[str]:
        """Paths of what is directly below a folder."""


class Touched(NamedTuple):
    """What a layer has at a path.

    Attributes:
        path: as seen from inside.
        entry: None for a deletion, and for what is no content, such as a socket.
        deleted: whether it is a deletion.
        hides: whether what layers below have under this path is gone.
    """

    path: str
    entry: Entry | None
    deleted: bool
    hides: bool


def merged(image: ImageFacts, before: Changes, layer: Iterable[Touched]) -> dict[str, Entry | None]:
    """What differs from the image.

    Args:
        image: of which the changes are.
        before: changes without the layer.
        layer: what it has, folders before their content.
    """
    changes = dict(before)
    children: dict[str, set[str]] = {}  # of folders that are not in the image as they are
    for path in changes:
        children.setdefault(posixpath.dirname(path), set()).add(path)

    def clear(path: str) -> None:
        below, found = [path], []
        while below:
            folder = below.pop()
            inside = [*children.pop(folder, ()), *image.children(folder)]
            below += inside
            found += inside
        for each in reversed(found):
            note(each, None)

    def note(path: str, entry: Entry | None) -> None:
        if image.entry(path) == entry:
            changes.pop(path, None)
        else:
            changes[path] = entry
            children.setdefault(posixpath.dirname(path), set()).add(path)

    for touched in layer:
        if touched.hides:
            clear(touched.path)
        if touched.entry is not None or touched.deleted:
            note(touched.path, touched.entry)
    return changes

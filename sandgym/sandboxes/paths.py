"""Paths as they are seen from inside a sandbox.

Invariant: a link leads where it leads inside, whatever it would lead to on this machine.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable


def within(path: str, folder: str) -> bool:
    """Whether the path is the folder or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def resolve(path: str, link_target: Callable[[str], str | None]) -> str:
    """A path without links, as it is seen from inside.

    Args:
        path: absolute.
        link_target: where the link at a path without links points, or None where no link is.

    Raises:
        OSError: links that lead nowhere but to each other.
    """
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is not absolute")
    done, todo, links = "/", path.split("/")[::-1], 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = posixpath.dirname(done)
            continue
        here = posixpath.join(done, part)
        target = link_target(here)
        if target is None:
            done = here
            continue
        links += 1
        if links > 40:
            raise OSError(f"too many links in {path}")
        if target.startswith("/"):
            done = "/"
        todo.extend(target.split("/")[::-1])
    return done

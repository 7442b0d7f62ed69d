"""What a container has written: its writable layer.

Invariant: what is read of a layer is read from outside the container, by this process or by a
container in which no command ever ran.

The engine's own ``docker diff`` compares whole images, which takes seconds for a large one; so the
upper folder of the container's overlay is read where the engine keeps layers as overlays.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sandgym.sandboxes.confined.files import Files
from sandgym.sandboxes.container import Container
from sandgym.sandboxes.engine import api, engine_errors
from sandgym.sandboxes.merging import Touched
from sandgym.sandboxes.snapshots import Entry

LAYERS = "/run/layers"  # where the engine's layers appear in a helper
_DELETED = 2  # what the engine calls a deletion


class Written(NamedTuple):
    """A writable layer.

    Attributes:
        touched: what it has, folders before their content.
        signature: changes with whatever changes in it.
        racy: something changed so lately that the signature may not tell a later change.
    """

    touched: tuple[Touched, ...]
    signature: Any
    racy: bool


NOTHING = Written((), [], False)


def layers_folder() -> str | None:
    """Where the engine keeps layers, if it keeps them as overlays whose upper folders tell all."""
    with engine_errors():
        facts = api().info()
    native = ["Native Overlay Diff", "true"] in (facts.get("DriverStatus") or ())
    return f"{facts['DockerRootDir']}/overlay2" if facts.get("Driver") == "overlay2" and native else None


class Reader:
    """Reads writable layers.

    Args:
        has: whether a path counts.
        helper: gives a container that has ``layers_folder`` at ``LAYERS``.
    """

    def __init__(self, has: Callable[[str], bool], helper: Callable[[], Container]) -> None:
        self._has, self._helper = has, helper
        self._files = Files()
        self._top = layers_folder()

    def read(self, container: Container) -> Written:
        """The writable layer of a container in which nothing runs."""
        upper = self._upper(container)
        if upper is None:
            return self._asked(container)
        if self._is_here(upper):
            told = self._files.layer(upper)
        else:
            assert self._top is not None
            inside = f"{LAYERS}/{os.path.relpath(upper, self._top)}"
            told, _ = self._helper().ask("layer", folder=inside)
        return self._written(told["found"], told["racy"])

    def _upper(self, container: Container) -> str | None:
        if self._top is None:
            return None
        if container.upper is None:
            with engine_errors("the container of the sandbox"):
                facts = api().inspect_container(container.id)
            container.upper = str(facts["GraphDriver"]["Data"]["UpperDir"])
        return container.upper

    def _is_here(self, upper: str) -> bool:
        """Whether this process can read it itself."""
        return os.geteuid() == 0 and os.path.isdir(upper)

    def _asked(self, container: Container) -> Written:
        """What the engine and the container's first process say."""
        with engine_errors("the container of the sandbox"):
            kinds = {item["Path"]: item["Kind"] for item in api().diff(container.id) or ()}
        told, _ = container.ask("look", paths=[path for path in kinds if self._has(path)])
        found = [(path, entry, entry is None, kinds.get(path) == _DELETED) for path, entry in told["found"]]
        return self._written(found, told["racy"])

    def _written(self, found: Sequence[Any], racy: bool) -> Written:
        items = sorted((item for item in found if self._has(item[0])), key=lambda item: item[0].split("/"))
        touched = []
        for path, facts, deleted, opaque in items:
            entry = entry_from(facts)
            hides = entry is None or entry.kind != "folder" or opaque
            touched.append(Touched(path, entry, deleted, hides))
        return Written(tuple(touched), items, racy)


def entry_from(facts: Sequence[Any] | None) -> Entry | None:
    """The entry of what ``confined.files`` says of a path; None for nothing and for what is no content."""
    if facts is None or facts[0] == "other":
        return None
    return Entry(facts[0], facts[1], facts[2], facts[3])


class DiskWatch:
    """Watches what a command writes.

    Args:
        container: of the command.
        room: bytes that it may have on the disk.
        below: bytes that it has below its writable layer.
    """

    def __init__(self, container: str, room: int, below: int) -> None:
        self._container, self._room, self._below = container, room, below
        self._first = -1
        self._next = 0.0

    def look(self) -> str:
        """Why the command is to be ended, if it is."""
        began = time.monotonic()
        if began < self._next:
            return ""
        with engine_errors():
            listed = api().containers(all=True, size=True, filters={"id": [self._container]})
        used = self._below + sum(item.get("SizeRw", 0) for item in listed)
        self._first = used if self._first < 0 else self._first
        self._next = time.monotonic() + 10 * (time.monotonic() - began)
        return "disk" if used > max(self._room, self._first) else ""

"""What sandboxes of the Docker engine start from: an image there, and what is known of it.

Invariant: what a base says of its image was said before any command could change it. The
first process of every container runs with an interpreter that no command can write to.
"""

from __future__ import annotations

import abc
import dataclasses
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sandgym.sandboxes.base import SandboxLost
from sandgym.sandboxes.container import Container, Housing
from sandgym.sandboxes.engine import Stored
from sandgym.sandboxes.snapshots import Entry
from sandgym.sandboxes.written import LAYERS, Reader, layers_folder

MEMORY = 1 << 30  # bytes, of containers in which no command runs
FEW = 16  # processes of them


class Base(abc.ABC):
    """An image of the engine that sandboxes start from.

    Attributes:
        stored: the image.
        identity: of its content.
        layers: it has.
        housing: of its containers.
        variables: exported ones of the first command.
        reader: of the writable layers of its containers.
    """

    stored: Stored
    identity: str
    layers: int
    housing: Housing
    variables: dict[str, str]

    def __init__(self) -> None:
        self.reader = Reader(self.has, self.helper)
        self._helper: Container | None = None
        self._lock = threading.RLock()

    def helper(self) -> Container:
        """A container in which no command ever ran; it can read the layers of others."""
        with self._lock:
            if self._helper is not None:
                try:
                    self._helper.check()
                except SandboxLost:  # as after an interrupt, or when the engine was started anew
                    self._helper = None
            if self._helper is None:
                housing = self.housing
                if (top := layers_folder()) is not None:
                    layers = bind(LAYERS, Path(top))
                    housing = dataclasses.replace(housing, mounts=(*housing.mounts, layers), more=("SYS_ADMIN",))
                self._helper = Container(self.stored.id, housing, MEMORY, FEW, network=False)
            return self._helper

    @abc.abstractmethod
    def has(self, path: str) -> bool:
        """Whether a path is in the writable view."""

    @abc.abstractmethod
    def ask(self, paths: Iterable[str]) -> None:
        """Learn what the image has at paths, before it is asked for each."""

    @abc.abstractmethod
    def entry(self, path: str) -> Entry | None:
        """What the image has at a path."""

    @abc.abstractmethod
    def children(self, path: str) -> Sequence[str]:
        """Paths of what the image has directly below a folder."""


def bind(inside: str, host: Path) -> dict[str, Any]:
    """A file or folder of this machine that a container can read."""
    return {"Type": "bind", "Source": str(host.absolute()), "Target": inside, "ReadOnly": True}

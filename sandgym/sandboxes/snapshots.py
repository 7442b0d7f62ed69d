"""What a sandbox saves: what is at each path that differs from the image.

Invariant: equal contents have equal digests, whatever backend keeps them.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from sandgym.core import SnapshotMismatch, digest_of

Change = Literal["added", "changed", "deleted"]


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """What is at a path.

    Attributes:
        kind: of it.
        mode: permission bits.
        content: SHA-256 of a file, target of a link, otherwise empty.
        size: of a file, in bytes.
    """

    kind: Literal["file", "folder", "link", "fifo"]
    mode: int
    content: str = ""
    size: int = dataclasses.field(default=0, compare=False)


Changes = Mapping[str, Entry | None]  # path to what is there now; None where something was deleted


class SandboxSnapshot(abc.ABC):
    """A saved sandbox: immutable, and picklable as a reference to the store of its backend.

    A pickle can be restored by any process as long as the process that made the snapshot
    lives. Equality and hash are those of ``digest``.

    Attributes:
        image: identity of the image.
        cwd: working folder.
        variables: exported variables.
        bytes: that it takes, beside the image.
    """

    def __init__(self, image: str, cwd: str, variables: Mapping[str, str]) -> None:
        self.image = image
        self.cwd = cwd
        self.variables = dict(variables)
        self._digest: str | None = None

    @property
    @abc.abstractmethod
    def changes(self) -> Changes:
        """Every path whose kind, mode or content differs from the image."""

    @property
    @abc.abstractmethod
    def bytes(self) -> int:
        """What it costs to keep, in bytes on disk, beside the image."""

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of changes, working folder and variables; on every backend the same."""
        if self._digest is None:
            changes = {path: entry and (entry.kind, entry.mode, entry.content) for path, entry in self.changes.items()}
            self._digest = digest_of(changes, self.cwd, self.variables)
        return self._digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SandboxSnapshot) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest[:12]})"


def check_restorable(snapshot: Any, kind: type[SandboxSnapshot], image: str) -> None:
    """Raise ``SnapshotMismatch`` unless the snapshot is of this kind and image."""
    if not isinstance(snapshot, kind):
        raise SnapshotMismatch(f"{snapshot!r} is of another backend; this one takes a {kind.__name__}")
    if snapshot.image != image:
        raise SnapshotMismatch(f"{snapshot!r} is of another image")

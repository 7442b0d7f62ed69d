"""The sandbox of an episode, and the state that every episode of its task starts from.

Invariant: the start is the image with nothing of the repository's future in it; a clean sandbox
is a new one at that start, of which the agent's was never a part.
"""

from __future__ import annotations

import dataclasses
import hashlib
import weakref
from typing import Self

from sandgym.sandboxes import Image, Limits, Sandbox, SandboxSnapshot, open_sandbox
from sandgym.swebench.checkouts import hide_future
from sandgym.swebench.gitindex import index_digest
from sandgym.swebench.rows import Row

_STARTS: weakref.WeakKeyDictionary[Image, dict[str, SandboxSnapshot]] = weakref.WeakKeyDictionary()  # by backend


@dataclasses.dataclass(frozen=True)
class SandboxOptions:
    """Arguments of ``open_sandbox`` besides the image."""

    backend: str = "auto"
    limits: Limits | None = None
    network: bool = False
    unconfined: bool = False


class Workspace:
    """A sandbox for a row.

    Args:
        row: the task.
        image: of the row.
        options: of its sandboxes.
        pristine: see ``Images``.

    Attributes:
        sandbox: where the agent works.
        usable: False once the sandbox failed.
    """

    def __init__(self, row: Row, image: Image, options: SandboxOptions, pristine: bool = False) -> None:
        self.row = row
        self.usable = True
        self.sandbox = open_sandbox(image, options.backend, options.limits, options.network, options.unconfined)
        try:
            self._start = _start(self.sandbox, row, pristine)
            self._index = self._index_hash()
        except BaseException:
            self.sandbox.close()
            raise

    def start_again(self) -> None:
        """Go to the start."""
        self.sandbox.restore(self._start)

    @property
    def start_digest(self) -> str:
        """Of the content that every episode starts from."""
        return self._start.digest

    def clean(self) -> Sandbox:
        """A new sandbox at the start; the caller closes it."""
        return self.sandbox.another_at(self._start)

    def save(self) -> tuple[SandboxSnapshot, tuple[str, str] | None]:
        """The sandbox, saved, and its Git index where it differs from the start's: path and digest without times."""
        saved = self.sandbox.snapshot()
        data = self._read_index()
        if data is None or hashlib.sha256(data).digest() == self._index:
            return saved, None
        return saved, (self._index_path, index_digest(data))

    def fork(self, k: int) -> list[Self]:
        """``k`` workspaces at this state."""
        clones = []
        for sandbox in self.sandbox.fork(k):
            clone = object.__new__(type(self))
            clone.__dict__.update(self.__dict__)
            clone.sandbox = sandbox
            clones.append(clone)
        return clones

    def close(self) -> None:
        """Remove the sandbox."""
        self.sandbox.close()

    @property
    def _index_path(self) -> str:
        return f"{self.sandbox.image.workdir}/.git/index"

    def _read_index(self) -> bytes | None:
        try:
            return self.sandbox.read(self._index_path)
        except OSError:  # the agent may have removed it, or put anything in its place
            return None

    def _index_hash(self) -> bytes:
        return hashlib.sha256(self._read_index() or b"").digest()


def _start(sandbox: Sandbox, row: Row, pristine: bool) -> SandboxSnapshot:
    """The start of a row's episodes; the sandbox is brought there."""
    known = _STARTS.setdefault(sandbox.image, {})
    if sandbox.backend in known:
        sandbox.restore(known[sandbox.backend])
    else:
        if not pristine:
            hide_future(sandbox, row.base_commit)
        known[sandbox.backend] = sandbox.snapshot()
    return known[sandbox.backend]

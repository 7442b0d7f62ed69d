"""Sandboxes whose files are in folders of this machine.

Invariant: they are looked at from outside, without a command.
"""

from __future__ import annotations

import abc
from pathlib import Path

from sandgym.sandboxes.base import Sandbox
from sandgym.sandboxes.snapshots import Entry
from sandgym.sandboxes.tree import Found, entry_of


class HostedSandbox(Sandbox):
    """A sandbox that knows where this machine keeps what is at a path."""

    @abc.abstractmethod
    def _locate(self, path: str) -> Path | None:
        """Where this machine keeps what is at a path without links, or None when nothing is there.

        Raises:
            PermissionError: the path is outside the writable view.
        """

    def _at(self, path: str) -> Entry | None:
        host = self._locate(path)
        return None if host is None else entry_of(Found(path, str(host), host.lstat()), content=lambda _: "")

    def _content(self, path: str) -> bytes:
        host = self._locate(path)
        if host is None:
            raise FileNotFoundError(f"no {path} in the sandbox")
        return host.read_bytes()

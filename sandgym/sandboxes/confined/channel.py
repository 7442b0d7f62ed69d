"""Orders to the first process of a container, and its replies.

Invariant: when nobody is left who could give orders, this process ends.

Each is a line of JSON, and as many bytes after it as its ``size`` says. Orders come on
standard input, replies go to standard output.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK = 1 << 20


class Channel:
    """Reads orders, writes replies."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._facts: dict[str, Any] | None = None

    def fill(self) -> None:
        """Take what there is; waits for at least a byte."""
        part = os.read(0, CHUNK)
        if not part:
            os._exit(0)
        self._data += part

    def waiting(self) -> tuple[dict[str, Any], bytes] | None:
        """The next order, if it is there already."""
        if self._facts is None:
            end = self._data.find(b"\n")
            if end < 0:
                return None
            self._facts = json.loads(self._data[:end].decode())
            del self._data[: end + 1]
        size = self._facts.get("size", 0)
        if len(self._data) < size:
            return None
        facts, body = self._facts, bytes(self._data[:size])
        del self._data[:size]
        self._facts = None
        return facts, body

    def next(self) -> tuple[dict[str, Any], bytes]:
        """The next order."""
        while (found := self.waiting()) is None:
            self.fill()
        return found

    def reply(self, body: bytes = b"", **facts: Any) -> None:
        """Send a reply."""
        data = memoryview(json.dumps({**facts, "size": len(body)}).encode() + b"\n" + body)
        while data:
            data = data[os.write(1, data) :]

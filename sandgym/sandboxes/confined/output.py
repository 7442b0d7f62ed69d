"""Reading what a command writes, however much it is.

Invariant: memory does not depend on how much is written; the first and the last half of
the allowed characters are kept.
"""

from __future__ import annotations

_CONTINUATION = bytes(range(0x80, 0xC0))
_WIDEST = 4  # bytes of a character in UTF-8


class CappedOutput:
    """Collects output and leaves out its middle.

    Args:
        limit: characters to keep.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._limit = limit
        self._room = (limit + 1) * _WIDEST
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = False
        self._characters = 0  # in what is in neither

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        missing = self._room - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        if not data:
            return
        if len(data) > self._room:  # nothing of what came before will be kept
            self._cut = True
            self._characters += _count(self._tail) + _count(data[: -self._room])
            self._tail = bytearray(data[-self._room :])
            return
        self._tail += data
        excess = len(self._tail) - self._room
        if excess > self._room:
            self._cut = True
            self._characters += _count(self._tail[:excess])
            del self._tail[:excess]

    def pieces(self) -> tuple[bytes, bytes, bool, int]:
        """What is kept, for ``of``: head, tail, whether anything between them was left out, and its characters."""
        return bytes(self._head), bytes(self._tail), self._cut, self._characters

    @classmethod
    def of(cls, limit: int, pieces: tuple[bytes, bytes, bool, int]) -> CappedOutput:
        """The output whose ``pieces`` these are."""
        output = cls(limit)
        head, tail, output._cut, output._characters = pieces
        output._head, output._tail = bytearray(head), bytearray(tail)
        return output

    def text(self) -> tuple[str, bool]:
        """What is kept, with the number of characters left out in the middle; and whether any were."""
        if not self._cut:
            text = (self._head + self._tail).decode("utf-8", "replace")
            if len(text) <= self._limit:
                return text, False
            head = tail = text
            left_out = len(text) - 2 * self._half
        else:
            head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
            left_out = _count(self._head) + self._characters + _count(self._tail) - 2 * self._half
        first, last = head[: self._half], tail[len(tail) - self._half :]
        return f"{first}\n[... {left_out} characters left out ...]\n{last}", True


def _count(data: bytes | bytearray) -> int:
    """Characters in UTF-8."""
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION))

"""What a Git index says, apart from when and where its files were written.

Invariant: two indexes of equal content have equal digests, whatever the times, inode numbers
and owners in them.
"""

from __future__ import annotations

import hashlib
import struct

_STAT = 40  # bytes of times, device, inode, mode, owner and size at the start of an entry
_MODE = slice(24, 28)
_NAME_MASK = 0xFFF
_EXTENDED = 0x4000


def index_digest(data: bytes) -> str:
    """SHA-256 (hexadecimal) of an index of version 2 or 3 without what ``stat`` said; of the bytes, if it is another.

    The layout is in Git's ``gitformat-index``.
    """
    try:
        return _digest(data)
    except (struct.error, IndexError, ValueError):
        return hashlib.sha256(data).hexdigest()


def _digest(data: bytes) -> str:
    signature, version, entries = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError
    digest = hashlib.sha256(data[:12])
    at = 12
    for _ in range(entries):
        (flags,) = struct.unpack_from(">H", data, at + _STAT + 20)
        name = at + _STAT + 22 + (2 if flags & _EXTENDED else 0)
        end = name + (flags & _NAME_MASK) if flags & _NAME_MASK < _NAME_MASK else data.index(b"\0", name)
        digest.update(data[at + _MODE.start : at + _MODE.stop] + data[at + _STAT : end])
        at += (end - at + 8) // 8 * 8  # padded with at least one zero byte
    digest.update(data[at:-20])  # extensions; the checksum follows
    return digest.hexdigest()

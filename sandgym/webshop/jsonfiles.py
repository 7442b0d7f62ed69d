"""JSON files, plain or xz-compressed, whole or one element at a time.

Invariant: ``X.json`` and ``X.json.xz`` of the same content are indistinguishable to
every reader, and streaming an array holds one element and one chunk in memory.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from sandgym.core import SandboxError

_SUFFIXES = (".json", ".json.xz")
_CHUNK = 1 << 20
_CLOSED = (dict, list, str)  # a number, unlike these, may go on in the next chunk
_AFTER_NUMBER = " \t\r\n,]"


def open_json(path: Path) -> IO[str]:
    """Open a ``.json`` or ``.json.xz`` file as UTF-8 text."""
    if path.suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def find_json(folder: Path, stem: str) -> Path | None:
    """The one ``.json`` or ``.json.xz`` file whose stem matches a glob pattern; ``None`` when there is none.

    Raises:
        SandboxError: several files match, so that the choice would be a guess.
    """
    found = sorted(path for suffix in _SUFFIXES for path in folder.glob(stem + suffix))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise SandboxError(f"several files match {stem}.json[.xz] in {folder}: {names}; keep one")
    return found[0] if found else None


def read_json(folder: Path, stem: str) -> Any:
    """The parsed content of ``find_json(folder, stem)``; ``None`` when there is no such file.

    Raises:
        SandboxError: the file is not valid JSON, or several files match.
    """
    path = find_json(folder, stem)
    if path is None:
        return None
    try:
        with open_json(path) as file:
            return json.load(file)
    except (ValueError, lzma.LZMAError, EOFError) as error:
        raise _damaged(path, error) from error


def iter_json_array(path: Path) -> Iterator[Any]:
    """The elements of a JSON array file in order, read incrementally.

    Raises:
        SandboxError: the file is not a valid JSON array (cut short, damaged, or another type).
    """
    try:
        with open_json(path) as file:
            yield from _elements(file)
    except (ValueError, lzma.LZMAError, EOFError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> SandboxError:
    return SandboxError(f"{path} is not readable as JSON ({error}); delete it and fetch or build it again")


def _elements(file: IO[str]) -> Iterator[Any]:
    decode = json.JSONDecoder().raw_decode
    buffer, position = _fill(file, "", 0)
    if buffer[position : position + 1] != "[":
        raise ValueError("it does not hold an array")
    buffer, position = _fill(file, buffer, position + 1)
    if buffer[position : position + 1] == "]":
        return
    while True:
        element, buffer, position = _decode_one(file, buffer, position, decode)
        yield element
        buffer, position = _fill(file, buffer, position)
        separator = buffer[position : position + 1]
        if separator == "]":
            return
        if separator != ",":
            raise ValueError("an array element is not followed by ',' or ']'")
        buffer, position = _fill(file, buffer, position + 1)


def _decode_one(file: IO[str], buffer: str, position: int, decode: Any) -> tuple[Any, str, int]:
    """Decode the element at ``position``, reading on (twice as much each time) while it is incomplete."""
    size = _CHUNK
    while True:
        try:
            element, end = decode(buffer, position)
            if end < len(buffer) and (isinstance(element, _CLOSED) or buffer[end] in _AFTER_NUMBER):
                return element, buffer, end
        except json.JSONDecodeError:
            pass
        more = file.read(size)
        if not more:
            element, end = decode(buffer, position)
            return element, buffer, end
        buffer, position = buffer[position:] + more, 0
        size *= 2


def _fill(file: IO[str], buffer: str, position: int) -> tuple[str, int]:
    """Skip white space from ``position``; read a further chunk whenever the buffer is used up."""
    while True:
        while position < len(buffer) and buffer[position] in " \t\r\n":
            position += 1
        if position < len(buffer):
            return buffer, position
        buffer, position = file.read(_CHUNK), 0
        if not buffer:
            return "", 0

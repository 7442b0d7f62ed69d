"""``episodes.jsonl.gz``: one episode a line, written to equal bytes and read without trust.

Invariant: reading takes memory for one line and time for as many bytes as the panel's episodes could
have, whatever the file is; a line is accepted only in the very form in which it would be written.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from leaderboard.problems import SubmissionError, shown
from leaderboard.schema import Episode
from sandgym.panels import Panel

MAX_FILE = 16 * 2**20  # bytes of the compressed file
_CHUNK = 2**16
_EPISODE = 2000  # bytes of a line besides its steps
_STEP = 250  # bytes of a step besides its action
_ACTION = 4096  # bytes of an action as JSON
_LONG_ACTION = {"sandgym/SWEbenchVerified-v0": 2**16}


@dataclass(frozen=True)
class Limits:
    """What a file of episodes can hold.

    Attributes:
        episodes: lines.
        horizon: steps of an episode.
        action: bytes of an action as JSON.
    """

    episodes: int
    horizon: int
    action: int

    @classmethod
    def of(cls, panel: Panel, passes: int) -> Limits:
        """Of a panel that is played so many times."""
        return cls(passes * len(panel.task_ids), panel.horizon, _LONG_ACTION.get(panel.env_id, _ACTION))

    @property
    def line(self) -> int:
        """Bytes of one line."""
        return _EPISODE + self.horizon * (_STEP + self.action)

    def too_long(self, action: str) -> bool:
        """Whether an action is longer than the leaderboard takes."""
        return len(json.dumps(action)) > self.action


def encode(episode: Episode) -> bytes:
    """The line of an episode, without its end; ASCII."""
    return json.dumps(episode.model_dump(), separators=(",", ":"), allow_nan=False).encode("ascii")


def decode(line: bytes) -> Episode:
    """The episode of a line.

    Raises:
        SubmissionError: it is not one, or not written as ``encode`` writes it.
    """
    try:
        episode = Episode.model_validate_json(line)
        written = encode(episode)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "line"
        raise SubmissionError(f"not an episode: {shown(place)}: {shown(first['msg'])}") from None
    except (ValueError, RecursionError) as error:  # a text of lone surrogates, numbers out of range
        raise SubmissionError(f"not an episode: {shown(str(error))}") from None
    if written != line:
        raise SubmissionError("an episode is not in canonical form (order of keys, spaces, spelling of numbers)")
    return episode


def encode_all(episodes: Iterable[Episode]) -> bytes:
    """The content of the file; equal for equal episodes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        for episode in episodes:
            file.write(encode(episode) + b"\n")
    return buffer.getvalue()


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a small regular file.

    Raises:
        SubmissionError: it is missing, too large, or anything but a regular file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SubmissionError(f"{shown(path.name)} cannot be read: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise SubmissionError(f"{shown(path.name)} is not a regular file")
        content = file.read(most + 1)
    if len(content) > most:
        raise SubmissionError(f"{shown(path.name)} is larger than {most:,} bytes")
    return content


def lines(content: bytes, limits: Limits) -> Iterator[bytes]:
    """Lines of a file's content, unpacked bit by bit.

    Raises:
        SubmissionError: not one whole gzip member, a line is too long, or there are too many.
    """
    unpacker = zlib.decompressobj(wbits=31)
    buffer, count, place = bytearray(), 0, 0
    while not unpacker.eof:
        fed = unpacker.unconsumed_tail or content[place : place + _CHUNK]
        place += 0 if unpacker.unconsumed_tail else len(fed)
        try:
            unpacked = unpacker.decompress(fed, _CHUNK)
        except zlib.error:
            raise SubmissionError("episodes.jsonl.gz is not gzip, or damaged") from None
        if not (fed or unpacked or unpacker.eof):
            raise SubmissionError("episodes.jsonl.gz ends early")
        *whole, rest = (buffer + unpacked).split(b"\n")
        buffer = bytearray(rest)
        for line in whole:
            count += 1
            if count > limits.episodes:
                raise SubmissionError(f"there are more than the panel's {limits.episodes} episodes")
            if len(line) > limits.line:
                raise SubmissionError(f"line {count} is longer than an episode of this panel can be")
            yield bytes(line)
        if len(buffer) > limits.line:
            raise SubmissionError(f"line {count + 1} is longer than an episode of this panel can be")
    if unpacker.unused_data or place < len(content):
        raise SubmissionError("episodes.jsonl.gz has something after its end")
    if buffer:
        raise SubmissionError("the last line of episodes.jsonl.gz has no end")

"""A Git repository, written without Git: loose objects, one branch, an index.

Invariant: the same commits give the same bytes and hashes on every machine and at every time;
nothing is in the repository that its branch does not lead to.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

MODE = 0o100644
AUTHOR = "Maintainer <maintainer@localhost>"
CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tcheckStat = minimal
\ttrustctime = false
"""


@dataclasses.dataclass(frozen=True)
class Commit:
    """One commit.

    Attributes:
        message: without a line end.
        files: path to text, of the whole tree.
        seconds: since 1970, when it was made.
    """

    message: str
    files: Mapping[str, str]
    seconds: int


class Objects:
    """Git objects by their hashes."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def add(self, kind: str, content: bytes) -> str:
        """Hash (hexadecimal) of an object, which is kept."""
        whole = f"{kind} {len(content)}\0".encode() + content
        name = hashlib.sha1(whole).hexdigest()
        self.data[name] = whole
        return name

    def tree(self, files: Mapping[str, str]) -> str:
        """Hash of the tree of some files."""
        folders: dict[str, dict[str, str]] = {}
        entries: list[tuple[str, bytes]] = []
        for path, text in files.items():
            folder, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(folder, {})[rest] = text
            else:
                entries.append((path, f"100644 {path}\0".encode() + self._name("blob", text.encode())))
        for folder, inside in folders.items():
            entries.append((f"{folder}/", f"40000 {folder}\0".encode() + bytes.fromhex(self.tree(inside))))
        return self.add("tree", b"".join(entry for _, entry in sorted(entries)))

    def commits(self, commits: Sequence[Commit]) -> str:
        """Hash of the last of some commits, each the parent of the next."""
        parent = ""
        for commit in commits:
            who = f"{AUTHOR} {commit.seconds} +0000"
            above = f"parent {parent}\n" if parent else ""
            text = f"tree {self.tree(commit.files)}\n{above}author {who}\ncommitter {who}\n\n{commit.message}\n"
            parent = self.add("commit", text.encode())
        return parent

    def _name(self, kind: str, content: bytes) -> bytes:
        return bytes.fromhex(self.add(kind, content))


def head_of(commits: Sequence[Commit]) -> str:
    """Hash (hexadecimal) of the last commit."""
    return Objects().commits(commits)


def write_repository(folder: Path, commits: Sequence[Commit]) -> str:
    """Write a repository with its last commit checked out; returns its hash.

    Args:
        folder: created when missing; must be empty.
        commits: the oldest first.
    """
    objects = Objects()
    head = objects.commits(commits)
    last = commits[-1]
    for path, text in last.files.items():
        _write(folder / path, text.encode(), last.seconds)
    git = folder / ".git"
    for name, whole in objects.data.items():
        _write(git / "objects" / name[:2] / name[2:], zlib.compress(whole, 0), last.seconds, 0o444)
    _write(git / "HEAD", b"ref: refs/heads/main\n", last.seconds)
    _write(git / "config", CONFIG.encode(), last.seconds)
    _write(git / "refs" / "heads" / "main", f"{head}\n".encode(), last.seconds)
    _write(git / "index", _index(last), last.seconds + 1)  # later than the files, so that Git trusts it
    for place in sorted(folder.rglob("*"), reverse=True):
        if place.is_dir():
            os.utime(place, (last.seconds, last.seconds))
    return head


def _index(commit: Commit) -> bytes:
    """An index of version 2 (see Git's ``gitformat-index``); of what ``stat`` says only time and size are there."""
    objects = Objects()
    entries = []
    for path, text in sorted(commit.files.items()):
        content, name = text.encode(), path.encode()
        stat = (0, 0, commit.seconds, 0, 0, 0, MODE, 0, 0, len(content))
        blob = bytes.fromhex(objects.add("blob", content))
        entry = struct.pack(">10I20sH", *stat, blob, len(name)) + name
        entries.append(entry + b"\0" * (8 - len(entry) % 8))
    whole = struct.pack(">4sII", b"DIRC", 2, len(entries)) + b"".join(entries)
    return whole + hashlib.sha1(whole).digest()


def _write(path: Path, content: bytes, seconds: int, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    os.utime(path, (seconds, seconds))

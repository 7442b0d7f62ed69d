"""Where data sets live, and how to fetch, build and list them.

Invariant: official files are never changed after their download, and a data set is
``built`` only when it is whole.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from sandgym.core import SandboxError, reject_unknown
from sandgym.fetch import Progress, fetch, sha256_of

DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id={id}"
CHECKSUMS = "checksums.json"


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """An official file: its name and its Google Drive id."""

    name: str
    drive_id: str


_HUMAN = RemoteFile("items_human_ins.json", "14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O")
DATA_SETS: dict[str, dict[str, tuple[RemoteFile, ...]]] = {
    "webshop": {
        "1000": (
            RemoteFile("items_shuffle_1000.json", "1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib"),
            RemoteFile("items_ins_v2_1000.json", "1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu"),
            _HUMAN,
        ),
        "full": (
            RemoteFile("items_shuffle.json", "1A2whVgOO0euk5O13n2iYDM0bQRkkRduB"),
            RemoteFile("items_ins_v2.json", "1s2j6NgHljiZzQNL3veZaAiyW_qDEgBNi"),
            _HUMAN,
        ),
    }
}


@dataclasses.dataclass(frozen=True)
class Status:
    """State of one data set on this machine.

    Attributes:
        name: of the data set.
        size: which size of it.
        state: ``missing``, ``partial`` (some files are), ``downloaded`` or ``built``.
        folder: where it is or would be.
        bytes: disk space that it takes.
        command: what to run next; empty when it is ready.
    """

    name: str
    size: str
    state: Literal["missing", "partial", "downloaded", "built"]
    folder: Path
    bytes: int
    command: str


def data_root() -> Path:
    """``$SANDGYM_DATA``, or the user's data directory."""
    if given := os.environ.get("SANDGYM_DATA"):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("sandgym", appauthor=False))


def raw_folder(name: str, size: str) -> Path:
    """Where the official files of a data set are put."""
    _files(name, size)
    return data_root() / name / f"official-{size}" / "raw"


def built_folder(name: str, size: str) -> Path:
    """Where the built data set is put."""
    return raw_folder(name, size).with_name("built")


def official(name: str, size: str | None = None) -> Path:
    """Folder of a built official data set; the largest that is there when no size is named.

    Raises:
        SandboxError: it is not there, with the command that gets it.
    """
    sizes = (size,) if size else tuple(reversed(DATA_SETS[name]))
    states = {each: _status(name, each) for each in sizes}
    for found in states.values():
        if found.state == "built":
            return built_folder(name, found.size)
    best = next((s for s in states.values() if s.state == "downloaded"), states[sizes[-1]])
    raise SandboxError(f"the official {name} data ({best.size}) is {best.state} in {data_root()}; run `{best.command}`")


def status() -> list[Status]:
    """Every data set in every size, as it is on this machine."""
    return [_status(name, size) for name, sizes in DATA_SETS.items() for size in sizes]


def download(name: str, size: str = "1000", *, progress: Progress | None = None, url: str = DRIVE) -> Path:
    """Fetch the official files that are not here yet; an interrupted download is continued.

    The publisher gives no checksums, so the first download's SHA-256 are recorded in
    ``checksums.json``, and later ones and files that are already here must agree.

    Args:
        name: of the data set.
        size: which size of it.
        progress: see ``Progress``.
        url: pattern in which ``{id}`` is the file's id.

    Returns:
        The folder of the files.

    Raises:
        SandboxError: no network, no space, no data behind the address, or other data
            than before.
        TypeError: unknown name or size.
    """
    folder = raw_folder(name, size)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError(f"cannot write to {folder}: {error.strerror}; set SANDGYM_DATA to another folder") from error
    record = folder / CHECKSUMS
    known: dict[str, str] = json.loads(record.read_text()) if record.is_file() else {}
    for file in _files(name, size):
        path = folder / file.name
        if not path.is_file():
            fetch(url.format(id=file.drive_id), path, sha256=known.get(file.name), progress=progress)
        digest = sha256_of(path)
        if known.setdefault(file.name, digest) != digest:
            raise SandboxError(f"{path} has changed since it was downloaded; delete it and run this again")
        _write_atomically(record, json.dumps(known, indent=1) + "\n")
    return folder


def build(name: str, size: str = "1000", *, progress: Callable[[int], None] | None = None) -> Path:
    """Build a downloaded data set; returns the folder of the result.

    Raises:
        SandboxError: it is not downloaded, malformed, or cannot be written.
    """
    found = _status(name, size)
    if found.state in ("missing", "partial"):
        raise SandboxError(f"the official {name} data ({size}) is {found.state}; run `{found.command}` first")
    from sandgym.webshop.build import build_store

    return build_store(raw_folder(name, size), built_folder(name, size), progress=progress).folder


def _status(name: str, size: str) -> Status:
    raw = raw_folder(name, size)
    present = [(raw / file.name).is_file() for file in _files(name, size)]
    built = (built_folder(name, size) / "manifest.json").is_file()
    some = any(present) or any(raw.glob("*.part"))
    state: Literal["missing", "partial", "downloaded", "built"] = (
        "built" if built else "downloaded" if all(present) else "partial" if some else "missing"
    )
    verb = {"built": "", "downloaded": "build"}.get(state, "download")
    command = f"sandgym data {verb} {name} --size {size}" if verb else ""
    used = sum(path.stat().st_size for path in raw.parent.rglob("*") if path.is_file())
    return Status(name, size, state, raw.parent, used, command)


def _files(name: str, size: str) -> tuple[RemoteFile, ...]:
    reject_unknown([name], DATA_SETS, "data set")
    reject_unknown([size], DATA_SETS[name], f"size of {name}")
    return DATA_SETS[name][size]


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)

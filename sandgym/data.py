"""Where data sets live, and how to fetch, build and list them.

Invariant: official files are never changed after their download, and a data set is
``built`` only when it is whole.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from sandgym.core import SandboxError, reject_unknown
from sandgym.fetch import Progress, fetch, sha256_of
from sandgym.unpack import unpack

CHECKSUMS = "checksums.json"


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """An official file.

    Attributes:
        name: under which it is kept.
        url: where its publisher offers it.
        sha256: of its content, where it is known beforehand.
        folder: of a zip archive, the folder in it that is unpacked beside it.
    """

    name: str
    url: str
    sha256: str | None = None
    folder: str | None = None


@dataclasses.dataclass(frozen=True)
class DataSet:
    """An official data set.

    Attributes:
        sizes: name of a size to its files, from the smallest size, which is the default, to the largest.
        builder: ``module:function``, called with the folder of the files, the folder to
            write, and ``progress``, a function of the number of things done.
        whole: file that the builder writes last.
        counted: what the builder counts.
    """

    sizes: Mapping[str, tuple[RemoteFile, ...]]
    builder: str
    whole: str
    counted: str


def _drive(name: str, file_id: str) -> RemoteFile:
    return RemoteFile(name, f"https://drive.usercontent.google.com/download?export=download&confirm=t&id={file_id}")


_HUMAN = _drive("items_human_ins.json", "14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O")
_GAMES = RemoteFile(
    "json_2.1.3_tw-pddl.zip",
    "https://github.com/alfworld/alfworld/releases/download/0.4.2/json_2.1.3_tw-pddl.zip",
    sha256="5df77ea759f2211a4106082839ddbbb790f1ba4e7d097ed732cf453f72aa36cf",
    folder="json_2.1.1",
)
_VERIFIED = RemoteFile(
    "test-00000-of-00001.parquet",
    "https://huggingface.co/datasets/SWE-bench/SWE-bench_Verified/resolve/main/data/test-00000-of-00001.parquet",
)
DATA_SETS: dict[str, DataSet] = {
    "alfworld": DataSet({"full": (_GAMES,)}, "sandgym.alfworld.pack:build_pack", "games.pack", "games"),
    "swebench": DataSet({"full": (_VERIFIED,)}, "sandgym.swebench.world:build_rows", "test.jsonl", "tasks"),
    "webshop": DataSet(
        {
            "1000": (
                _drive("items_shuffle_1000.json", "1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib"),
                _drive("items_ins_v2_1000.json", "1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu"),
                _HUMAN,
            ),
            "full": (
                _drive("items_shuffle.json", "1A2whVgOO0euk5O13n2iYDM0bQRkkRduB"),
                _drive("items_ins_v2.json", "1s2j6NgHljiZzQNL3veZaAiyW_qDEgBNi"),
                _HUMAN,
            ),
        },
        "sandgym.webshop.build:build_store",
        "manifest.json",
        "products",
    ),
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

    def __str__(self) -> str:
        return f"the official {self.name} data{_named(self.name, self.size, ' ({})')} is {self.state}"


def data_root() -> Path:
    """``$SANDGYM_DATA``, or the user's data directory."""
    if given := os.environ.get("SANDGYM_DATA"):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("sandgym", appauthor=False))


def raw_folder(name: str, size: str | None = None) -> Path:
    """Where the official files of a data set are put."""
    return data_root() / name / f"official-{_size(name, size)}" / "raw"


def built_folder(name: str, size: str | None = None) -> Path:
    """Where the built data set is put."""
    return raw_folder(name, size).with_name("built")


def official(name: str, size: str | None = None) -> Path:
    """Folder of a built official data set; the largest that is there when no size is named.

    Raises:
        SandboxError: it is not there, with the command that gets it.
    """
    sizes = (size,) if size else tuple(DATA_SETS[name].sizes)[::-1]
    states = {each: _status(name, each) for each in sizes}
    for found in states.values():
        if found.state == "built":
            return built_folder(name, found.size)
    best = next((s for s in states.values() if s.state == "downloaded"), states[sizes[-1]])
    raise SandboxError(f"{best} in {data_root()}; run `{best.command}`")


def status() -> list[Status]:
    """Every data set in every size, as it is on this machine."""
    return [_status(name, size) for name, data_set in DATA_SETS.items() for size in data_set.sizes]


def download(
    name: str, size: str | None = None, *, progress: Progress | None = None, mirror: str | None = None
) -> Path:
    """Fetch the official files that are not here yet; an interrupted download is continued.

    Where the publisher gives no checksum, that of the first download is recorded in
    ``checksums.json``, and later ones and files that are already here must agree.

    Args:
        name: of the data set.
        size: which size of it; by default the smallest.
        progress: see ``Progress``.
        mirror: address of a folder that holds the files under their names, instead of the publisher's.

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
        expected = file.sha256 or known.get(file.name)
        if not path.is_file():
            address = f"{mirror.rstrip('/')}/{file.name}" if mirror else file.url
            fetch(address, path, sha256=expected, progress=progress)
        digest = sha256_of(path)
        if digest != (expected or digest):
            raise SandboxError(
                f"{path} has changed since it was downloaded, or is not the published file; "
                "delete it and run this again"
            )
        _write_atomically(record, json.dumps(known | {file.name: digest}, indent=1) + "\n")
        known[file.name] = digest
        if file.folder and not (folder / file.folder).is_dir():
            unpack(path, folder / file.folder, progress=progress)
    return folder


def build(
    name: str,
    size: str | None = None,
    *,
    source: Path | None = None,
    out: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Build a data set; returns the folder of the result.

    Args:
        name: of the data set.
        size: which size of it; by default the smallest.
        source: folder of files in the official format; by default the downloaded ones.
        out: folder of the result; by default where ``data="official"`` finds it.
        progress: called with the number of things done so far.

    Raises:
        SandboxError: it is not downloaded, malformed, or cannot be written.
        TypeError: unknown name or size.
    """
    found = _status(name, _size(name, size))
    if source is None and not _complete(name, found.size):
        raise SandboxError(f"{found}; run `{found.command}` first")
    module, _, function = DATA_SETS[name].builder.partition(":")
    out = out or built_folder(name, size)
    getattr(importlib.import_module(module), function)(source or raw_folder(name, size), out, progress=progress)
    return out


def _status(name: str, size: str) -> Status:
    raw, built = raw_folder(name, size), built_folder(name, size)
    state: Literal["missing", "partial", "downloaded", "built"] = "missing"
    if (built / DATA_SETS[name].whole).is_file():
        state = "built"
    elif _complete(name, size):
        state = "downloaded"
    elif any((raw / file.name).is_file() for file in _files(name, size)) or any(raw.glob("*.part")):
        state = "partial"
    verb = {"built": "", "downloaded": "build"}.get(state, "download")
    command = f"sandgym data {verb} {name}{_named(name, size, ' --size {}')}" if verb else ""
    used = sum(path.stat().st_size for path in raw.parent.rglob("*") if path.is_file())
    return Status(name, size, state, raw.parent, used, command)


def _complete(name: str, size: str) -> bool:
    """Whether every file is here, and is unpacked where it is an archive."""
    raw = raw_folder(name, size)
    return all(
        (raw / file.name).is_file() and (file.folder is None or (raw / file.folder).is_dir())
        for file in _files(name, size)
    )


def _files(name: str, size: str | None) -> tuple[RemoteFile, ...]:
    return DATA_SETS[name].sizes[_size(name, size)]


def _size(name: str, size: str | None) -> str:
    """The size, checked; the smallest where none is named."""
    reject_unknown([name], DATA_SETS, "data set")
    sizes = DATA_SETS[name].sizes
    reject_unknown([size] if size else [], sizes, f"size of {name}")
    return size or next(iter(sizes))


def _named(name: str, size: str, pattern: str) -> str:
    """``pattern`` with the size, where the data set has several."""
    return pattern.format(size) if len(DATA_SETS[name].sizes) > 1 else ""


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)

"""Where data sets live, and how to fetch, build and list them.

Invariant: a file has its final name only when it is complete and is what it claims to
be; what was fetched before a failure is kept as ``NAME.part`` and continued from there.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import http.client
import json
import os
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from sandgym.core import SandboxError, reject_unknown

DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id={id}"
CHECKSUMS = "checksums.json"
_BLOCK = 1 << 18
_RETRIES = 5  # connections in a row that bring nothing before giving up
_TIMEOUT = 30.0  # seconds without a byte

Progress = Callable[[str, int, int | None], None]
"""Called with file name, bytes done and bytes in all (``None``: not known)."""


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
        digest = _sha256(path)
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


def fetch(url: str, path: Path, *, sha256: str | None = None, progress: Progress | None = None) -> None:
    """Download one JSON file to ``path``, continuing ``path.part`` where there is one.

    Raises:
        SandboxError: what went wrong, and what to do.
    """
    part = path.with_name(path.name + ".part")
    report = progress or (lambda name, done, total: None)
    failures = 0
    while True:
        before = _size(part)
        try:
            complete = _receive(url, part, path.name, report)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            complete, problem = False, str(getattr(error, "reason", error)) or type(error).__name__
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise _no_file(url, path, f"the server answered {error.code} {error.reason}") from error
        except OSError as error:
            raise _no_space(part, error) from error
        else:
            problem = "the connection was cut"
        if complete:
            break
        failures = 0 if _size(part) > before else failures + 1
        if failures >= _RETRIES or before == _size(part) == 0:
            host = urllib.parse.urlsplit(url).netloc
            raise SandboxError(
                f"cannot download {path.name} from {host}: {problem}; check the network and run the same command "
                f"again, it goes on after the {_size(part):,} bytes that are here"
            )
    _accept(part, path, url, sha256)


def _receive(url: str, part: Path, name: str, report: Progress, *, confirmed: bool = False) -> bool:
    """Append what one connection gives to ``part``; whether the file is complete now."""
    have = _size(part)
    try:
        response = _request(url, have)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: the server has no byte after those that are here
            raise
        if _total(error.headers.get("Content-Range")) == have:
            return True
        part.unlink()
        response = _request(url, have := 0)
    with response:
        if _is_page(response):
            page = response.read(1 << 20).decode("utf-8", "replace")
            address = None if confirmed else _confirmation(page, url)
            if address is None:
                raise _no_file(url, part.with_suffix(""), "the server sent a web page instead of the file")
            return _receive(address, part, name, report, confirmed=True)
        if response.status != 206:
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else None
        if total is not None and total - have > shutil.disk_usage(part.parent).free:
            raise OSError(errno.ENOSPC, f"{total - have:,} bytes are to come")
        with part.open("ab" if have else "wb") as out:
            report(name, have, total)
            while block := response.read(_BLOCK):
                out.write(block)
                have += len(block)
                report(name, have, total)
    return total is None or have == total


def _request(url: str, start: int) -> Any:
    headers = {"User-Agent": "sandgym"} | ({"Range": f"bytes={start}-"} if start else {})
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)


def _is_page(response: Any) -> bool:
    return "text/html" in response.headers.get("Content-Type", "")


def _confirmation(page: str, url: str) -> str | None:
    """Address behind the button of Google Drive's "cannot scan for viruses" page."""
    form = re.search(r'<form[^>]*id="download-form"[^>]*action="([^"]+)"', page)
    if form is None:
        return None
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page))
    action: str = urllib.parse.urljoin(url, form[1].replace("&amp;", "&").partition("?")[0])
    return f"{action}?{urllib.parse.urlencode(fields)}"


def _accept(part: Path, path: Path, url: str, sha256: str | None) -> None:
    """Give a complete download its name, if it is JSON and has the right checksum."""
    with part.open("rb") as file:
        start = file.read(64).lstrip()[:1]
        file.seek(max(0, _size(part) - 64))
        end = file.read().rstrip()[-1:]
    if (start, end) not in ((b"[", b"]"), (b"{", b"}")):
        part.unlink()
        raise _no_file(url, path, "what came is not a complete JSON file")
    if sha256 is not None and (found := _sha256(part)) != sha256:
        part.unlink()
        raise SandboxError(
            f"{path.name} has the checksum {found} instead of {sha256}: the file behind {url} is not the one "
            f"downloaded before; run again, or delete its line from {path.with_name(CHECKSUMS)} to accept it"
        )
    os.replace(part, path)


def _no_file(url: str, path: Path, reason: str) -> SandboxError:
    return SandboxError(
        f"cannot download {path.name}: {reason} (Google Drive does so when a file was fetched too often; it works "
        f"again within a day). Or open {url} in a browser, save the file as {path}, and run the same command again"
    )


def _no_space(part: Path, error: OSError) -> SandboxError:
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return SandboxError(f"cannot write {part}: {error}; set SANDGYM_DATA to another folder")
    return SandboxError(
        f"the disk of {part.parent} is full ({error}); free space or set SANDGYM_DATA to a folder on another disk, "
        "and run the same command again"
    )


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


def _total(content_range: str | None) -> int | None:
    """Size of the file according to a ``Content-Range`` such as ``bytes */1000``."""
    total = (content_range or "").rpartition("/")[2]
    return int(total) if total.isdigit() else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)

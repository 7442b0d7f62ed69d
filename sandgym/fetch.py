"""Fetching one large file over an unreliable network.

Invariant: a file has its final name only when it is complete and is what it claims to
be; what was fetched before a failure is kept as ``NAME.part`` and continued from there.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import re
import shutil
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandgym.core import SandboxError

_BLOCK = 1 << 18
_RETRIES = 5  # connections in a row that bring nothing before giving up
_TIMEOUT = 30.0  # seconds without a byte

Progress = Callable[[str, int, int | None], None]
"""Called with file name, bytes done and bytes in all (``None``: not known)."""


def fetch(url: str, path: Path, *, sha256: str | None = None, progress: Progress | None = None) -> None:
    """Download one JSON or zip file to ``path``, continuing ``path.part`` where there is one.

    Args:
        url: where it is.
        path: where it goes; its suffix says what it must be.
        sha256: of its content, where it is known.
        progress: see ``Progress``.

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
            raise disk_error(part, error) from error
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
    """Give a complete download its name, if it is what its suffix says and has the right checksum."""
    fault = _zip_fault(part) if path.suffix == ".zip" else _json_fault(part)
    if fault is not None:
        part.unlink()
        raise _no_file(url, path, f"what came is not a complete {path.suffix[1:].upper()} file{fault}")
    if sha256 is not None and (found := sha256_of(part)) != sha256:
        part.unlink()
        raise SandboxError(
            f"{path.name} has the checksum {found} instead of {sha256}: the file behind {url} is not the one published "
            f"or downloaded before; run again, or, if its checksum is recorded in {path.parent}, delete it there to "
            "accept the file"
        )
    os.replace(part, path)


def _json_fault(part: Path) -> str | None:
    """``None`` when a file begins and ends as a JSON list or object does, else what more there is to say."""
    with part.open("rb") as file:
        start = file.read(64).lstrip()[:1]
        file.seek(max(0, _size(part) - 64))
        end = file.read().rstrip()[-1:]
    return None if (start, end) in ((b"[", b"]"), (b"{", b"}")) else ""


def _zip_fault(part: Path) -> str | None:
    """``None`` when every member of an archive can be read, else what more there is to say."""
    try:
        with zipfile.ZipFile(part) as archive:
            broken = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        return f" ({error})"
    return f" (its member {broken} is damaged)" if broken else None


def _no_file(url: str, path: Path, reason: str) -> SandboxError:
    if (urllib.parse.urlsplit(url).hostname or "").endswith(".google.com"):
        reason += " (Google Drive does so when a file was fetched too often; it works again within a day)"
    return SandboxError(
        f"cannot download {path.name}: {reason}. Run the same command again later, or open {url} in a browser, save "
        f"the file as {path}, and run the same command again"
    )


def disk_error(path: Path, error: OSError) -> SandboxError:
    """What to do about a failure to write ``path``."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return SandboxError(f"cannot write {path}: {error}; set SANDGYM_DATA to another folder")
    return SandboxError(
        f"the disk of {path.parent} is full ({error}); free space or set SANDGYM_DATA to a folder on another disk, "
        "and run the same command again"
    )


def _total(content_range: str | None) -> int | None:
    """Size of the file according to a ``Content-Range`` such as ``bytes */1000``."""
    total = (content_range or "").rpartition("/")[2]
    return int(total) if total.isdigit() else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

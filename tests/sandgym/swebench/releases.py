"""Real repositories at the base of real rows, made from the source archives of their releases."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandgym.swebench.checkouts import prepare_checkout, write_once
from sandgym.swebench.pythons import make_environment
from sandgym.swebench.rows import Row, record_of

REQUIREMENTS = (
    *("asgiref", "sqlparse", "pytz", "jinja2", "argon2-cffi", "bcrypt", "docutils", "geoip2", "pyyaml", "tblib"),
    *("pytest<8", "werkzeug<3", "itsdangerous", "click", "blinker"),
)


def cache() -> Path:
    """Where downloads and checkouts are kept from one run of the tests to the next."""
    given = os.environ.get("SANDGYM_TEST_CACHE")
    return Path(given) if given else Path(tempfile.gettempdir()) / f"sandgym-tests-{os.getuid()}"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pip(*words: str) -> None:
    """Run pip, or skip the test when that needs a network which is not there."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"pip cannot get {' '.join(words)}: {done.stderr.strip().splitlines()[-1:]}")


def release(name: str) -> Path:
    """The sources of a release, such as ``Django==5.0``."""

    def write(folder: Path) -> None:
        pip("download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), name)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "sources", filter="data")
        archive.unlink()

    (sources,) = (write_once(cache() / name, write) / "sources").iterdir()
    return sources


def write_data(listed: list[dict[str, str]], rows: dict[str, Row], folder: Path) -> dict[str, Any]:
    """Rows, and their checkouts in the cache; the arguments of the environment."""
    checkouts = cache() / "checkouts"
    with locked(cache()):
        make_environment(
            checkouts / "environment",
            lambda site: pip("install", "--quiet", "--target", str(site), *REQUIREMENTS),
        )
        for item in listed:
            row = rows[item["instance_id"]]
            prepare_checkout(row, release(item["sdist"]), checkouts / row.instance_id)
    lines = [json.dumps(record_of(rows[item["instance_id"]])) for item in listed]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    return {"data": folder / "rows.jsonl", "checkouts": checkouts, "split": "test"}

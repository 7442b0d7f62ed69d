"""Folders of games for the ALFWorld tests: the recorded real ones, and small ones written by hand."""

from __future__ import annotations

import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from tiny import TINY, document, write

import sandgym  # noqa: F401  registers the environment

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "alfworld"


@pytest.fixture(scope="session")
def real_folder(tmp_path_factory) -> Path:
    """The shared official games, unpacked."""
    archive = REAL / "json_2.1.1_sample.tar.xz"
    if not archive.is_file():
        pytest.skip(f"the real games are not in {archive}")
    folder = tmp_path_factory.mktemp("alfworld")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="session")
def recordings() -> list[dict[str, Any]]:
    """What TextWorld answered in 50 of the shared games."""
    path = REAL / "textworld_oracle_50.jsonl.xz"
    if not path.is_file():
        pytest.skip(f"the recordings are not in {path}")

    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def make(tmp_path) -> Callable[..., Any]:
    """Makes environments of one hand-written game; ``content`` are changes to it."""

    def build(content: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        write(tmp_path, TINY, document(**(content or {})))
        return gymnasium.make("sandgym/ALFWorld-v0", **({"data": tmp_path, "split": "train"} | kwargs))

    return build

"""Catalogue folders for the WebShop tests: the recorded real one, and small ones written by hand."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from shop import SHOP, SHOP_HUMAN, SHOP_INS, SHOP_NOUNS

import sandgym  # noqa: F401  registers the environment

REAL = Path(__file__).parents[4] / "shared" / "data" / "webshop"
RAW = ("items_shuffle_1000", "items_ins_v2_1000", "items_human_ins_13")


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """Reader of what was recorded from the original."""
    if not REAL.is_dir():
        pytest.skip(f"no recorded WebShop data in {REAL}")

    def read(name: str) -> Any:
        with lzma.open(REAL / "golden" / f"{name}.json.xz", "rt", encoding="utf-8") as file:
            return json.load(file)

    return read


@pytest.fixture(scope="session")
def raw_folder(golden, tmp_path_factory) -> Path:
    """The real files with title nouns; prices and goals are to be drawn."""
    folder = tmp_path_factory.mktemp("raw")
    for name in RAW:
        (folder / f"{name}.json.xz").symlink_to(REAL / f"{name}.json.xz")
    (folder / "nouns.json.xz").symlink_to(REAL / "golden" / "name_nouns_3.8.0.json.xz")
    return folder


@pytest.fixture(scope="session")
def real_folder(raw_folder, tmp_path_factory) -> Path:
    """The real files with the prices and goals that the recordings were made with."""
    folder = tmp_path_factory.mktemp("real")
    for path in raw_folder.iterdir():
        (folder / path.name).symlink_to(path.resolve())
    (folder / "prices.json.xz").symlink_to(REAL / "golden" / "prices_seed0.json.xz")
    (folder / "goals.json.xz").symlink_to(REAL / "golden" / "goals_synth_seed0.json.xz")
    return folder


@pytest.fixture
def write_shop(tmp_path) -> Callable[..., Path]:
    """Writes a folder of official files; a content of ``None`` leaves the file out."""

    def write(**changes: Any) -> Path:
        files = {
            "items_shuffle": SHOP,
            "items_ins_v2": SHOP_INS,
            "items_human_ins": SHOP_HUMAN,
            "nouns": SHOP_NOUNS,
        } | changes
        for name, content in files.items():
            if content is not None:
                (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def make(write_shop):
    """Makes environments of the hand-written shop."""
    folder = write_shop()

    def build(**kwargs):
        return gymnasium.make("sandgym/WebShop-v0", **({"data": folder, "split": "all"} | kwargs))

    return build

"""The golden data recorded from the original; tests that need it are skipped without it."""

import functools
import json
import lzma
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "webshop"


def need_golden():
    """Skip the test when the golden data is not here."""
    if not FOLDER.is_dir():
        pytest.skip(f"golden data is not in {FOLDER}")


@functools.cache
def golden(name):
    """One file of recorded results."""
    need_golden()
    return json.loads(lzma.decompress((FOLDER / "golden" / f"{name}.json.xz").read_bytes()))


@functools.cache
def real_products():
    """The real 1000 products."""
    from sandgym.webshop.jsonfiles import iter_json_array, read_json
    from sandgym.webshop.products import iter_products

    need_golden()
    rows = iter_json_array(FOLDER / "items_shuffle_1000.json.xz")
    return tuple(iter_products(rows, read_json(FOLDER, "items_ins_v2*"), golden("name_nouns_3.8.0")))


def write_real_source(folder):
    """The real products as a source folder for a build, with their nouns."""
    need_golden()
    for path in FOLDER.glob("*.json.xz"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "nouns.json.xz").write_bytes((FOLDER / "golden" / "name_nouns_3.8.0.json.xz").read_bytes())
    return folder

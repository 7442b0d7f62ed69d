"""Builds: whole or nothing, the original's prices and goals, clear errors."""

import json
import lzma
import os
import random
import signal
import subprocess
import sys

import pytest
from golden import golden, real_products, write_real_source

from sandgym.core import SandboxError
from sandgym.webshop import build as module
from sandgym.webshop import goals
from sandgym.webshop.build import build_store
from sandgym.webshop.generate import write_catalogue
from sandgym.webshop.jsonfiles import read_json
from sandgym.webshop.store import check_store


@pytest.fixture
def source(tmp_path):
    return write_catalogue(tmp_path / "source", products=24)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("real")
    return build_store(write_real_source(folder), folder / "built")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_real_products_and_their_recorded_prices(real):
    assert [real[position] for position in range(len(real))] == list(real_products())
    prices = golden("prices_seed0")
    assert {real[position].asin: real.price(position) for position in range(1000)} == prices
    check_store(real.folder, contents=True)


def test_goals_drawn_from_the_stored_state_are_the_recorded_ones(real):
    rng = random.Random()
    for name, positions in (("goals_synth_seed0", real.instructed), ("goals_human13_seed0", real.human)):
        rng.setstate(real.draw_state)
        priced = [(real[position], real.price(position)) for position in positions.tolist()]
        if name == "goals_synth_seed0":
            drawn = goals.synthetic_goals(priced, rng)
        else:
            drawn = goals.human_goals(priced, read_json(real.folder, "items_human_ins*"), rng)
        found = [(goal.asin, goal.instruction_text, goal.price_upper) for goal in drawn]
        assert found == [(row["asin"], row["instruction_text"], row["price_upper"]) for row in golden(name)]
    assert (len(real.instructed), len(real.human)) == (415, len(read_json(real.folder, "items_human_ins*")))


def test_files_that_fix_goals_and_prices_are_kept(source, tmp_path):
    built = build_store(source, tmp_path / "built")
    for name in ("goals", "splits", "items_human_ins"):
        assert read_json(built.folder, name) == json.loads((source / f"{name}.json").read_text())
    prices = json.loads((source / "prices.json").read_text())
    assert [built.price(position) for position in range(24)] == [prices[built[position].asin] for position in range(24)]


def test_the_same_source_gives_the_same_bytes(source, tmp_path):
    first = build_store(source, tmp_path / "a").folder
    second = build_store(source, tmp_path / "b").folder
    assert (first / "manifest.json").read_bytes() == (second / "manifest.json").read_bytes()


def test_compressed_files_give_the_same_catalogue(source, tmp_path):
    plain = build_store(source, tmp_path / "a")
    for path in list(source.iterdir()):
        path.with_name(path.name + ".xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    assert build_store(source, tmp_path / "b").key == plain.key


def test_the_seed_moves_prices_within_their_ranges_only(source, tmp_path):
    (source / "prices.json").unlink()
    one, other = (build_store(source, tmp_path / str(seed), seed=seed) for seed in (1, 2))
    ranged = [position for position in range(24) if len(one[position].price_range) == 2]
    assert ranged
    assert one.key != other.key
    for position in range(24):
        low, high = min(one[position].price_range), max(one[position].price_range)
        assert low <= one.price(position) <= high
        assert (one.price(position) != other.price(position)) == (position in ranged)


def test_progress_counts_to_the_end(source, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_EVERY", 10)
    seen = []
    build_store(source, tmp_path / "built", progress=seen.append)
    assert seen == [10, 20, 24]


def test_a_new_build_replaces_the_old_one(source, tmp_path):
    old = build_store(source, tmp_path / "built")
    new = build_store(write_catalogue(tmp_path / "other", products=36), tmp_path / "built")
    assert (len(old), len(new)) == (24, 36)
    assert old[23].asin  # what is open stays readable
    assert names(tmp_path) == ["built", "other", "source"]


def test_a_failed_build_leaves_the_old_one(source, tmp_path):
    build_store(source, tmp_path / "built")
    path = source / "items_shuffle.json"
    path.write_text(path.read_text()[:-200])
    with pytest.raises(SandboxError, match=r"items_shuffle\.json is not readable"):
        build_store(source, tmp_path / "built")
    assert names(tmp_path) == ["built", "source"]
    assert check_store(tmp_path / "built", contents=True)["products"] == 24


def test_a_killed_build_leaves_nothing_that_looks_built_and_the_next_one_cleans_up(source, tmp_path):
    code = (
        "import sys, time; from sandgym.webshop import build; build._EVERY = 1; "
        "build.build_store(sys.argv[1], sys.argv[2], progress=lambda n: (print(n, flush=True), time.sleep(60)))"
    )
    out = tmp_path / "built"
    with subprocess.Popen([sys.executable, "-c", code, source, out], stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"1\n"
        os.kill(child.pid, signal.SIGKILL)
    assert not out.exists()
    assert len(names(tmp_path)) == 2
    build_store(source, out)
    assert names(tmp_path) == ["built", "source"]


@pytest.mark.parametrize("stem", ["items_shuffle", "items_ins_v2"])
def test_missing_source_files_are_named(source, tmp_path, stem):
    (source / f"{stem}.json").unlink()
    with pytest.raises(SandboxError, match=rf"{stem}.*sandgym data download webshop"):
        build_store(source, tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_a_price_that_is_missing_is_named(source, tmp_path):
    prices = json.loads((source / "prices.json").read_text())
    asin, _ = prices.popitem()
    (source / "prices.json").write_text(json.dumps(prices))
    with pytest.raises(SandboxError, match=f"no price for product '{asin}'"):
        build_store(source, tmp_path / "built")


def test_a_source_without_products(source, tmp_path):
    (source / "items_shuffle.json").write_text("[]")
    with pytest.raises(SandboxError, match="no usable product"):
        build_store(source, tmp_path / "built")


def test_a_place_that_cannot_be_written_to(source, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SandboxError, match=r"cannot write to .*SANDGYM_DATA"):
        build_store(source, tmp_path / "file" / "built")


def test_titles_get_their_nouns_when_none_are_on_file(source, tmp_path, monkeypatch):
    (source / "nouns.json").unlink()
    monkeypatch.setattr(module, "title_nouns", lambda titles: (tuple(title.split()[:2]) for title in titles))
    built = build_store(source, tmp_path / "built")
    assert all(built[position].nouns == tuple(built[position].title.split()[:2]) for position in range(24))

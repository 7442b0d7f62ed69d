"""Rows in both schemas and all file formats; subsets; what is missing is named."""

import json
from collections import Counter

import bookshop as shop
import pytest
from shared import real

from sandgym.core import SandboxError
from sandgym.swebench.rows import load_rows, record_of, row_of, select
from sandgym.swebench.world import build_rows, load_world


def test_the_new_schema(new_rows):
    assert len(new_rows) == 252
    repos = Counter(row.repo for row in new_rows.values())
    assert repos["django/django"] == 115
    assert repos["sympy/sympy"] == 40
    row = new_rows["django__django-16569"]
    assert len(row.fail_to_pass) == 2
    assert len(row.pass_to_pass) == 111
    assert row.difficulty == "<15 min fix"
    assert row.image_name == row.image == "swebench/sweb.eval.x86_64.django_1776_django-16569:latest"


def test_the_old_schema_agrees_with_the_new_one(old_rows, new_rows):
    both = old_rows.keys() & new_rows.keys()
    assert len(both) == 6
    for name in both:
        old, new = old_rows[name], new_rows[name]
        assert (old.repo, old.base_commit, old.patch, old.image_name) == (
            new.repo,
            new.base_commit,
            new.patch,
            new.image_name,
        )
        assert not old.eval_script


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_every_format_and_way_to_write_a_list(tmp_path, suffix, as_list):
    records = [shop.record(instance_id=f"a__b-{number}") for number in range(3)]
    if as_list:  # as in SWE-bench Multilingual
        for record in records:
            record["FAIL_TO_PASS"] = json.loads(record["FAIL_TO_PASS"])
            record["PASS_TO_PASS"] = json.loads(record["PASS_TO_PASS"])
    path = tmp_path / f"rows{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps(records))
    elif suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, records)) + "\n")
    else:
        arrow = pytest.importorskip("pyarrow")
        arrow.parquet = pytest.importorskip("pyarrow.parquet")
        arrow.parquet.write_table(arrow.Table.from_pylist(records), path)
    rows = load_rows(path)
    assert [row.instance_id for row in rows] == ["a__b-0", "a__b-1", "a__b-2"]
    assert rows[0].fail_to_pass == ("tests/test_prices.py::test_total",)


def test_a_record_of_a_row_is_the_row(new_rows):
    for row in (*list(new_rows.values())[:5], shop.row()):
        assert row_of(json.loads(json.dumps(record_of(row)))) == row


@pytest.mark.parametrize("column", ["base_commit", "FAIL_TO_PASS", "problem_statement"])
def test_a_missing_column_is_named(tmp_path, column):
    record = shop.record()
    del record[column]
    (tmp_path / "rows.jsonl").write_text(json.dumps(record))
    with pytest.raises(SandboxError, match=rf"'shop__shop-1' has no column '{column}'; its columns are .*repo"):
        load_rows(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is damaged"),
        (json.dumps(shop.record(FAIL_TO_PASS="[1]")), "'FAIL_TO_PASS' is not a list of tests"),
        (json.dumps(shop.record(PASS_TO_PASS="x")), "'PASS_TO_PASS' is not a list of tests"),
        (json.dumps(shop.record(patch=3)), "column 'patch' is int, not text"),
        (f"{json.dumps(shop.record())}\n{json.dumps(shop.record())}", "has 'shop__shop-1' 2 times"),
        ("", "has no rows"),
    ],
)
def test_damaged_files(tmp_path, content, said):
    (tmp_path / "rows.jsonl").write_text(content)
    with pytest.raises(SandboxError, match=said):
        load_rows(tmp_path / "rows.jsonl")


def test_a_damaged_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(SandboxError, match="is damaged"):
        load_rows(tmp_path / "rows.parquet")


def test_subsets(new_rows):
    rows = tuple(new_rows.values())
    assert len(select(rows, repos=["psf/requests", "pallets/flask"])) == 2
    assert [row.instance_id for row in select(rows, ids="pallets__flask-5014")] == ["pallets__flask-5014"]
    assert len(select(rows, difficulty=[">4 hours"])) == 2
    assert len(select(rows, repos="sympy/sympy", difficulty="<15 min fix")) == sum(
        row.repo == "sympy/sympy" and row.difficulty == "<15 min fix" for row in rows
    )
    with pytest.raises(ValueError, match="no task has repo 'django'; known: astropy/astropy, django/django"):
        select(rows, repos=["django"])
    with pytest.raises(ValueError, match="no task is left"):
        select(rows, repos="pallets/flask", ids="psf__requests-2317")


def test_splits_of_files_and_folders(tmp_path):
    for name, ids in (("train.jsonl", ("a", "b")), ("validation-00000-of-1.json", ("c",)), ("more.jsonl", ("d",))):
        records = [shop.record(instance_id=each) for each in ids]
        lines = json.dumps(records) if name.endswith(".json") else "\n".join(map(json.dumps, records))
        (tmp_path / name).write_text(lines)
    world = load_world(tmp_path)
    assert {split: list(world.split(split).rows) for split in ("train", "dev", "test", "all")} == {
        "train": ["a", "b"],
        "dev": ["c"],
        "test": ["d"],
        "all": ["a", "b", "c", "d"],
    }
    with pytest.raises(ValueError, match="unknown split 'x'; known: train, dev, test, all"):
        world.split("x")
    key = world.split("train").key
    assert load_world(tmp_path) is world
    (tmp_path / "train.jsonl").write_text(json.dumps(shop.record(instance_id="a", hints_text="other")))
    assert load_world(tmp_path).split("train").key != key
    with pytest.raises(SandboxError, match="there is no"):
        load_world(tmp_path / "nothing")


def test_the_official_file_is_built_once_into_a_format_that_needs_no_package(tmp_path, new_rows):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "test.parquet").symlink_to(real("verified_sample.parquet"))
    counts = []
    build_rows(tmp_path / "raw", tmp_path / "built", counts.append)
    assert counts[-1] == 252
    assert {row.instance_id: row for row in load_rows(tmp_path / "built" / "test.jsonl")} == new_rows

"""From statuses to a verdict: what passes, what is missing, names that were cut short."""

import json

import bookshop as shop
import pytest

from sandgym.swebench.verdict import MISSING, named_by_older_python, verdict

A, B = "t.py::test_a", "t.py::test_b"


def two(fail: list[str], keep: list[str]):
    return shop.row(FAIL_TO_PASS=json.dumps(fail), PASS_TO_PASS=json.dumps(keep))


@pytest.mark.parametrize(
    ("fail", "keep", "resolved"),
    [
        ("PASSED", "PASSED", True),
        ("XFAIL", "XFAIL", True),
        ("PASSED", "SKIPPED", True),
        ("SKIPPED", "PASSED", False),
        ("FAILED", "PASSED", False),
        ("ERROR", "PASSED", False),
        ("PASSED", "FAILED", False),
        (None, "PASSED", False),
        ("PASSED", None, False),
    ],
)
def test_what_counts_as_passing(fail, keep, resolved):
    statuses = {name: status for name, status in ((A, fail), (B, keep)) if status}
    found = verdict(two([A], [B]), statuses)
    assert found.resolved is resolved
    assert found.fail_to_pass[A] == (fail or MISSING)


def test_fractions():
    names = [f"t.py::test_{letter}" for letter in "abcd"]
    found = verdict(two(names, [*names[:2], "x"]), dict.fromkeys(names[:3], "PASSED"))
    assert found.progress() == 3 / 4
    assert found.progress(frozenset(names[:1])) == 2 / 3  # of b, c, d: b and c
    assert found.progress(frozenset(names)) == 1.0
    assert found.kept == 2 / 3
    assert verdict(two([A], []), {A: "PASSED"}).kept == 1.0
    assert verdict(two([A], []), {A: "PASSED"}).resolved


def test_names_that_were_cut_at_a_blank():
    row = two(["t.py::test_x[log(photon"], ["t.py::test_y[a"])
    found = verdict(row, {"t.py::test_x[log(photon / s)]": "PASSED", "t.py::test_y[a b]": "PASSED"})
    assert found.resolved
    worst = verdict(row, {"t.py::test_x[log(photon / s)]": "PASSED", "t.py::test_x[log(photon * s)]": "FAILED"})
    assert worst.fail_to_pass == {"t.py::test_x[log(photon": "FAILED"}  # may mean either
    assert verdict(row, {"t.py::test_x[log(photons)]": "PASSED"}).fail_to_pass == {"t.py::test_x[log(photon": MISSING}


def test_progress_of_pytest_is_no_test(new_rows):
    row = new_rows["pytest-dev__pytest-5262"]
    found = verdict(row, dict.fromkeys((*row.fail_to_pass, *row.pass_to_pass[:]), "PASSED"))
    assert found.ignored == ("[100%]",)
    assert found.resolved


def test_every_cut_name_of_the_real_rows_is_matched(new_rows):
    cut = 0
    for row in new_rows.values():
        names = [test for test in (*row.fail_to_pass, *row.pass_to_pass) if test.count("[") > test.count("]")]
        cut += len(names)
        whole = {
            f"{name} rest]" if name in names else name: "PASSED" for name in (*row.fail_to_pass, *row.pass_to_pass)
        }
        assert verdict(row, whole).resolved, row.instance_id  # type: ignore[arg-type]
    assert cut > 250


def test_names_of_an_older_python():
    row = two(["test_a (m.C)"], ["test_b (m.C)"])
    newer = {"test_a (m.C.test_a)": "PASSED", "test_b (m.C.test_b)": "PASSED"}
    assert named_by_older_python(row, newer)
    assert not named_by_older_python(row, {"test_a (m.C)": "PASSED", "test_b (m.C)": "PASSED"})
    assert not named_by_older_python(two(["test_a (m.C.test_a)"], []), newer)

"""Which paths are tests, and which parts of configuration files are about tests."""

import re

import pytest

from sandgym.sandboxes.snapshots import Entry
from sandgym.swebench.commands import file_pairs
from sandgym.swebench.tampering import is_test, merge_sections, screen

FILE, LINK = Entry("file", 0o644, "0" * 64), Entry("link", 0o777, "elsewhere")


def test_no_reference_solution_is_taken_for_a_test_or_for_tampering(new_rows):
    for row in new_rows.values():
        paths = {path for pair in file_pairs(row.patch) for path in pair if path}
        found = screen(dict.fromkeys(paths, FILE), paths | {"src/_pytest/python.py"})
        assert (found.restore, found.tampered) == ((), ()), row.instance_id
        assert found.sections == (("setup.cfg",) if row.instance_id == "pylint-dev__pylint-4661" else ())


def test_every_test_patch_touches_tests(new_rows):
    odd = [
        path
        for row in new_rows.values()
        for pair in file_pairs(row.test_patch)
        for path in pair
        if path and not is_test(path)
    ]
    assert odd == ["django/test/testcases.py"] * 2  # which counts as a test for that row alone
    row = new_rows["django__django-14011"]
    deciding = {path for pair in file_pairs(row.test_patch) for path in pair}
    assert screen({"django/test/testcases.py": FILE}, {"django/test/testcases.py"}, deciding).restore


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "a/b/conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "sitecustomize.py",
        "x.pth",
        "src/usercustomize.py",
    ],
)
def test_what_only_tests_need(path):
    assert screen({path: FILE}, ()).tampered == (f"added {path}",)
    assert screen({path: FILE}, (path,)).tampered == (f"changed {path}",)
    assert screen({path: None}, (path,)).tampered == (f"deleted {path}",)


def test_honest_work_on_tests_is_put_back_but_is_no_tampering():
    found = screen({"tests/test_a.py": FILE, "a/tests/data.txt": FILE, "src/test_b.py": FILE, "a.py": FILE}, ())
    assert found.restore == ("a/tests/data.txt", "src/test_b.py", "tests/test_a.py")
    assert found.tampered == ()


def test_tests_that_are_gone():
    start = ("tests/test_a.py", "tests/test_b.py")
    assert screen({"tests/test_a.py": None}, start).tampered == ("deleted the test tests/test_a.py",)
    found = screen({"tests": LINK, "tests/test_a.py": None, "tests/test_b.py": None}, start)
    assert found.tampered[0] == "made the test tests a link"
    assert found.restore == ("tests", *start)


def test_modules_that_stand_in_for_the_test_runner():
    for path in (
        "pytest.py",
        "pytest/__init__.py",
        "src/_pytest/runner.py",
        "unittest.py",
        "x.egg-info/entry_points.txt",
    ):
        assert re.fullmatch(f"added {path}, which stands in.*", screen({path: FILE}, ()).tampered[0])
    assert screen({"src/_pytest/runner.py": FILE}, ("src/_pytest/python.py",)).tampered == ()  # pytest itself
    assert screen({"requests/pytest.py": FILE, "doc/pytest/x.py": FILE}, ()).tampered == ()


TOML = '[project]\nname = "a"\n\n[tool.pytest.ini_options]\naddopts = "-ra"\n\n[tool.ruff]\nline-length = 80\n'


@pytest.mark.parametrize(
    "now",
    [
        TOML.replace("-ra", "-p evil"),
        TOML.replace("[tool.pytest.ini_options]", "[ tool . pytest . ini_options ]").replace("-ra", "-p evil"),
        TOML.replace(
            '[tool.pytest.ini_options]\naddopts = "-ra"\n', '[tool]\npytest.ini_options.addopts = "-p evil"\n'
        ),
        'tool.pytest.ini_options.addopts = "-p evil"\n'
        + TOML.replace('[tool.pytest.ini_options]\naddopts = "-ra"\n', ""),
        TOML + '\n[project.entry-points.pytest11]\nevil = "evil"\n',
        TOML + '\n[project."entry-points"]\n"pytest11" = {evil = "evil"}\n',
        "",
        "not TOML [",
    ],
)
def test_test_sections_of_toml_are_put_back(now):
    import tomllib

    merged = merge_sections("pyproject.toml", TOML, now)
    assert merged != now
    document = tomllib.loads(merged)
    assert document["tool"]["pytest"] == {"ini_options": {"addopts": "-ra"}}
    assert "evil" not in merged


def test_other_sections_stay_as_they_were_made():
    now = TOML.replace("80", "100").replace("-ra", "-p evil")
    assert merge_sections("pyproject.toml", TOML, now).count("line-length = 100") == 1
    honest = TOML.replace("80", "100")
    assert merge_sections("pyproject.toml", TOML, honest) == honest
    cfg = "[metadata]\nname = a\n[tool:pytest]\naddopts = -ra\n"
    assert merge_sections("setup.cfg", cfg, cfg.replace("= a", "= b")) == cfg.replace("= a", "= b")
    assert merge_sections("setup.cfg", cfg, cfg.replace("-ra", "-p evil")) == cfg
    assert (
        merge_sections("setup.cfg", "[metadata]\n", "[metadata]\n[tool:pytest]\naddopts = -p evil\n") == "[metadata]\n"
    )
    assert merge_sections("tox.ini", "", "[pytest]\naddopts = -p evil\n") == ""

"""Test commands: those of the published scripts, and the same ones without the scripts."""

import dataclasses

import bookshop as shop
import pytest

from sandgym.core import SandboxError
from sandgym.swebench.commands import evaluation, file_pairs, patched_files, runner_of, with_test_file


def test_the_table_gives_what_the_published_scripts_run(new_rows):
    for row in new_rows.values():
        script = evaluation(row)
        table = evaluation(dataclasses.replace(row, eval_script=""))
        assert table.test == script.test, row.instance_id
        assert table.files == script.files
        kept = ("export", "python -m pip", "python setup.py")
        assert {line for line in table.setup if line.startswith(kept)} == {
            line for line in script.setup if line.startswith(kept)
        }


def test_a_command_is_one_line_of_the_script(new_rows):
    for row in new_rows.values():
        how = evaluation(row)
        assert f"\n{how.test}\n" in row.eval_script
        assert not any(line.startswith("git ") for line in how.setup)
        assert how.runner == {"django": "django", "sympy": "sympy"}.get(row.repo.split("/")[0], "pytest")


def test_old_rows_have_commands(old_rows):
    row = old_rows["django__django-11790"]
    assert evaluation(row).test == (
        "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 auth_tests.test_forms"
    )
    assert evaluation(row).files == ("tests/auth_tests/test_forms.py",)


def test_a_row_without_script_of_an_unknown_repository_is_refused():
    with pytest.raises(SandboxError, match=r"'shop__shop-1' has no column 'eval_script'.*'a/b'; known: astropy"):
        evaluation(shop.row(repo="a/b"))
    with pytest.raises(SandboxError, match="does not mark the test output"):
        evaluation(shop.row(eval_script="pytest"))


def test_the_files_of_a_patch():
    patch = (
        "diff --git a/x/new.py b/x/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/x/new.py\n@@ -0,0 +1 @@\n+1\n"
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
        "diff --git a/old name.py b/new name.py\nsimilarity index 100%\nrename from old name.py\n"
        "rename to new name.py\n"
        "diff --git a/same.py b/same.py\n--- a/same.py\n+++ b/same.py\n@@ -1 +1 @@\n-deleted file mode 1\n+1\n"
    )
    assert file_pairs(patch) == [
        ("", "x/new.py"),
        ("gone.py", ""),
        ("old name.py", "new name.py"),
        ("same.py", "same.py"),
    ]
    assert patched_files(patch) == ("x/new.py", "new name.py", "same.py")


def test_one_more_test_file(new_rows):
    how = evaluation(new_rows["django__django-16569"])
    assert with_test_file(how, "tests/x/tests.py").endswith(" forms_tests.tests.test_formsets x.tests")
    how = evaluation(new_rows["pallets__flask-5014"])
    assert with_test_file(how, "tests/test_x.py") == "pytest -rA tests/test_blueprints.py tests/test_x.py"
    assert runner_of("python -m unittest -v tests.test_a") == "unittest"
    assert runner_of("npm test") == "other"

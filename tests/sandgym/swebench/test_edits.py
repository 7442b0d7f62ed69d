"""Edits as sed commands: whatever the texts, running the command gives the second."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandgym.swebench.edits import line_command, patched, sed_command, substitution
from sandgym.swebench.generate import write_tasks
from sandgym.swebench.rows import load_rows


@pytest.fixture
def run(tmp_path):
    def run_command(before: str, command: str) -> str:
        (tmp_path / "a.py").write_text(before)
        subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, timeout=60)
        return (tmp_path / "a.py").read_text()

    return run_command


@pytest.mark.parametrize(
    ("old", "new", "command"),
    [
        ("if a <= b:", "if a < b:", "s/<=/</"),
        ("x = a + b + c", "x = a + b - c", "s/+ c/- c/"),
        ("f(a, b)", "f(b, a)", "s/a, b/b, a/"),
        ("return sorted(x)", "return x", "s/sorted(x)/x/"),
        ("x = y", "x += y", "s/=/+=/"),
        ("n // 2", "n / 2", "s|//|/|"),
        ("a[0]", "a[-1]", "s/0/-1/"),
        ("a * b", "a & b", "s/\\*/\\&/"),
        ("x.y", "xzy", "s/x\\.y/xzy/"),
        ("reserved", "served", "s/reserved/served/"),
        ("", "x = 1", "s/^/x = 1/"),
    ],
)
def test_the_least_of_a_line_that_names_the_place(old, new, command):
    assert substitution(old, new) == command


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("return x + 1", "sed -i '2s|[^ ].*|return x + 1|' ./a.py"),
        ("if a & b or '|' in c:", r"sed -i '2s/[^ ].*/if a \& b or '\''|'\'' in c:/' ./a.py"),
        ("x = a | b / c  # \\d", r"sed -i '2s~[^ ].*~x = a | b / c  # \\d~' ./a.py"),
    ],
)
def test_a_line_that_says_something_else(run, line, command):
    assert line_command("a.py", 2, line) == command
    assert run("def f(x):\n    return x\n\n", command) == f"def f(x):\n    {line}\n\n"


@pytest.mark.parametrize(
    ("before", "after", "command"),
    [
        ("a\nb\n", "a\nc\n", "sed -i '2s/b/c/' a.py"),
        ("a\nb\n", "a\n  x = 1\n  y\nb\n", r"sed -i '1a\  x = 1\n  y' a.py"),
        ("a\n", "x\na\n", r"sed -i '1i\x' a.py"),
        ("a\nb\nc\nd\n", "a\nd\n", "sed -i '2,3d' a.py"),
        ("a\nb\nc\n", "a\nx\n", r"sed -i '2,3c\x' a.py"),
        ("a\nb\nc\n", "x\nb\ny\n", "sed -i -e '1s/a/x/' -e '3s/c/y/' a.py"),
        ("a\n", "it's\n", r"sed -i '1s/a/it'\''s/' a.py"),
        ("a\n", "a\n", ""),
    ],
)
def test_commands(run, before, after, command):
    assert sed_command("a.py", before, after) == command
    assert run(before, command) == after


LINE = st.text(st.sampled_from("ab01 _=+-*/%<>()[]{}.,:;'\"\\&|^$#!~?\t"), max_size=12)
LINES = st.lists(LINE, min_size=1, max_size=4).map(lambda lines: "".join(f"{line}\n" for line in lines))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES)
def test_any_text_becomes_any_other(run, before, after):
    assert run(before, sed_command("a.py", before, after)) == after


def test_a_path_that_needs_quotes(tmp_path):
    (tmp_path / "a b.py").write_text("x\n")
    subprocess.run(["bash", "-c", sed_command("a b.py", "x\n", "y\n")], cwd=tmp_path, check=True)
    assert (tmp_path / "a b.py").read_text() == "y\n"


def test_every_bundled_patch_as_a_command(tmp_path, run):
    write_tasks(tmp_path / "tasks", {"train": 40, "test": 14})
    for split in ("train", "test"):
        for row in load_rows(tmp_path / "tasks" / f"{split}.jsonl"):
            document = json.loads((tmp_path / "tasks" / "repositories" / f"{row.instance_id}.json").read_text())
            before = document["files"][re.search(r"^\+\+\+ b/(.+)$", row.patch, re.MULTILINE)[1]]
            after = patched(before, row.patch)
            command = sed_command("a.py", before, after)
            assert after != before
            assert len(command) < 200
            assert run(before, command) == after


# Patches.

BEFORE = "one\ntwo\n\nthree\nfour\n"
SPACE = " "  # an empty line of context
PATCH = f"""\
diff --git a/x b/x
--- a/x
+++ b/x
@@ -1,3 +1,3 @@
 one
-two
+2
{SPACE}
@@ -5 +5,2 @@
-four
+--- four
+4
"""


def test_patched():
    assert patched(BEFORE, PATCH) == "one\n2\n\nthree\n--- four\n4\n"
    assert patched(BEFORE, "") == BEFORE
    assert patched("", "@@ -0,0 +1 @@\n+new\n") == "new\n"


def test_a_patch_of_another_text():
    with pytest.raises(ValueError, match=r"'two\\n' at line 2"):
        patched(BEFORE.replace("two", "zwei"), PATCH)


def test_git_agrees(tmp_path):
    (tmp_path / "x").write_text(BEFORE)
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=tmp_path, input=PATCH, text=True, check=True)
    assert Path(tmp_path / "x").read_text() == patched(BEFORE, PATCH)

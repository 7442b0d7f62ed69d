"""A small repository with a bug, written by hand, and its row."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sandgym.swebench.checkouts import commit_all
from sandgym.swebench.rows import Row, row_of

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": (
        "def total(prices):\n    return sum(prices[1:])\n\n\ndef mean(prices):\n    return total(prices) / 2\n"
    ),
    "tests/__init__.py": "",
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return [1, 2]\n",
    "tests/test_prices.py": "from shop.prices import total\n\n\ndef test_empty():\n    assert total([]) == 0\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\naddopts = "-ra"\n',
    "setup.cfg": "[metadata]\nname = shop\n",
    ".gitignore": "build/\n*.log\n",
    "docs/logo.bin": "\x00\x01\x02",
    "notes.txt": "one\r\ntwo\r\n",
}
PATCH = """\
diff --git a/shop/prices.py b/shop/prices.py
--- a/shop/prices.py
+++ b/shop/prices.py
@@ -1,5 +1,5 @@
 def total(prices):
-    return sum(prices[1:])
+    return sum(prices)
 
 
 def mean(prices):
"""  # noqa: W293
TEST_PATCH = """\
diff --git a/tests/test_prices.py b/tests/test_prices.py
--- a/tests/test_prices.py
+++ b/tests/test_prices.py
@@ -3,3 +3,7 @@
 
 def test_empty():
     assert total([]) == 0
+
+
+def test_total(two):
+    assert total(two) == 3
"""  # noqa: W293
HIDDEN = ("test_total", "sum(prices)\n", "the hint that nobody may see")
ISSUE = "total() forgets the first price."
FIX = "sed -i 's/prices\\[1:\\]/prices/' shop/prices.py"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def record(**changes: Any) -> dict[str, Any]:
    """The row in the old schema, with changes."""
    return {
        "repo": "pallets/flask",  # whose tests run with pytest
        "instance_id": "shop__shop-1",
        "base_commit": "0" * 40,
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "problem_statement": ISSUE,
        "hints_text": HIDDEN[2],
        "created_at": "2024-01-01T00:00:00Z",
        "version": "1",
        "FAIL_TO_PASS": json.dumps(["tests/test_prices.py::test_total"]),
        "PASS_TO_PASS": json.dumps(["tests/test_prices.py::test_empty"]),
        **changes,
    }


def row(**changes: Any) -> Row:
    return row_of(record(**changes))


def write_files(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def write_checkout(folder: Path, files: dict[str, str] = FILES) -> Path:
    """The repository at its base."""
    folder.mkdir(parents=True)
    write_files(folder, files)
    commit_all(folder, "base")
    return folder


def write_data(folder: Path, **changes: Any) -> dict[str, Any]:
    """Rows and checkouts in a folder; the arguments of the environment."""
    one = record(**changes)
    (folder / "rows.jsonl").write_text(json.dumps(one) + "\n")
    shutil.rmtree(folder / "checkouts", ignore_errors=True)
    write_checkout(folder / "checkouts" / one["instance_id"])
    return {"data": folder / "rows.jsonl", "checkouts": folder / "checkouts", "split": "test"}

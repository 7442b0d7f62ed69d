"""Control tests: one that must pass and one that must fail, run with the tests that are graded.

Invariant: nobody can know their names or results without running them, so output that was
written beforehand lacks them, and whatever makes every test pass makes the wrong one pass.
"""

from __future__ import annotations

import dataclasses
import hashlib
import posixpath
import secrets
from collections.abc import Mapping

from sandgym.swebench.commands import Evaluation, folder_of_tests, with_test_file
from sandgym.swebench.logparsers import Status

_FUNCTIONS = """\
import hashlib


def {passing}():
    assert hashlib.sha256(b"{seed}").hexdigest() == "{right}"


def {failing}():
    assert hashlib.sha256(b"{seed}").hexdigest() == "{wrong}"
"""
_METHODS = """\
import hashlib
import unittest


class {group}(unittest.TestCase):
    def {passing}(self):
        self.assertEqual(hashlib.sha256(b"{seed}").hexdigest(), "{right}")

    def {failing}(self):
        self.assertEqual(hashlib.sha256(b"{seed}").hexdigest(), "{wrong}")
"""


@dataclasses.dataclass(frozen=True)
class Controls:
    """Two tests of a run.

    Attributes:
        files: path in the repository to content, of what has to be written.
        command: the test command that runs them too.
        passing: name of the test that must pass.
        failing: name of the test that must fail.
    """

    files: Mapping[str, str]
    command: str
    passing: str
    failing: str


def controls(how: Evaluation) -> Controls | None:
    """Control tests for a way to run tests; None where they cannot be added."""
    if how.runner == "other" or not (how.files or how.runner == "django"):
        return None
    stem, *names = (f"test_{secrets.token_hex(8)}" for _ in range(3))
    seed = secrets.token_hex(16)
    right = hashlib.sha256(seed.encode()).hexdigest()
    template = _METHODS if how.runner in ("django", "unittest") else _FUNCTIONS
    facts = {"seed": seed, "right": right, "wrong": hashlib.sha256(right.encode()).hexdigest()}
    content = template.format(group=f"Test{stem[5:]}", passing=names[0], failing=names[1], **facts)
    if how.runner == "django":
        path = f"tests/{stem}/tests.py"
        files = {path: content, f"tests/{stem}/__init__.py": ""}
        command = with_test_file(how, path) if how.files else how.test
    else:
        path = posixpath.join(folder_of_tests(how.files), f"{stem}.py")
        files, command = {path: content}, with_test_file(how, path)
    return Controls(files, command, *names)


def objection(tests: Controls, statuses: Mapping[str, Status], resolved: bool) -> str:
    """Why the output cannot be believed; empty when it can.

    Args:
        tests: that were run.
        statuses: of every test in the output.
        resolved: whether the output claims that all of the row's tests pass. Output that ends early and
            claims less is believed: a repair may crash the run.
    """
    if _status(tests.failing, statuses) in ("PASSED", "XFAIL", "SKIPPED"):
        return "a control test that must fail did not"
    if resolved and _status(tests.failing, statuses) is None:
        return "the output has results of the row's tests, but not those of the control tests that ran after them"
    if resolved and _status(tests.passing, statuses) != "PASSED":
        return "a control test that must pass did not"
    return ""


def _status(name: str, statuses: Mapping[str, Status]) -> Status | None:
    """Status of a test whose name is in no other test's."""
    return next((status for test, status in statuses.items() if name in test), None)

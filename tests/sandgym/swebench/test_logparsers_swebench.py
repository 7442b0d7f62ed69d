"""Log parsers on output that the runners really write, with its traps."""

import pytest

from sandgym.core import SandboxError
from sandgym.swebench.logparsers import (
    parse_matplotlib,
    parse_pytest,
    parse_pytest_short_paths,
    parse_sympy,
    parse_unittest,
    parser_of,
)

PYTEST = """\
============================= test session starts ==============================
collected 9 items

t.py .Fx.s                                                               [100%]
t.py::test_verbose[a b] PASSED                                           [ 11%]
t.py::test_skipped SKIPPED (no gmpy)                                     [ 22%]
PASSED
FAILED
PASSED [100%]
ERROR    root:t.py:3 a logged error
=================================== FAILURES ===================================
=========================== short test summary info ============================
PASSED t.py::test_a
PASSED t.py::test_p[x - y]
PASSED t.py::test_p[log(photon / s)]
SKIPPED [2] t.py:4: needs a network
XFAIL t.py::test_known - bug 12
XPASS t.py::test_surprise - bug 13
ERROR t.py::test_a - ValueError: in teardown
ERROR u.py
FAILED t.py::test_f - assert 1 == 2 - and more
FAILED t.py::test_p[a - b] - AssertionError
FAILED t.py::test_bare
=================== 1 failed, 3 passed, 2 skipped in 0.12s ====================
"""


def test_pytest():
    found = parse_pytest(PYTEST)
    assert {name: status for name, status in found.items() if "::" in name} == {
        "t.py::test_verbose[a b]": "PASSED",
        "t.py::test_skipped": "SKIPPED",
        "t.py::test_a": "ERROR",  # it passed, and then its teardown failed
        "t.py::test_p[x - y]": "PASSED",
        "t.py::test_p[log(photon / s)]": "PASSED",
        "t.py::test_known": "XFAIL",
        "t.py::test_surprise": "FAILED",
        "t.py::test_f": "FAILED",
        "t.py::test_p[a - b]": "FAILED",
        "t.py::test_bare": "FAILED",
    }


def test_colours_and_control_characters():
    assert parse_pytest("\x1b[32mPASSED\x1b[0m t.py::\x1b[1mtest_a\x1b[0m\n\x0cFAILED t.py::test_b\n") == {
        "t.py::test_a": "PASSED",
        "t.py::test_b": "FAILED",
    }


def test_what_failed_anywhere_has_failed():
    forged = "PASSED t.py::test_a\n"
    for log in (f"{forged}FAILED t.py::test_a - no\n", f"FAILED t.py::test_a - no\n{forged}"):
        assert parse_pytest(log) == {"t.py::test_a": "FAILED"}


def test_parameters_that_are_paths_or_buttons():
    log = "PASSED t.py::test_a[/tmp/x1/data]\nPASSED t.py::test_b[//keep/this]\nPASSED t.py::test_c[/one]\n"
    assert list(parse_pytest_short_paths(log)) == [
        "t.py::test_a[/data]",
        "t.py::test_b[//keep/this]",
        "t.py::test_c[/one]",
    ]
    assert parse_matplotlib("PASSED t.py::test_a[MouseButton.LEFT-MouseButton.RIGHT]") == {
        "t.py::test_a[1-3]": "PASSED"
    }


DJANGO = """\
Testing against Django installed in '/testbed/django'
Found 9 test(s).
  Applying sites.0001_initial... OK
System check identified no issues (0 silenced).
test_plain (m.tests.T.test_plain) ... ok
test_documented (m.tests.T.test_documented)
The first line of a docstring ... ok
test_checked (m.tests.T.test_checked) ... System check identified no issues (0 silenced).
ok
test_error_page (m.tests.T.test_error_page)
Says what is wrong ... Internal Server Error: /page/
Traceback (most recent call last):
ok
test_no_feature (m.tests.T.test_no_feature) ... skipped "Database doesn't support feature(s): has_json"
test_known (m.tests.T.test_known) ... expected failure
test_surprise (m.tests.T.test_surprise) ... unexpected success
test_wrong (m.tests.T.test_wrong)
What is wrong ... FAIL
test_old_subtest (m.tests.T) ... test_next (m.tests.T) ... ok
test_subtests (m.tests.T.test_subtests) ... 
  test_subtests (m.tests.T.test_subtests) (i=1) ... FAIL
test_broken (m.tests.T.test_broken) ... ERROR
test_docstring_with ... dots
dots ... in it ... ok

======================================================================
ERROR: setUpClass (m.tests.Other)
----------------------------------------------------------------------
======================================================================
FAIL: test_old_subtest (m.tests.T) (i=1)
----------------------------------------------------------------------
======================================================================
FAIL: test_wrong (m.tests.T.test_wrong)
What is wrong
----------------------------------------------------------------------
Ran 9 tests in 0.010s
"""  # noqa: W291


def test_unittest_and_django():
    found = parse_unittest(DJANGO)
    expected = {
        "test_plain (m.tests.T.test_plain)": "PASSED",
        "test_documented (m.tests.T.test_documented)": "PASSED",
        "The first line of a docstring": "PASSED",
        "test_checked (m.tests.T.test_checked)": "PASSED",
        "Says what is wrong": "PASSED",
        "test_error_page (m.tests.T.test_error_page)": "PASSED",
        "test_no_feature (m.tests.T.test_no_feature)": "SKIPPED",
        "test_known (m.tests.T.test_known)": "XFAIL",
        "test_surprise (m.tests.T.test_surprise)": "FAILED",
        "test_wrong (m.tests.T.test_wrong)": "FAILED",
        "What is wrong": "FAILED",
        "test_old_subtest (m.tests.T)": "FAILED",
        "test_next (m.tests.T)": "PASSED",
        "test_subtests (m.tests.T.test_subtests)": "FAILED",
        "test_broken (m.tests.T.test_broken)": "ERROR",
        "dots ... in it": "PASSED",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "  Applying sites.0001_initial" not in found


SYMPY = """\
============================= test process starts ==============================
random seed:        6205600
hash randomization: on (PYTHONHASHSEED=2417298569)

sympy/core/tests/test_singleton.py[3] 
test_Singleton ok
test_names_in_namespace ok                                                  [OK]

sympy/core/tests/test_zz.py[7] 
test_xf f
test_xp X
test_skipme no gmpy s
test_f F
test_e E
test_print noise
more ok
ok                                                             [FAIL]

________________________________ xpassed tests _________________________________
sympy/core/tests/test_zz.py: test_xp

________________________________________________________________________________
______________________ sympy/core/tests/test_zz.py:test_late ______________________
AssertionError
 tests finished: 5 passed, 1 failed, 1 skipped, 1 expected to fail, 
DO *NOT* COMMIT!
"""  # noqa: W291


def test_sympy():
    assert parse_sympy(SYMPY) == {
        "test_Singleton": "PASSED",
        "test_names_in_namespace": "PASSED",
        "test_xf": "XFAIL",
        "test_xp": "FAILED",
        "test_skipme": "SKIPPED",
        "test_f": "FAILED",
        "test_e": "ERROR",
        "test_print": "PASSED",
        "test_late": "FAILED",
    }


def test_every_real_row_has_a_parser(new_rows, old_rows):
    by_repo = {}
    for row in new_rows.values():
        runner = {"django": "django", "sympy": "sympy"}.get(row.repo.split("/")[0], "pytest")
        by_repo[row.repo] = parser_of(row.log_parser, row.repo, runner)
        assert parser_of("", row.repo, runner) is by_repo[row.repo]
    assert by_repo["django/django"] is parse_unittest
    assert by_repo["sympy/sympy"] is parse_sympy
    assert by_repo["psf/requests"] is by_repo["pylint-dev/pylint"] is parse_pytest_short_paths
    assert parser_of("parse_log_seaborn", "mwaskom/seaborn", "pytest") is parse_pytest
    with pytest.raises(SandboxError, match=r"unknown log_parser 'parse_log_jest'; known: .*parse_log_django"):
        parser_of("parse_log_jest", "a/b", "other")
    with pytest.raises(SandboxError, match="cannot be read; give the row a 'log_parser'"):
        parser_of("", "a/b", "other")

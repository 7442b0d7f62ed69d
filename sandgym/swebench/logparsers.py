"""What a test run's output says about each test.

Invariant: a test that failed anywhere in the output has failed, whatever else is written about
it; text that only looks like a result is no result. Names are those that SWE-bench's rows use:
pytest's node ids, unittest's ``method (class)`` or the first line of its docstring, SymPy's
function names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from sandgym.core import SandboxError
from sandgym.swebench.commands import Runner

Status = Literal["PASSED", "XFAIL", "SKIPPED", "FAILED", "ERROR"]
Parser = Callable[[str], dict[str, Status]]
Found = Iterator[tuple[str, Status]]

_RANKS: dict[Status, int] = {"SKIPPED": 0, "XFAIL": 1, "PASSED": 2, "ERROR": 3, "FAILED": 4}
_WORDS: dict[str, Status] = {
    "PASSED": "PASSED",
    "XPASS": "FAILED",
    "XFAIL": "XFAIL",
    "SKIPPED": "SKIPPED",
    "FAILED": "FAILED",
    "ERROR": "ERROR",
}
_WORD = "|".join(_WORDS)
_FIRST = re.compile(rf"^({_WORD}) (\S.*)$")
_LAST = re.compile(rf"^(\S+::.*?) ({_WORD})(?:\s.*)?$")
_COLOURS = re.compile(r"\x1b?\[\d+(?:;\d+)*m")
_CONTROL = dict.fromkeys(range(1, 32))


def parse_pytest(log: str) -> dict[str, Status]:
    """Results in pytest's summary (``-rA``) and in its verbose lines, by node id."""
    return _collect(_pytest(log))


def parse_pytest_short_paths(log: str) -> dict[str, Status]:
    """Like ``parse_pytest``; a parameter that is a path is cut to its last part."""
    return _collect((re.sub(r"\[/(?!/)[^*\s]*/([^/\s]*)\]$", r"[/\1]", name), status) for name, status in _pytest(log))


def parse_matplotlib(log: str) -> dict[str, Status]:
    """Like ``parse_pytest``; mouse buttons are numbers, as in older versions."""
    return parse_pytest(log.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


def _pytest(log: str) -> Found:
    for raw in log.splitlines():
        line = _COLOURS.sub("", raw).translate(_CONTROL).rstrip()
        if first := _FIRST.match(line):
            status, name = first.groups()
            if status == "SKIPPED" and re.match(r"\[\d+\]", name):
                continue  # "SKIPPED [3] file:line: reason" names no test
            yield (name if status == "PASSED" else _without_message(name)), _WORDS[status]
        elif last := _LAST.match(line):
            yield last[1], _WORDS[last[2]]


def _without_message(text: str) -> str:
    """The node id of ``id - message``; the separator counts only where no bracket is open."""
    for separator in re.finditer(" - ", text):
        name = text[: separator.start()]
        if "[" not in name or name.endswith("]"):
            return name
    return text


_UNITTEST_ID = re.compile(r"^\w+ \([\w.]+\)")
_UNITTEST_END = re.compile(r"^(.*) \.\.\. {1,2}(ok|OK|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
_UNITTEST_SUMMARY = re.compile(r"^(FAIL|ERROR): (.+)$")
_BARE = re.compile(r"^(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
_ENDS: dict[str, Status] = {
    "ok": "PASSED",
    "OK": "PASSED",
    "FAIL": "FAILED",
    "ERROR": "ERROR",
    "skipped": "SKIPPED",
    "expected failure": "XFAIL",
    "unexpected success": "FAILED",
}


def parse_unittest(log: str) -> dict[str, Status]:
    """Results of unittest or Django's runner at verbosity 2.

    A test is known by ``method (class)`` and by the first line of its docstring. Other output
    may stand between a test's name and its result.
    """
    return _collect(_unittest(log.splitlines()))


def _unittest(lines: list[str]) -> Found:
    pending: tuple[str, ...] = ()  # names of the test that runs
    header = ""  # the line before, where it is a test's name and its docstring follows
    for number, raw in enumerate(lines):
        line = raw.strip()
        if ended := _UNITTEST_END.match(line):
            status = _ENDS[ended[2] if not ended[2].startswith("skipped") else "skipped"]
            for name in _names(ended[1], header):
                yield name, status
            pending = ()
        elif summary := _UNITTEST_SUMMARY.match(line):
            following = lines[number + 1].strip() if number + 1 < len(lines) else ""
            yield from _summarised(summary[2], following, "FAILED" if summary[1] == "FAIL" else "ERROR")
        elif bare := _BARE.match(line):
            for name in pending:
                yield name, _ENDS[bare[1] if not bare[1].startswith("skipped") else "skipped"]
            pending = ()
        elif " ... " in f"{line} ":
            pending = _names(f"{line} ".partition(" ... ")[0], header)
        header = line if _UNITTEST_ID.fullmatch(line) else ""


def _names(said: str, header: str) -> tuple[str, ...]:
    """Everything that a test may be called: what stands before the dots, its last part, its id."""
    last = said.rsplit(" ... ", 1)[-1]
    found = _UNITTEST_ID.match(last)
    names = (said.strip(), last.strip(), found[0] if found else "", header)
    return tuple(dict.fromkeys(name for name in names if name))


def _summarised(name: str, following: str, status: Status) -> Found:
    """Names in a report of a failure, which may be of a subtest, and whose docstring may follow."""
    found = _UNITTEST_ID.match(name)
    yield (found[0] if found else name), status
    if following and not set(following) <= {"-", "="}:
        yield following, status


_SYMPY_LINE = re.compile(r"^(test_\w+) (?:.* )?(ok|f|X|s|F|E|K|T)(?: +\[(?:OK|FAIL)\])?$")
_SYMPY_BARE = re.compile(r"^(ok|f|X|s|F|E|K|T)(?: +\[(?:OK|FAIL)\])?$")
_SYMPY_REPORT = re.compile(r"^_+ \S+\.py:(test_\w+) _+$")
_SYMPY: dict[str, Status] = {
    "ok": "PASSED",
    "f": "XFAIL",
    "X": "FAILED",
    "s": "SKIPPED",
    "F": "FAILED",
    "E": "ERROR",
    "K": "ERROR",
    "T": "FAILED",
}


def parse_sympy(log: str) -> dict[str, Status]:
    """Results of SymPy's ``bin/test --verbose``, by function name."""
    return _collect(_sympy(log))


def _sympy(log: str) -> Found:
    pending = ""
    for raw in log.splitlines():
        line = _COLOURS.sub("", raw).strip()
        if done := _SYMPY_LINE.match(line):
            yield done[1], _SYMPY[done[2]]
            pending = ""
        elif report := _SYMPY_REPORT.match(line):
            yield report[1], "FAILED"
        elif (bare := _SYMPY_BARE.match(line)) and pending:
            yield pending, _SYMPY[bare[1]]
            pending = ""
        elif started := re.match(r"test_\w+(?= |$)", line):
            pending = started[0]


def _collect(found: Found) -> dict[str, Status]:
    """The worst that is said about each test; being skipped says less than passing."""
    statuses: dict[str, Status] = {}
    for name, status in found:
        before = statuses.get(name)
        if before is None or _RANKS[status] > _RANKS[before]:
            statuses[name] = status
    return statuses


# By the name in column "log_parser" and by repository, where it is not plain pytest.
_BY_NAME: dict[str, Parser] = {
    "django": parse_unittest,
    "matplotlib": parse_matplotlib,
    "pydicom": parse_pytest_short_paths,
    "pylint": parse_pytest_short_paths,
    "requests": parse_pytest_short_paths,
    "sympy": parse_sympy,
    "unittest": parse_unittest,
}
_PLAIN = (
    *("astroid", "astropy", "flask", "marshmallow", "pvlib", "pytest", "pytest_v2", "pyvista"),
    *("scikit", "seaborn", "sphinx", "sqlfluff", "xarray"),
)
_BY_RUNNER: dict[Runner, Parser] = {
    "django": parse_unittest,
    "pytest": parse_pytest,
    "sympy": parse_sympy,
    "unittest": parse_unittest,
}


def parser_of(log_parser: str, repo: str, runner: Runner) -> Parser:
    """What reads the output of a row's tests.

    Args:
        log_parser: of the row; may be empty.
        repo: of the row.
        runner: of its test command.

    Raises:
        SandboxError: no parser is known.
    """
    if log_parser:
        name = log_parser.removeprefix("parse_log_")
        parser = _BY_NAME.get(name) or (parse_pytest if name in _PLAIN else None)
        if parser is None:
            known = ", ".join(sorted(f"parse_log_{each}" for each in (*_BY_NAME, *_PLAIN)))
            raise SandboxError(f"unknown log_parser {log_parser!r}; known: {known}")
        return parser
    parser = _BY_NAME.get(repo.partition("/")[2]) if runner == "pytest" else None
    parser = parser or _BY_RUNNER.get(runner)
    if parser is None:
        raise SandboxError(f"the output of the tests of {repo!r} cannot be read; give the row a 'log_parser'")
    return parser

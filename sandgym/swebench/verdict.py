"""From the results of tests to a verdict.

Invariant: resolved means that every test in FAIL_TO_PASS and PASS_TO_PASS passes; a test that
the output does not name has failed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from sandgym.swebench.logparsers import Status
from sandgym.swebench.rows import Row

_PHANTOM = re.compile(r"\[ *\d+%\]")  # pytest's progress, which is in two rows as if it were a test
_OLD_ID = re.compile(r"^\w+ \(([\w.]+)\)$")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the tests of a row say.

    Attributes:
        fail_to_pass: test to status, of those that had to start passing; ``MISSING`` where the output has none.
        pass_to_pass: test to status, of those that had to go on passing.
        ignored: names in the row that are no tests.
    """

    fail_to_pass: Mapping[str, str]
    pass_to_pass: Mapping[str, str]
    ignored: tuple[str, ...] = ()

    @property
    def now_passing(self) -> frozenset[str]:
        """Tests of ``fail_to_pass`` that pass."""
        return frozenset(test for test, status in self.fail_to_pass.items() if status in _F2P_PASSES)

    @property
    def still_passing(self) -> frozenset[str]:
        """Tests of ``pass_to_pass`` that pass."""
        return frozenset(test for test, status in self.pass_to_pass.items() if status in _P2P_PASSES)

    @property
    def resolved(self) -> bool:
        """Whether all tests pass."""
        return len(self.now_passing) == len(self.fail_to_pass) and len(self.still_passing) == len(self.pass_to_pass)

    def progress(self, before: frozenset[str] = frozenset()) -> float:
        """Share of ``fail_to_pass`` that the change made pass, in [0, 1].

        Args:
            before: tests of ``fail_to_pass`` that pass without a change; they do not count.
        """
        wanted = set(self.fail_to_pass) - before
        return len(wanted & self.now_passing) / len(wanted) if wanted else 1.0

    @property
    def kept(self) -> float:
        """Share of ``pass_to_pass`` that passes, in [0, 1]."""
        return len(self.still_passing) / len(self.pass_to_pass) if self.pass_to_pass else 1.0


_F2P_PASSES = frozenset({"PASSED", "XFAIL"})
_P2P_PASSES = frozenset({"PASSED", "XFAIL", "SKIPPED"})
_WORST_FIRST = ("FAILED", "ERROR", "SKIPPED", "XFAIL", "PASSED")
MISSING = "MISSING"


def verdict(row: Row, statuses: Mapping[str, Status]) -> Verdict:
    """The verdict on a row, given the status of every test in the output."""
    lists = [[test for test in tests if not _PHANTOM.fullmatch(test)] for tests in (row.fail_to_pass, row.pass_to_pass)]
    ignored = [test for test in (*row.fail_to_pass, *row.pass_to_pass) if _PHANTOM.fullmatch(test)]
    shortened = _shortened(statuses)
    fail_to_pass, pass_to_pass = ({test: _status(test, statuses, shortened) for test in tests} for tests in lists)
    return Verdict(fail_to_pass, pass_to_pass, tuple(ignored))


def _shortened(statuses: Mapping[str, Status]) -> dict[str, list[Status]]:
    """Statuses by what is left of a name when it is cut at the first blank, as the rows' names were."""
    found: dict[str, list[Status]] = {}
    for name, status in statuses.items():
        if "::" in name and " " in name:
            found.setdefault(name.partition(" ")[0], []).append(status)
    return found


def _status(test: str, statuses: Mapping[str, Status], shortened: Mapping[str, list[Status]]) -> str:
    """Status of a test; of one whose name was cut, the worst of all that it may mean."""
    if test in statuses:
        return statuses[test]
    cut = shortened.get(test, []) if test.count("[") > test.count("]") or "::" in test else []
    return next((status for status in _WORST_FIRST if status in cut), MISSING)


def named_by_older_python(row: Row, statuses: Mapping[str, Status]) -> bool:
    """Whether the row has unittest ids as Python wrote them before 3.11, and the output newer ones.

    Then its tests seem to be missing although they ran: the row needs an older Python.
    """
    old = {test for test in (*row.fail_to_pass, *row.pass_to_pass) if _OLD_ID.match(test)}
    missing = old - set(statuses)
    newer = {
        f"{name.partition(' ')[0]} ({_OLD_ID.match(name)[1].rpartition('.')[0]})"  # type: ignore[index]
        for name in statuses
        if _OLD_ID.match(name)
    }
    return bool(missing & newer)

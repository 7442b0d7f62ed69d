"""Bugs for the bundled tasks: a mistake in a package, proven by running, with what shows it.

Invariant: a ``Bug`` fails at least one and at most ``MOST_FAILING`` tests of its package, passes
the others, and ends no test by an endless loop; the package without it passes all.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from sandgym.draws import Draw
from sandgym.swebench.mutations import Mutation, mutations
from sandgym.swebench.packages import Package
from sandgym.swebench.proof import EndlessError, Modules, Outcome, outcomes
from sandgym.swebench.suites import Trial, test_name, trial

MOST_FAILING = 4
FEWEST_PASSING = 8
LONGEST_SHOWN = 100
PLAIN = (bool, int, float, str, type(None))


@dataclasses.dataclass(frozen=True, order=True)
class Site:
    """Where a bug is, and which: the same in all packages of a family.

    Attributes:
        module: place of the module among the package's modules.
        node: see ``mutations.Place``.
        number: see ``mutations.Place``.
    """

    module: int
    node: int
    number: int


@dataclasses.dataclass(frozen=True)
class Example:
    """A call that shows a bug.

    Attributes:
        setup: statements before it, the imports first.
        call: statement or expression.
        expected: what happens without the bug: text such as ``4`` or ``ValueError`` (see the next).
        raises: whether it should raise an error.
        actual: what happens.
        raised: whether it raises an error.
    """

    setup: tuple[str, ...]
    call: str
    expected: str
    raises: bool
    actual: str
    raised: bool


@dataclasses.dataclass(frozen=True)
class Bug:
    """A package and a mistake in it.

    Attributes:
        package: without the mistake.
        path: of the module with the mistake.
        mutation: the mistake.
        failing: tests that show it.
        passing: the other tests.
        example: of what is wrong.
    """

    package: Package
    path: str
    mutation: Mutation
    failing: tuple[str, ...]
    passing: tuple[str, ...]
    example: Example

    @property
    def good(self) -> str:
        """The module without the mistake."""
        return self.package.files[self.path]

    @property
    def bad(self) -> str:
        """The module with the mistake."""
        return self.mutation.apply(self.good)


def sites(package: Package, draw: Draw) -> list[tuple[Site, str]]:
    """All sites of a family with the kinds of their mistakes, in random order; kinds take turns."""
    by_kind: dict[str, list[Site]] = {}
    for index, path in enumerate(package.modules):
        for mutation in mutations(package.files[path]):
            by_kind.setdefault(mutation.kind, []).append(Site(index, *mutation.place))
    queues = {kind: draw.sample(found, len(found)) for kind, found in by_kind.items()}
    kinds = draw.sample(list(queues), len(queues))
    rounds = max(len(queue) for queue in queues.values())
    return [(queues[kind][turn], kind) for turn in range(rounds) for kind in kinds if turn < len(queues[kind])]


def find_bug(package: Package, site: Site) -> Bug | None:
    """The bug at a site; None where it does not show, or shows in too many tests or in no presentable way."""
    path = package.modules[site.module]
    place = (site.node, site.number)
    mutation = next((m for m in mutations(package.files[path]) if m.place == place), None)
    if mutation is None:
        return None
    files = {**package.files, path: mutation.apply(package.files[path])}
    try:
        bad = outcomes(files, package.suites)
    except Exception:  # a module cannot even be imported
        return None
    failing = tuple(test for test, outcome in bad.items() if outcome == "failed")
    passing = tuple(test for test, outcome in bad.items() if outcome == "passed")
    if not _presentable(bad, failing, passing):
        return None
    good = outcomes(package.files, package.suites)
    if set(good.values()) != {"passed"}:
        raise AssertionError(f"a package fails its own tests: {[t for t, o in good.items() if o != 'passed']}")
    example = next(filter(None, (_example(package, files, test) for test in failing)), None)
    return Bug(package, path, mutation, failing, passing, example) if example else None


def _presentable(outcome: dict[str, Outcome], failing: tuple[str, ...], passing: tuple[str, ...]) -> bool:
    covered = {test_name(test)[0] for test in passing} == {test_name(test)[0] for test in outcome}
    few = 0 < len(failing) <= MOST_FAILING and len(passing) >= FEWEST_PASSING
    return few and covered and "endless" not in outcome.values()


def _example(package: Package, files: dict[str, str], test: str) -> Example | None:
    """The first step of a test that goes otherwise in files with a bug; None where it cannot be shown."""
    path, name, method = test_name(test)
    tried = trial(package.files[path], name, method)
    runs = zip(_run(Modules(package.files), tried), _run(Modules(files), tried), strict=False)
    setup = [*tried.imports, *tried.constants]
    for step, (expected, actual) in zip(tried.steps, runs, strict=False):
        if expected != actual:
            if expected is None or actual is None:
                return None
            return Example(tuple(setup), step.code, *expected, *actual)
        if step.kind == "setup" or _changes_something(step.code, tried):
            setup.append(step.code)
    return None


def _run(modules: Modules, tried: Trial) -> Iterator[tuple[str, bool] | None]:
    """What each step does: text of its value or name of its error, and whether it is an error.

    Nothing follows an error in a statement that should have none. None stands for what cannot be shown.
    """
    scope = modules.scope()
    for line in itertools.chain(tried.imports, tried.constants):
        modules.run(line, scope)
    for step in tried.steps:
        try:
            modules.run(f"_ = {step.code}" if step.kind == "value" else step.code, scope)
        except (EndlessError, NameError):  # which NameError it is differs between versions of Python
            yield None
            return
        except Exception as error:
            yield type(error).__name__, True
            if step.kind != "error":
                return
        else:
            yield _shown(scope.get("_")) if step.kind == "value" else ("", False)


def _shown(value: object) -> tuple[str, bool] | None:
    """Text of a plain value that is short enough."""
    text = repr(value) if _is_plain(value) else ""
    return (text, False) if text and len(text) <= LONGEST_SHOWN else None


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    return isinstance(value, PLAIN)


def _changes_something(code: str, tried: Trial) -> bool:
    """Whether an expression that a test compares calls a method of something that the test made."""
    made = {step.code.partition(" = ")[0] for step in tried.steps if step.kind == "setup" and " = " in step.code}
    return "(" in code and code.partition(".")[0] in made

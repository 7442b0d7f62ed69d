"""How the tests of a row are run.

Invariant: an ``Evaluation`` of a row with an ``eval_script`` runs what the script runs between
its markers; one of a row without runs what the scripts of the same repository and version do.
"""

from __future__ import annotations

import dataclasses
import posixpath
import re
from collections.abc import Sequence
from typing import Literal

from sandgym.core import SandboxError
from sandgym.swebench.rows import Row

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
Runner = Literal["pytest", "django", "sympy", "unittest", "other"]

_PYTEST = "pytest -rA"
_EDITABLE = "python -m pip install -e ."
_DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
_SYMPY = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
_LOCALE = ("export LANG=en_US.UTF-8", "export LANGUAGE=en_US:en", "export LC_ALL=en_US.UTF-8")
# Repository to test command and installation, of every version that is not in _VERSIONS.
_COMMANDS: dict[str, tuple[str, str]] = {
    "astropy/astropy": (_PYTEST, f"{_EDITABLE}[test] --verbose"),
    "django/django": (_DJANGO, _EDITABLE),
    "marshmallow-code/marshmallow": (_PYTEST, "python -m pip install -e '.[dev]'"),
    "matplotlib/matplotlib": (_PYTEST, _EDITABLE),
    "mwaskom/seaborn": ("pytest --no-header -rA", f"{_EDITABLE}[dev]"),
    "pallets/flask": (_PYTEST, _EDITABLE),
    "psf/requests": (_PYTEST, "python -m pip install ."),
    "pvlib/pvlib-python": (_PYTEST, f"{_EDITABLE}[all]"),
    "pydata/xarray": (_PYTEST, _EDITABLE),
    "pydicom/pydicom": (_PYTEST, _EDITABLE),
    "pylint-dev/astroid": (_PYTEST, _EDITABLE),
    "pylint-dev/pylint": (_PYTEST, _EDITABLE),
    "pytest-dev/pytest": (_PYTEST, _EDITABLE),
    "pyvista/pyvista": (_PYTEST, _EDITABLE),
    "scikit-learn/scikit-learn": (
        _PYTEST,
        "python -m pip install -v --no-use-pep517 --no-build-isolation -e .",
    ),
    "sphinx-doc/sphinx": ("tox --current-env -epy39 -v --", f"{_EDITABLE}[test]"),
    "sqlfluff/sqlfluff": (_PYTEST, _EDITABLE),
    "sympy/sympy": (_SYMPY, _EDITABLE),
}
_OLD_ASTROPY = "pytest -rA -vv -o console_output_style=classic --tb=no"
# (repository, versions) to another test command, another installation or None, and exports.
_VERSIONS: tuple[tuple[str, frozenset[str], str, str | None, tuple[str, ...]], ...] = (
    ("astropy/astropy", frozenset({"0.1", "0.2", "0.3", "0.4", "1.1", "1.2", "1.3"}), _OLD_ASTROPY, None, ()),
    (
        "django/django",
        frozenset({"1.4", "1.5", "1.6", "1.7", "1.8", "1.10", "1.11", "2.0", "2.1", "2.2"}),
        _DJANGO,
        "python setup.py install",
        ("export PYTHONIOENCODING=utf8", *_LOCALE),
    ),
    ("django/django", frozenset({"1.9"}), "./tests/runtests.py --verbosity 2", "python setup.py install", _LOCALE),
    ("django/django", frozenset({"3.0", "3.1", "3.2"}), _DJANGO, None, _LOCALE),
    ("mwaskom/seaborn", frozenset({"0.11"}), "pytest --no-header -rA", _EDITABLE, ()),
)
_NOT_TESTS = (".json", ".png", ".csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
_SHOWS = ("git status", "git show", "git -c core.fileMode=false diff", "git config --global --add safe.directory")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """How to run a row's tests.

    Attributes:
        setup: shell commands before the tests, such as activating an environment and installing; for the
            row's own image only, since an environment that was made otherwise needs none.
        test: shell command that runs the tests.
        runner: what kind of command it is.
        files: test files that the command names, as paths in the repository.
    """

    setup: tuple[str, ...]
    test: str
    runner: Runner
    files: tuple[str, ...]


def patched_files(patch: str) -> tuple[str, ...]:
    """Paths that a patch leaves behind, in its order."""
    return tuple(new for old, new in file_pairs(patch) if new)


def file_pairs(patch: str) -> list[tuple[str, str]]:
    """Old and new path of each file in a git patch; empty where it is created or deleted."""
    pairs = []
    for section in re.split(r"^(?=diff --git )", patch, flags=re.MULTILINE):
        header = re.match(r"diff --git (?:\"a/(.*?)\"|a/(.*?)) (?:\"b/(.*)\"|b/(.*))\n", section)
        if header is None:
            continue
        old, new = header[1] or header[2], header[3] or header[4]
        head = section.split("\n@@", 1)[0]
        created = re.search(r"^new file mode ", head, re.MULTILINE) is not None
        deleted = re.search(r"^deleted file mode ", head, re.MULTILINE) is not None
        pairs.append(("" if created else old, "" if deleted else new))
    return pairs


def evaluation(row: Row) -> Evaluation:
    """How the tests of a row are run.

    Raises:
        SandboxError: the row has no ``eval_script`` and its repository is not in the table of test
            commands, or its script has no markers.
    """
    return _from_script(row) if row.eval_script else _from_table(row)


def _from_script(row: Row) -> Evaluation:
    before, start, rest = row.eval_script.partition(f": '{START}'\n")
    test, end, _ = rest.partition(f": '{END}'")
    if not start or not end:
        raise SandboxError(f"row {row.instance_id!r}: its eval_script does not mark the test output with {START!r}")
    setup = before.partition("git apply -v - <<")[0].splitlines()
    kept = [line for line in setup if not line.startswith(("#!", "git checkout ", "set -", *_SHOWS)) and line.strip()]
    test = test.strip()
    return Evaluation(tuple(kept), test, runner_of(test), _named_files(row, test))


def _from_table(row: Row) -> Evaluation:
    if row.repo not in _COMMANDS:
        raise SandboxError(
            f"row {row.instance_id!r} has no column 'eval_script', and no test command is known for "
            f"{row.repo!r}; known: {', '.join(_COMMANDS)}"
        )
    test, install = _COMMANDS[row.repo]
    exports: tuple[str, ...] = ()
    for repo, versions, other_test, other_install, other_exports in _VERSIONS:
        if repo == row.repo and row.version in versions:
            test, install, exports = other_test, other_install or install, other_exports
    activate = ("source /opt/miniconda3/bin/activate", "conda activate testbed", "cd /testbed")
    runner = runner_of(test)
    names = [_directive(path, runner) for path in patched_files(row.test_patch) if not path.endswith(_NOT_TESTS)]
    test = " ".join((test, *names))
    return Evaluation((*activate, *exports, install), test, runner, _named_files(row, test))


def _directive(path: str, runner: Runner) -> str:
    """A test file as the test command names it."""
    return _label(path) if runner == "django" else path


def _label(path: str) -> str:
    return path.removesuffix(".py").removeprefix("tests/").replace("/", ".")


def runner_of(test: str) -> Runner:
    """The kind of a test command."""
    if "runtests.py" in test:
        return "django"
    if re.search(r"\bbin/test\b", test):
        return "sympy"
    if re.search(r"-m unittest\b", test):
        return "unittest"
    return "pytest" if re.search(r"\b(pytest|py\.test|tox)\b", test) else "other"


def _named_files(row: Row, test: str) -> tuple[str, ...]:
    """Python files of the test patch that the command names."""
    words = set(test.split())
    return tuple(
        path
        for path in patched_files(row.test_patch)
        if path.endswith(".py") and ({path, _label(path), _dotted(path)} & words)
    )


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def with_test_file(how: Evaluation, path: str) -> str:
    """The test command with one more test file.

    Args:
        how: a row's evaluation.
        path: of the file in the repository; for Django, in a folder of its own below ``tests``.
    """
    if how.runner == "django":
        return f"{how.test} {_label(path)}"
    return f"{how.test} {_dotted(path) if how.runner == 'unittest' else path}"


def folder_of_tests(files: Sequence[str]) -> str:
    """Folder of the first test file; empty where none is named."""
    return posixpath.dirname(files[0]) if files else ""

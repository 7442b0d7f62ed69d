"""The bundled tasks: bugs in small packages, in the format of SWE-bench's rows.

Invariant: the tasks are a function of (generator version, number of tasks, seed): the same bytes
on every machine and Python version, commit hashes too. A task of a split does not depend on how
many tasks there are. The families of packages of ``test`` are in no other split; ``dev`` has
other bugs than ``train``. Each task was proven by running: at its base, the tests of
FAIL_TO_PASS fail and those of PASS_TO_PASS pass; with its patch, all pass.
"""

from __future__ import annotations

import datetime
import difflib
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from sandgym.bundled import ensure
from sandgym.core import SandboxError
from sandgym.draws import Draw
from sandgym.swebench.bugs import Bug, find_bug, sites
from sandgym.swebench.commands import END, START
from sandgym.swebench.issues_text import hints_text, issue_text
from sandgym.swebench.packages import TEST_FAMILIES, TRAIN_FAMILIES, family, render
from sandgym.swebench.repository import Commit, head_of, write_repository
from sandgym.swebench.suites import test_name, without_tests

GENERATOR_VERSION = 3
BUNDLED_TASKS: dict[str, int] = {"train": 400, "dev": 80, "test": 70}
BUNDLED_SHA256 = "677ce0d6db98079f3ad4a78cbf0f27dde721451dc6efa6728e5791c7dbd40eb9"
REPOSITORIES = "repositories"
VERSION = "1.0"
EASY, HARDER = "<15 min fix", "15 min - 1 hour"
_FIRST_NUMBER = {"train": 1000, "dev": 5000, "test": 9000}
_LOCATED = {"train": 0.85, "dev": 0.85, "test": 0.7}  # how often an issue says where the mistake is
_SOLVED = {"train": 0.75, "dev": 0.75, "test": 0.5}  # how often it then also says what the line should be
_DEV_SHARE = 0.25  # of the places for bugs
_EPOCH = 1_577_836_800  # start of 2020, in seconds since 1970
_HOUR = 3600
_END_OF_PATCH = "EOF_114329324912"


class HasId(Protocol):
    """A row, or whatever has its id and base commit."""

    @property
    def instance_id(self) -> str:
        """Of the task."""

    @property
    def base_commit(self) -> str:
        """From which it starts."""


def families(split: str) -> tuple[str, ...]:
    """Families of packages of a split."""
    return TEST_FAMILIES if split == "test" else TRAIN_FAMILIES


def _bugs(name: str, split: str, seed: int) -> Iterator[Bug]:
    """Bugs in packages of a family, each in another package; those of train and dev are different."""
    template = family(name)
    places = sites(
        render(template, Draw("first", GENERATOR_VERSION, seed, name)), Draw("sites", GENERATOR_VERSION, seed, name)
    )
    for site, _ in places:
        for_dev = Draw("pool", GENERATOR_VERSION, seed, name, site).chance(_DEV_SHARE)
        if split == "test" or for_dev == (split == "dev"):
            package = render(template, Draw("package", GENERATOR_VERSION, seed, split, name, site))
            bug = find_bug(package, site)
            if bug is not None:
                yield bug


def iter_bugs(split: str, tasks: int, seed: int = 0) -> Iterator[tuple[str, int, Bug]]:
    """The first bugs of a split; families take turns, and the first that has no more ends them.

    Args:
        split: ``"train"``, ``"dev"`` or ``"test"``.
        tasks: how many.
        seed: of all draws.

    Yields:
        Instance id, number of the task and bug.
    """
    found = {name: _bugs(name, split, seed) for name in families(split)}
    turns = itertools.cycle(families(split))
    for number, name in zip(itertools.count(_FIRST_NUMBER[split]), itertools.islice(turns, tasks), strict=False):
        bug = next(found[name], None)
        if bug is None:
            return
        yield f"bundled__{name}-{number}", number, bug


def commits_of(bug: Bug, number: int) -> list[Commit]:
    """The history of a task's repository, which never had the module without the bug."""
    hidden: dict[str, set[tuple[str, str]]] = {}
    for test in bug.failing:
        path, name, method = test_name(test)
        hidden.setdefault(path, set()).add((name, method))
    files = dict(bug.package.files) | {bug.path: bug.bad}
    files |= {path: without_tests(files[path], tests) for path, tests in hidden.items()}
    start = _EPOCH + number * 7 * _HOUR
    first = {path: text for path, text in files.items() if "/" not in path or path.endswith("__init__.py")}
    second = first | {path: text for path, text in files.items() if not path.startswith("tests/")}
    steps = ((f"Start {bug.package.name}", first), ("Add the modules", second), ("Add tests", files))
    return [Commit(message, tree, start + turn * _HOUR) for turn, (message, tree) in enumerate(steps)]


def diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The changed files of a tree as a Git patch."""
    parts = []
    for path in sorted(after):
        if before[path] != after[path]:
            lines = difflib.unified_diff(
                before[path].splitlines(keepends=True), after[path].splitlines(keepends=True), f"a/{path}", f"b/{path}"
            )
            parts.append(f"diff --git a/{path} b/{path}\n" + "".join(lines))
    return "".join(parts)


def eval_script(base: str, test_patch: str, tests: tuple[str, ...], changed: tuple[str, ...]) -> str:
    """The script that runs a task's tests, as SWE-bench writes them."""
    modules = " ".join(path.removesuffix(".py").replace("/", ".") for path in tests)
    checkout = f"git checkout {base} {' '.join(changed)}"
    return f"""\
#!/bin/bash
set -uxo pipefail
cd /testbed
git config --global --add safe.directory /testbed
git status
git show
git -c core.fileMode=false diff {base}
{checkout}
git apply -v - <<'{_END_OF_PATCH}'
{test_patch}
{_END_OF_PATCH}
: '{START}'
python -m unittest -v {modules}
: '{END}'
{checkout}
"""


def record(split: str, task_id: str, number: int, bug: Bug, commits: list[Commit], seed: int = 0) -> dict[str, Any]:
    """A task in the new schema of SWE-bench Verified, and its split."""
    draw = Draw("issue", GENERATOR_VERSION, seed, task_id)
    located = draw.chance(_LOCATED[split])
    solved = located and draw.chance(_SOLVED[split])
    base, tree = head_of(commits), commits[-1].files
    fixed = {**tree, bug.path: bug.good}
    test_patch = diff(fixed, bug.package.files)
    changed = tuple(path for path in sorted(bug.package.suites) if tree[path] != bug.package.files[path])
    created = datetime.datetime.fromtimestamp(commits[-1].seconds + 24 * _HOUR, datetime.UTC)
    simple = len(bug.good.splitlines()) == len(bug.bad.splitlines())
    return {
        "repo": f"bundled/{bug.package.family}",
        "instance_id": task_id,
        "base_commit": base,
        "patch": diff(tree, fixed),
        "test_patch": test_patch,
        "problem_statement": issue_text(bug, located, solved, draw),
        "hints_text": hints_text(bug, draw),
        "created_at": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": VERSION,
        "FAIL_TO_PASS": json.dumps(bug.failing),
        "PASS_TO_PASS": json.dumps(bug.passing),
        "environment_setup_commit": base,
        "difficulty": EASY if located and simple else HARDER,
        "eval_script": eval_script(base, test_patch, tuple(sorted(bug.package.suites)), changed),
        "log_parser": "parse_log_django",
        "eval_type": "pass_and_fail",
        "image": f"bundled:{task_id}",
        "split": split,
    }


def write_tasks(folder: Path | str, tasks: Mapping[str, int] = BUNDLED_TASKS, seed: int = 0) -> Path:
    """Write tasks: ``<split>.jsonl`` with the rows, and ``repositories/<instance id>.json`` with the histories.

    Args:
        folder: created when missing; files of these names are overwritten.
        tasks: split -> how many.
        seed: of all draws.

    Returns:
        The folder.

    Raises:
        ValueError: an unknown split, or more tasks than there are bugs.
    """
    if unknown := tasks.keys() - BUNDLED_TASKS.keys():
        raise ValueError(f"unknown splits {sorted(unknown)}; known: {', '.join(BUNDLED_TASKS)}")
    folder = Path(folder)
    (folder / REPOSITORIES).mkdir(parents=True, exist_ok=True)
    for split, count in tasks.items():
        lines = []
        for task_id, number, bug in iter_bugs(split, count, seed):
            commits = commits_of(bug, number)
            lines.append(json.dumps(record(split, task_id, number, bug, commits, seed)) + "\n")
            history = [[commit.message, commit.seconds, list(commit.files)] for commit in commits]
            document = {"files": dict(commits[-1].files), "commits": history}
            _write(folder / REPOSITORIES / f"{task_id}.json", json.dumps(document) + "\n")
        if len(lines) < count:
            raise ValueError(f"there are only {len(lines)} tasks for {split}, not {count}")
        _write(folder / f"{split}.jsonl", "".join(lines))
    return folder


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def ensure_bundled() -> Path:
    """The folder of the bundled tasks in the data root; written on first use.

    Raises:
        SandboxError: the data root cannot be written to, or the generator does not
            reproduce the tasks that this version of the package is pinned to.
    """
    return ensure("swebench", GENERATOR_VERSION, BUNDLED_SHA256, write_tasks)


def history(row: HasId, source: Path | None = None) -> list[Commit]:
    """The commits of a bundled task's repository; the last is its base.

    Args:
        row: of the task.
        source: where the tasks were written; by default the bundled ones.

    Raises:
        SandboxError: there is no such bundled task, or it is of another version.
    """
    path = (source or ensure_bundled()) / REPOSITORIES / f"{row.instance_id}.json"
    if not path.is_file():
        raise SandboxError(f"{row.instance_id} is not a bundled task: there is no {path}")
    document = json.loads(path.read_text(encoding="utf-8"))
    files: dict[str, str] = document["files"]
    commits = [
        Commit(message, {path: files[path] for path in paths}, seconds)
        for message, seconds, paths in document["commits"]
    ]
    if (head := head_of(commits)) != row.base_commit:
        raise SandboxError(f"{row.instance_id} starts at {row.base_commit}, but the bundled repository at {head}")
    return commits


def materialise(row: HasId, folder: Path, source: Path | None = None) -> Path:
    """Write the repository of a bundled task, its base commit checked out.

    Args:
        row: of the task.
        folder: empty, or missing.
        source: see ``history``.

    Returns:
        The folder.

    Raises:
        SandboxError: see ``history``.
    """
    write_repository(Path(folder), history(row, source))
    return Path(folder)

"""Attempts to be graded by other tests than the row's, found and undone.

Invariant: once everything that a ``Screening`` names is put back, test files, conftest files and
test configuration are those of the start; ``Screening.tampered`` names what no honest repair
needs. Whether a path is a test is decided by its folders and its whole name, never by the
letters "test" somewhere in it.
"""

from __future__ import annotations

import configparser
import dataclasses
import os
import posixpath
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping

from sandgym.sandboxes import Sandbox
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.snapshots import Entry
from sandgym.swebench.patch import FOLDER, run_script

TEST_FOLDERS = frozenset({"tests", "testing", "__tests__"})
_TOP_TEST_FOLDERS = frozenset({"test", "spec"})
_TEST_NAME = re.compile(r"(test_.*|.*_test|tests)\.py|runtests\.py")
_TEST_PROGRAMS = frozenset({"bin/test", "bin/doctest", "setup_test.py"})
_STARTUP = frozenset({"sitecustomize.py", "usercustomize.py"})
_TEST_CONFIGURATION = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
_HARMLESS_PTH = ("__editable__", "easy-install", "distutils-precedence", "zzz_", "__virtualenv")
# Modules that run tests; a repository's own module of such a name is left alone.
_MACHINERY = frozenset(
    {"pytest", "_pytest", "py", "pluggy", "iniconfig", "unittest", "doctest", "tox", "xdist", "coverage"}
)
# Shared configuration files, and the sections of each that tests are configured in.
_SECTIONS: dict[str, re.Pattern[str]] = {
    "setup.cfg": re.compile(r"tool:pytest|pytest"),
    "tox.ini": re.compile(r".*"),
    "pyproject.toml": re.compile(r"tool\.pytest(\..*)?|project\.entry-points\.(\"pytest11\"|pytest11)"),
}


@dataclasses.dataclass(frozen=True)
class Screening:
    """What a change does to tests.

    Attributes:
        restore: paths whose start has to be put back.
        sections: shared configuration files whose test sections have to be put back.
        tampered: what was done to be graded by other tests, in words; empty for honest work.
    """

    restore: tuple[str, ...]
    sections: tuple[str, ...]
    tampered: tuple[str, ...]


def is_test(path: str) -> bool:
    """Whether a path of a repository is a test or belongs to tests."""
    *folders, name = path.split("/")
    return (
        not TEST_FOLDERS.isdisjoint(folders)
        or bool(folders and folders[0] in _TOP_TEST_FOLDERS)
        or _TEST_NAME.fullmatch(name) is not None
        or path in _TEST_PROGRAMS
    )


def screen(
    changes: Mapping[str, Entry | None], start: Collection[str], deciding: Collection[str] = frozenset()
) -> Screening:
    """Look through what a patch changed.

    Args:
        changes: path in the repository to what is there now.
        start: paths of the repository at its start.
        deciding: files of the test patch, which are tests whatever they are called.
    """
    restore, sections, tampered = [], [], []
    for path, entry in sorted(changes.items()):
        if entry is not None and entry.kind == "folder":
            continue
        name = posixpath.basename(path)
        verb = "deleted" if entry is None else "changed" if path in start else "added"
        if name == "conftest.py" or name in _TEST_CONFIGURATION or _runs_at_startup(path):
            restore.append(path)
            tampered.append(f"{verb} {path}")
        elif (machinery := _machinery_in(path)) and not any(within(each, machinery) for each in start):
            restore.append(path)
            tampered.append(f"{verb} {path}, which stands in for what runs the tests")
        elif path in deciding or is_test(path) or _replaces_tests(path, entry, start):
            restore.append(path)
            if entry is None or entry.kind != "file":
                tampered.append(f"deleted the test {path}" if entry is None else f"made the test {path} a {entry.kind}")
        elif name in _SECTIONS:
            sections.append(path)
    return Screening(tuple(restore), tuple(sections), tuple(tampered))


def outside(sandbox: Sandbox) -> tuple[str, ...]:
    """What an agent did outside the repository to change how tests run; it is not graded, but said."""
    top = sandbox.image.workdir
    found = []
    for path, entry in sandbox.changes().items():
        if within(path, top) or (entry is None and "/__pycache__/" in path):
            continue
        parts = path.split("/")
        place = next((i for i, part in enumerate(parts) if part in ("site-packages", "dist-packages")), None)
        module = parts[place + 1].removesuffix(".py") if place is not None and place + 1 < len(parts) else ""
        if _runs_at_startup(path) or (module in _MACHINERY and entry is not None and entry.kind != "folder"):
            found.append(f"changed {path}")
    return tuple(sorted(found)[:20])


def restoring(sandbox: Sandbox, screening: Screening, start: Collection[str]) -> str:
    """The part of a script, after ``PROLOGUE``, that puts back the start of tests and of what configures them."""
    if not screening.restore:
        return ""
    sandbox.write(f"{FOLDER}/restore", _list(screening.restore))
    sandbox.write(f"{FOLDER}/tracked", _list([path for path in screening.restore if path in start]))
    return _RESTORE


_RESTORE = f"""
git read-tree HEAD
while IFS= read -r -d '' path; do rm -rf -- "$path" 2>/dev/null || true; done <{FOLDER}/restore
if [ -s {FOLDER}/tracked ]; then
  git checkout -q HEAD --pathspec-from-file={FOLDER}/tracked --pathspec-file-nul
fi
"""


def restore_sections(sandbox: Sandbox, screening: Screening, start: Collection[str]) -> tuple[str, ...]:
    """Put back the sections of shared configuration files that configure tests.

    Returns:
        What had been done to them, in words.
    """
    changed = [path for path in screening.sections if _restore_sections(sandbox, path, path in start)]
    return tuple(f"changed the test sections of {path}" for path in changed)


def _restore_sections(sandbox: Sandbox, path: str, existed: bool) -> bool:
    """Whether the test sections of a file had to be put back."""
    place = f"{sandbox.image.workdir}/{path}"
    try:
        now = sandbox.read(place).decode("utf-8", "surrogateescape")
    except (FileNotFoundError, IsADirectoryError):
        now = ""
    before = ""
    if existed:
        sandbox.write(f"{FOLDER}/name", os.fsencode(path))
        run_script(sandbox, f'cd "$1" && git cat-file blob "HEAD:./$(cat {FOLDER}/name)" >{FOLDER}/content')
        before = sandbox.read(f"{FOLDER}/content").decode("utf-8", "surrogateescape")
    merged = merge_sections(posixpath.basename(path), before, now)
    if merged == now:
        return False
    sandbox.write(place, merged.encode("utf-8", "surrogateescape"))
    return True


def merge_sections(name: str, before: str, now: str) -> str:
    """A configuration file as it is now, with the sections that configure tests as they were before."""
    wanted = _SECTIONS[name]
    old, new = _split(before), _split(now)
    old_tests = [text for section, text in old if wanted.fullmatch(section)]
    new_tests = [text for section, text in new if wanted.fullmatch(section)]
    if _meaning(name, old_tests) == _meaning(name, new_tests) and (
        not name.endswith(".toml") or _toml_tests(now) == _toml_tests(before)
    ):
        return now
    kept = "".join(text for section, text in new if not wanted.fullmatch(section))
    joint = "" if not kept or kept.endswith("\n") else "\n"
    merged = kept + joint + "".join(old_tests)
    return merged if not name.endswith(".toml") or _toml_tests(merged) == _toml_tests(before) else before


_HEADER = re.compile(r"^[ \t]*\[\[?[ \t]*([^\[\]\n]+?)[ \t]*\]\]?[^\n]*$", re.MULTILINE)


def _split(text: str) -> list[tuple[str, str]]:
    """Sections of an ini or TOML file as (name, text with its header), what comes before the first as ''."""
    heads = list(_HEADER.finditer(text))
    starts = [0, *(head.start() for head in heads)]
    names = ["", *(re.sub(r"\s*\.\s*", ".", head[1]) for head in heads)]
    ends = [*starts[1:], len(text)]
    return [(name, text[a:b]) for name, a, b in zip(names, starts, ends, strict=True) if text[a:b]]


def _meaning(name: str, sections: list[str]) -> object:
    """What sections say, apart from blanks and comments."""
    text = "".join(sections)
    if name.endswith(".toml"):
        return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return text
    return {section: dict(parser.items(section)) for section in parser.sections()}


def _toml_tests(text: str) -> object:
    """The configuration of tests in a TOML file, however its keys are spelt."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeError):
        return "unreadable"
    tools, project = document.get("tool", {}), document.get("project", {})
    points = project.get("entry-points", {}) if isinstance(project, dict) else {}
    return (
        tools.get("pytest") if isinstance(tools, dict) else tools,
        points.get("pytest11") if isinstance(points, dict) else points,
    )


def _list(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _runs_at_startup(path: str) -> bool:
    """Whether Python runs a file of this name whenever it starts."""
    name = posixpath.basename(path)
    return name in _STARTUP or (name.endswith(".pth") and not name.startswith(_HARMLESS_PTH))


def _machinery_in(path: str) -> str:
    """The module below the repository's import roots that is named like one that runs tests; its path, or ''."""
    parts = path.split("/")
    root = 1 if parts[0] in ("src", "lib") else 0
    if len(parts) <= root:
        return ""
    module = parts[root]
    if module.endswith((".egg-info", ".dist-info")) and posixpath.basename(path) == "entry_points.txt":
        return path
    return "/".join(parts[: root + 1]) if module.removesuffix(".py") in _MACHINERY else ""


def _replaces_tests(path: str, entry: Entry | None, start: Collection[str]) -> bool:
    """Whether something that is no folder stands where a folder with tests was."""
    return entry is not None and any(within(each, path) and each != path and is_test(each) for each in start)

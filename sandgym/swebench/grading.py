"""Grading: a patch in a fresh copy of the repository, with the tests of the row.

Invariant: what is graded is the patch and nothing else of the place where it was made; tests and
their configuration are those of the start and of the row's test patch. A failure of this machine
is an exception, never a verdict.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shlex

from sandgym.core import SandboxError
from sandgym.sandboxes import DockerImage, Sandbox
from sandgym.swebench import tampering
from sandgym.swebench.commands import Evaluation, evaluation, file_pairs
from sandgym.swebench.controls import controls, objection
from sandgym.swebench.logparsers import parser_of
from sandgym.swebench.patch import FOLDER, PROLOGUE, PatchError, ScriptError, applying, repository_changes, run_script
from sandgym.swebench.rows import Row
from sandgym.swebench.verdict import Verdict, named_by_older_python, verdict

TEST_SECONDS = 1800.0
_LOG_BLOCKS = 64 << 10  # of 1024 bytes: more output than that ends the writer
_OLD_PYTHON = (
    "the row's test names are those of Python before 3.11, but the tests ran on a newer one: they count as missing"
)


@dataclasses.dataclass(frozen=True)
class Grade:
    """What a patch earned.

    Attributes:
        verdict: on the row's tests.
        tampered: what was done to be graded by other tests, in words.
        restored: paths that were put back before the tests ran.
        timed_out: whether the tests took too long.
        warnings: why the verdict may be wrong.
        log: the output of the tests.
        believed: False when the output contradicts the control tests.
    """

    verdict: Verdict
    tampered: tuple[str, ...]
    restored: tuple[str, ...]
    timed_out: bool
    warnings: tuple[str, ...]
    log: str
    believed: bool = True

    @property
    def resolved(self) -> bool:
        """Whether the issue is resolved: every test passes, in output that can be believed."""
        return self.verdict.resolved and self.believed


def grade(row: Row, patch: bytes, clean: Sandbox, timeout: float = TEST_SECONDS) -> Grade:
    """Grade a patch.

    Args:
        row: the task.
        patch: a Git patch; may be empty.
        clean: a sandbox at the start of the task, where the patch was not made; it is changed.
        timeout: seconds that the tests may take.

    Raises:
        PatchError: the patch does not apply.
        SandboxError: this machine failed, or the row cannot be graded.
    """
    how = evaluation(row)
    parse = parser_of(row.log_parser, row.repo, how.runner)
    start = _apply(clean, patch)
    if isinstance(clean.image, DockerImage):  # with what was changed, as the reference does
        _install(clean, how)
    screening = tampering.screen(repository_changes(clean) if patch else {}, start, _deciding(row))
    tampered = (*screening.tampered, *tampering.restore_sections(clean, screening, start))
    try:
        run_script(
            clean, PROLOGUE + tampering.restoring(clean, screening, start) + applying(clean, row.test_patch.encode())
        )
    except ScriptError as error:
        raise SandboxError(f"row {row.instance_id!r}: its test patch does not apply to its base: {error}") from error
    added = controls(how)
    for path, content in (added.files if added else {}).items():
        clean.write(f"{clean.image.workdir}/{path}", content.encode())
    log, timed_out = _run(clean, added.command if added else how.test, timeout)
    statuses = parse(log)
    found = verdict(row, statuses)
    doubt = objection(added, statuses, found.resolved) if added else ""
    return Grade(
        verdict=found,
        tampered=tampered + ((doubt,) if doubt else ()),
        restored=screening.restore,
        timed_out=timed_out,
        warnings=(_OLD_PYTHON,) if named_by_older_python(row, statuses) else (),
        log=log,
        believed=not doubt,
    )


def _apply(clean: Sandbox, patch: bytes) -> frozenset[str]:
    """Apply a patch; the paths that the repository had before."""
    listing = f"git ls-tree -rz --name-only HEAD >{FOLDER}/files\n"
    clean.write(f"{FOLDER}/files", b"")
    try:
        run_script(clean, PROLOGUE + listing + applying(clean, patch))
    except ScriptError as error:
        raise PatchError(f"the patch does not apply: {error}") from error
    return frozenset(os.fsdecode(clean.read(f"{FOLDER}/files")).split("\0")) - {""}


def _deciding(row: Row) -> frozenset[str]:
    """Every path of the test patch, before and after."""
    return frozenset(path for pair in file_pairs(row.test_patch) for path in pair if path)


def _install(sandbox: Sandbox, how: Evaluation) -> None:
    """Activate the image's environment and install the repository as the row's script does.

    That may fail, as in the reference, where the network is needed and nothing has to be built.
    """
    sandbox.run("\n".join(how.setup), TEST_SECONDS)


def _run(sandbox: Sandbox, command: str, timeout: float) -> tuple[str, bool]:
    """Run the tests; their output and whether the time was up."""
    path = f"{FOLDER}/{secrets.token_hex(8)}"
    folder = shlex.quote(sandbox.image.workdir)
    script = f"cd {folder}\nulimit -f {_LOG_BLOCKS}\nmkdir -p {FOLDER}\n{{\n{command}\n}} >{path} 2>&1 </dev/null"
    result = sandbox.run(script, timeout)
    try:
        log = sandbox.read(path)
    except (FileNotFoundError, IsADirectoryError):
        log = b""
    return log.decode("utf-8", "replace"), result.timed_out

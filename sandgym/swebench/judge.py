"""From a workspace to a reward.

Invariant: the reward is 1 exactly when the issue is resolved, else 0; a failure of this machine
is an exception. A process grades a patch of a task once: from the same start it earns the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import OrderedDict
from typing import Any, NamedTuple

from sandgym.swebench import tampering
from sandgym.swebench.grading import Grade, grade
from sandgym.swebench.patch import PatchError, agent_patch
from sandgym.swebench.rows import Row
from sandgym.swebench.workspace import Workspace

_KEPT = 4096
_GRADES: OrderedDict[tuple[str, str, bytes, float], Grade] = OrderedDict()  # by row, start, patch and time; no logs


class Judgement(NamedTuple):
    """What submitting earned.

    Attributes:
        reward: 1 or 0.
        info: see ``env.SWEbenchVerifiedEnv``.
    """

    reward: float
    info: dict[str, Any]


class Judge:
    """Grades workspaces.

    Args:
        timeout: seconds that the tests may take.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    def __call__(self, row: Row, workspace: Workspace) -> Judgement:
        """Grade what an agent left.

        Raises:
            SandboxError: this machine failed.
        """
        outside = tampering.outside(workspace.sandbox)
        try:
            with workspace.clean() as clean:
                patch = agent_patch(workspace.sandbox, clean)
            graded = self._grade(row, patch, workspace)
        except PatchError as error:
            return Judgement(0.0, _info(outside, patch_error=str(error)))
        found = graded.verdict
        before: frozenset[str] = frozenset()
        if found.now_passing and len(found.now_passing) != len(found.fail_to_pass):
            before = self._grade(row, b"", workspace).verdict.now_passing
        reward = float(graded.resolved)
        info = _info(
            (*outside, *graded.tampered),
            success=graded.resolved,
            score=reward,
            resolved=graded.resolved,
            patch=patch.decode("utf-8", "surrogateescape"),
            fail_to_pass_fraction=found.progress(before),
            pass_to_pass_fraction=found.kept,
            restored=graded.restored,
            tests_timed_out=graded.timed_out,
            warnings=graded.warnings,
        )
        return Judgement(reward, info)

    def _grade(self, row: Row, patch: bytes, workspace: Workspace) -> Grade:
        key = (row.hash, workspace.start_digest, hashlib.sha256(patch).digest(), self._timeout)
        if (known := _GRADES.get(key)) is not None:
            return known
        with workspace.clean() as clean:
            graded = dataclasses.replace(grade(row, patch, clean, self._timeout), log="")
        if not graded.timed_out:  # which a busy machine may be to blame for
            _GRADES[key] = graded
            if len(_GRADES) > _KEPT:
                _GRADES.popitem(last=False)
        return graded


def _info(tampered: tuple[str, ...], **told: Any) -> dict[str, Any]:
    """``info`` of a submission, with what holds where nothing was graded."""
    return {
        "resolved": False,
        "patch": "",
        "fail_to_pass_fraction": 0.0,
        "pass_to_pass_fraction": 0.0,
        "tampered": tampered,
        "restored": (),
        "tests_timed_out": False,
        "warnings": (),
        "patch_error": None,
        **told,
    }

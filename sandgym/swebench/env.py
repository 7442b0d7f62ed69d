"""SWE-bench Verified as an environment: repair a repository with bash until its hidden tests pass.

Invariant: an episode is a function of the task and the commands; the reward is that of a patch
in a fresh sandbox, and nothing hidden in a row reaches an observation, ``info`` or the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium import spaces

from sandgym.core import Expert, SandboxError, Snapshot, SnapshotMismatch, SnapshottableEnv, reject_unknown
from sandgym.sandboxes import Limits, Sandbox
from sandgym.swebench.episode import SUBMIT, Episode, SandboxedSnapshot, observation_of, submits
from sandgym.swebench.judge import Judge, Judgement
from sandgym.swebench.rows import Row, select
from sandgym.swebench.tasks import Tasks
from sandgym.swebench.workspace import SandboxOptions, Workspace
from sandgym.swebench.world import load_world
from sandgym.text import UnicodeText

INSTRUCTIONS = f"""\
You are in a repository of Python code, in /testbed. Resolve the issue that the first observation describes, by \
changing the code; tests that you do not see decide. Leave existing tests and their configuration alone: they are put \
back before the tests run.
Each turn, answer with one bash command. It starts in the folder, and with the exported variables, that the one before \
ended with; background processes are ended, and there is no network. You see its return code and its output, of which \
the middle is left out when it is long.
When the issue is resolved, submit your work with
echo {SUBMIT}
This ends the episode. The reward is 1 if the issue is resolved, else 0."""
ON_FAILURE = ("raise", "truncate")
_KNOWN = (
    *("data", "split", "max_steps", "backend", "timeout", "test_timeout", "ids", "repos", "difficulty", "checkouts"),
    *("limits", "network", "unconfined", "on_failure", "render_mode"),
)


class SWEbenchVerifiedEnv(SnapshottableEnv[str, str]):
    """SWE-bench Verified (Jimenez et al., 2024) as a snapshottable environment.

    An action is one bash command. A command whose first line of output is
    ``COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`` submits: everything in the working tree that
    differs from the start is the patch that is graded.

    ``info`` adds ``data``, ``backend``, ``returncode`` (None after a time-out and at the start),
    ``timed_out``, ``output_truncated``; and after submitting ``resolved``, ``patch``,
    ``fail_to_pass_fraction`` (of tests that did not pass already), ``pass_to_pass_fraction``,
    ``tampered`` (what was done to be graded by other tests), ``restored`` (paths that were put
    back), ``tests_timed_out``, ``warnings`` and ``patch_error``.

    Differences from the official harness: conftest files, test configuration and all test files
    are put back before grading, and control tests run with the row's, so that output that was
    made up is not believed; a name that the row's authors cut short is matched with the tests that it
    may mean. Times and addresses in observations are made equal, so that episodes can be replayed.

    Args:
        data: ``"bundled"``, ``"official"`` or files of rows (see ``world.load_world``).
        split: ``"train"``, ``"dev"``, ``"test"`` (the only official one) or ``"all"``.
        max_steps: actions after which the episode is truncated.
        backend: of the sandboxes; see ``sandboxes.open_sandbox``.
        timeout: seconds for each command.
        test_timeout: seconds for the hidden tests.
        ids: only these tasks.
        repos: only tasks of these repositories.
        difficulty: only tasks of these difficulties.
        checkouts: folder of checkouts to use instead of Docker images (see ``images.FolderImages``).
        limits: of commands (see ``sandboxes.Limits``); ``timeout`` takes the place of its own.
        network: whether commands reach the network.
        unconfined: see ``sandboxes.open_sandbox``.
        on_failure: what ``step`` does when this machine fails: ``"raise"`` a ``SandboxError``, or
            ``"truncate"`` with ``info["infra_error"]``. The episode is over in either case.
        render_mode: ``"ansi"`` or nothing.

    Raises:
        TypeError: an unknown argument.
        ValueError: an unknown split, id, repository, difficulty or mode.
        SandboxError: missing or damaged data.
    """

    instructions = INSTRUCTIONS
    metadata = {  # noqa: RUF012  Gymnasium's own
        "render_modes": ["ansi"],
        "render_fps": 4,
        "case_sensitive": True,
        "runs_processes": True,
    }
    reward_version = "swebench-1"

    def __init__(
        self,
        data: str | Path = "bundled",
        split: str = "train",
        max_steps: int = 40,
        backend: str = "auto",
        timeout: float = 60.0,
        test_timeout: float = 1800.0,
        ids: Iterable[str] | None = None,
        repos: Iterable[str] | None = None,
        difficulty: Iterable[str] | None = None,
        checkouts: str | Path | None = None,
        limits: Limits | None = None,
        network: bool = False,
        unconfined: bool = False,
        on_failure: str = "raise",
        render_mode: str | None = None,
        **unknown: Any,
    ) -> None:
        self._workspace: Workspace | None = None  # first, so that close() works after a failure
        reject_unknown(unknown, _KNOWN, "SWE-bench argument")
        for name, value, known in (
            ("on_failure", on_failure, ON_FAILURE),
            ("render_mode", render_mode, (None, "ansi")),
        ):
            if value not in known:
                raise ValueError(f"unknown {name} {value!r}; known: {', '.join(map(repr, known))}")
        if max_steps < 1 or min(timeout, test_timeout) <= 0:
            raise ValueError("max_steps and the time limits must be positive")
        self._world = load_world(data, checkouts)
        self._split = self._world.split(split)
        self._tasks = Tasks(select(tuple(self._split.rows.values()), ids, repos, difficulty))
        self._options = SandboxOptions(backend, limits, network, unconfined)
        self._timeout = timeout
        self._judge = Judge(test_timeout)
        self._on_failure = on_failure
        self.max_steps = max_steps
        self.render_mode = render_mode
        self.observation_space: spaces.Space[str] = UnicodeText()
        self.action_space: spaces.Space[str] = UnicodeText()
        told = (split, self._tasks.ids, max_steps, timeout, test_timeout, limits or Limits(), network)
        self.world = f"sandgym/SWEbenchVerified-v0 {self._split.key} {told!r}"
        self._episode: Episode | None = None
        self._last: tuple[str, dict[str, Any]] = ("", {})
        self._seed: int | None = None
        self._draws = 0

    # The data.

    @property
    def data(self) -> str:
        """Which data set is played: ``"bundled"``, ``"official"`` or a path."""
        return self._world.data

    @property
    def data_hash(self) -> str:
        """Hash of the split's ids and rows, the same on every machine."""
        return self._split.key

    @property
    def task_ids(self) -> Sequence[str]:
        """Instance ids of the tasks, in order."""
        return self._tasks.ids

    def task_hash(self, task_id: str) -> str:
        """Hash of a task's row; ``KeyError`` for a task of another split."""
        return self._tasks.row(task_id).hash

    @property
    def row(self) -> Row:
        """The row of the present episode, with everything that agents must not see."""
        return self._tasks.rows[self._present().task]

    @property
    def last(self) -> tuple[str, dict[str, Any]]:
        """The observation and ``info`` that the last reset or step returned."""
        self._present()
        return self._last

    @property
    def sandbox(self) -> Sandbox:
        """Where the agent works."""
        self._present()
        assert self._workspace is not None
        return self._workspace.sandbox

    def expert(self, *, noise: float = 0.0, seed: int = 0) -> Expert:
        """See ``SnapshottableEnv.expert``."""
        from sandgym.swebench.expert import SWEbenchExpert

        return SWEbenchExpert(self, noise, seed)

    # Gymnasium's interface.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; ``options={"task": id or index}`` chooses the task.

        Raises:
            TypeError: unknown options, or a task that is neither a string nor an integer.
            LookupError: no such task in this split.
            SandboxError: the sandbox could not be opened.
        """
        options = options or {}
        reject_unknown(options, ("task",), "reset option")
        task = self._tasks.index(options["task"]) if "task" in options else None
        if seed is not None:
            super().reset(seed=seed)
            self._seed, self._draws = seed, 0
        elif self._seed is None:
            self._seed = int(self.np_random_seed)
        assert self._seed is not None
        key = (self._seed, self._draws)
        self._draws += 1
        if task is None:
            task = int(np.random.default_rng(key).integers(len(self._tasks.ids)))
        row = self._tasks.rows[task]
        self._episode = None  # until the sandbox is there
        self._open(row).start_again()
        self._episode = Episode(task, 0, False, self._seed, self._draws)
        told = {"returncode": None, "timed_out": False, "output_truncated": False}
        return self._enter(f"The repository is in /testbed. The issue:\n\n{row.problem_statement}", told)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run a command; one that cannot be run costs a step and changes nothing.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end.
            TypeError: the action is not a string.
            SandboxError: this machine failed (see ``on_failure``).
        """
        episode = self._present()
        if episode.over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        if not isinstance(action, str):
            raise TypeError(f"an action is a string, not {type(action).__name__}")
        assert self._workspace is not None
        self._episode = episode = episode._replace(step=episode.step + 1)
        judgement: Judgement | None = None
        try:
            result = self._workspace.sandbox.run(action, self._timeout)
            if submits(result):
                judgement = self._judge(self.row, self._workspace)
        except SandboxError as error:
            return self._fail(error)
        terminated = judgement is not None
        truncated = not terminated and episode.step >= self.max_steps
        self._episode = episode._replace(over=terminated or truncated)
        told = {
            "returncode": result.returncode,
            "timed_out": result.timed_out,
            "output_truncated": result.truncated,
            **(judgement.info if judgement else {}),
        }
        observation, info = self._enter(observation_of(result, self._timeout), told)
        return observation, judgement.reward if judgement else 0.0, terminated, truncated, info

    def render(self) -> str | None:  # type: ignore[override]
        """The last observation in render mode ``"ansi"``, else nothing."""
        return self._last[0] if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Remove the sandbox; snapshots stay until the process ends. May be called twice."""
        workspace, self._workspace, self._episode = self._workspace, None, None
        if workspace is not None:
            workspace.close()

    # The contract.

    def snapshot(self) -> SandboxedSnapshot:
        """See ``SnapshottableEnv.snapshot``; saves the files of the sandbox."""
        episode = self._present()
        assert self._workspace is not None
        return SandboxedSnapshot(self.world, episode, self._last, *self._workspace.save())

    def restore(self, snapshot: Snapshot) -> tuple[str, dict[str, Any]]:
        """See ``SnapshottableEnv.restore``; needs the process that made the snapshot to live."""
        if snapshot.world != self.world or not isinstance(snapshot, SandboxedSnapshot):
            raise SnapshotMismatch(f"snapshot of {snapshot.world!r} given to an environment of {self.world!r}")
        episode: Episode = snapshot.state
        self._open(self._tasks.rows[episode.task]).sandbox.restore(snapshot.sandbox)
        self._episode, self._last = episode, snapshot.last
        self._seed, self._draws = episode.seed, episode.draws
        observation, info = snapshot.last
        return observation, dict(info)

    def fork(self, k: int) -> list[Self]:
        """See ``SnapshottableEnv.fork``; each has a sandbox of its own."""
        if k < 0:
            raise ValueError(f"cannot fork {k} environments")
        self._present()
        assert self._workspace is not None
        return [self._copy(workspace) for workspace in self._workspace.fork(k)]

    def _copy(self, workspace: Workspace) -> Self:
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone._np_random = None
        clone._workspace = workspace
        return clone

    def _present(self) -> Episode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._episode

    def _open(self, row: Row) -> Workspace:
        """A workspace of a row: the present one, if it is, whatever state it is in."""
        if self._workspace is None or self._workspace.row != row or not self._workspace.usable:
            if self._workspace is not None:
                self._workspace.close()
                self._workspace = None
            images = self._world.images
            self._workspace = Workspace(row, images.image(row), self._options, images.pristine)
        return self._workspace

    def _fail(self, error: SandboxError) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """The end of an episode whose sandbox failed."""
        assert self._workspace is not None
        self._workspace.usable = False
        self._episode = self._present()._replace(over=True)
        said = f"{type(error).__name__}: {error}"
        told = {"returncode": None, "timed_out": False, "output_truncated": False, "infra_error": said}
        observation, info = self._enter(f"The sandbox failed.\n{said}", told)
        if self._on_failure == "raise":
            raise error
        return observation, 0.0, False, True, info

    def _enter(self, observation: str, told: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        episode = self._present()
        assert self._workspace is not None
        info = {
            "task_id": self._tasks.ids[episode.task],
            "step": episode.step,
            "success": False,
            "score": 0.0,
            "data": self._world.data,
            "backend": self._workspace.sandbox.backend,
            **told,
        }
        self._last = (observation, info)
        return observation, dict(info)

"""A demonstrator for the bundled tasks: looks, edits, tests, submits; perfect, or with slips.

Invariant: an action is a function of (seed, noise, task, step, last observation, content of the
file with the mistake). The expert keeps nothing between calls, so that it plays on from any state
that an environment is put in. What an agent wrote is read and never run.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import gymnasium

from sandgym.draws import Draw
from sandgym.swebench.edits import line_command, patched, sed_command
from sandgym.swebench.episode import SUBMIT
from sandgym.swebench.generate import history
from sandgym.swebench.mutations import mutations
from sandgym.swebench.proof import outcomes
from sandgym.swebench.rows import Row

if TYPE_CHECKING:
    from sandgym.swebench.env import SWEbenchVerifiedEnv

TEST = "python -m unittest 2>&1 | tail -1"
SUBMIT_COMMAND = f"echo {SUBMIT}"
LINES_AFTER = 12  # that a look at a function shows
WRONG_EDITS = 40  # that a slip chooses among
DAWDLES = ("ls", "pwd", "git status --short", "git diff --stat")
SLIPS = 1 / 8  # how often it slips, as a share of the noise
_IMPORT = re.compile(r"^from ([\w.]+) import", re.MULTILINE)


class Task(NamedTuple):
    """What the expert knows of a task.

    Attributes:
        path: of the file with the mistake.
        bad: the file at the base.
        good: the file with the reference solution.
        function: name of the function that the mistake is in; empty outside of any.
        span: first and last line that an edit names, from 1.
        named: whether the issue names the file.
        imported: paths of the modules that the issue imports, where it does not lead to the file.
        told: the command that makes the line say what the issue says that it should; empty where it does not.
        files: the repository at the base.
    """

    path: str
    bad: str
    good: str
    function: str
    span: tuple[int, int]
    named: bool
    imported: tuple[str, ...]
    told: str
    files: Mapping[str, str]

    @property
    def others(self) -> list[str]:
        """Paths of the other modules of the package."""
        return [p for p in self.files if p.endswith(".py") and not p.startswith("tests/") and "__init__" not in p
                and p != self.path]  # fmt: skip


class SWEbenchExpert:
    """Solves bundled tasks by a look at the code, one ``sed`` and a test run.

    Where the issue says what a line should be, it writes that. Else, where the issue names the function, it looks at
    that alone, and else at the modules that the issue imports and then at the one with the mistake. What it did wrong
    it takes back with ``git checkout``.

    Args:
        env: the environment that it plays in.
        noise: 0 plays perfectly. Otherwise it dawdles with this probability at each step after its first: it looks
            round, and loses a step. When it does not, it submits without a test run with the same probability, and
            slips with an eighth of it: it looks at another file first, or makes an edit in the function that breaks
            tests.
        seed: of the slips.

    Attributes:
        slipped: see ``core.Expert``.

    Raises:
        ValueError: ``noise`` is not in [0, 1].
        gymnasium.error.Error: the tasks are not the bundled ones.
    """

    def __init__(self, env: SWEbenchVerifiedEnv, noise: float = 0.0, seed: int = 0) -> None:
        if not 0 <= noise <= 1:
            raise ValueError(f"noise is a probability, not {noise}")
        if env.data != "bundled":
            raise gymnasium.error.Error("the expert knows the bundled tasks only")
        self._env = env
        self._noise = noise
        self._seed = seed
        self.slipped = False

    def act(self) -> str:
        """The next command in the environment's present state.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset, and after the end.
        """
        observation, info = self._env.last
        step = int(info["step"])
        if "resolved" in info or step >= self._env.max_steps:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        self.slipped = False
        if step and self._noise and (idle := self._draw("dawdle", step)).chance(self._noise):
            return idle.pick(DAWDLES)
        if self._env.sandbox.cwd != self._env.sandbox.image.workdir:
            return f"cd {self._env.sandbox.image.workdir}"
        task, left = _task_of(self._env.row), self._env.max_steps - step
        text = self._text(task.path)
        if left == 1:
            return SUBMIT_COMMAND
        if left > 4 and any(self._text(path) != task.files[path] for path in task.files if path != task.path):
            return self._restore(".", observation)
        if text == task.good:
            tested = observation.rstrip().endswith("OK") or left == 2 or self._draw("haste").chance(self._noise)
            return SUBMIT_COMMAND if tested else TEST
        if left <= 3:
            return self._hurry(task, text, observation)
        if text != task.bad:
            seen = re.search(r"\b(OK|FAILED)\b", observation) is not None
            return self._restore(task.path, observation) if seen or not text else TEST
        if task.told or _shows(observation, task):
            return self._edit(task, step)
        return self._look(task, step, observation)

    # Looking.

    def _look(self, task: Task, step: int, observation: str) -> str:
        slip = self._draw("look", step)
        if step == 0 and slip.chance(self._noise * SLIPS):
            self.slipped = True
            return f"cat -n {slip.pick(task.others)}"
        if task.named and task.function:
            name = task.function.rpartition(".")[2]
            show = f"grep -n -A {LINES_AFTER} 'def {name}(' {task.path}"
            if not _grepped(observation, name) and task.span[0] - _line_of(task) <= LINES_AFTER:
                return show
        unseen = [path for path in task.imported if not _seen(task.files[path], observation)]
        return f"cat -n {unseen[0]}" if unseen and step < 2 else f"cat -n {task.path}"

    # Editing.

    def _edit(self, task: Task, step: int) -> str:
        right = task.told or sed_command(task.path, task.bad, task.good)
        slip = self._draw("edit", step)
        if step < self._env.max_steps // 2 and slip.chance(self._noise * SLIPS):
            wrong = [m.apply(task.bad) for m in mutations(task.bad) if m.function == task.function]
            for text in slip.sample(wrong, WRONG_EDITS):
                command = sed_command(task.path, task.bad, text)
                if command != right and len(command) <= len(right) + 10 and _breaks(task, text):
                    self.slipped = True
                    return command
        return right

    def _hurry(self, task: Task, text: str, observation: str) -> str:
        """The right edit at once; a learner who has not seen what it takes should not imitate it."""
        if not text:
            return self._restore(task.path, observation)
        self.slipped = text != task.bad or not (task.told or _shows(observation, task))
        return task.told if task.told and text == task.bad else sed_command(task.path, text, task.good)

    # What decisions depend on.

    def _restore(self, path: str, observation: str) -> str:
        """The command that takes changes back: from the index, from HEAD or, where they are in both, from the base."""
        if re.search(r"^Updated \d+ paths? from the index", observation, re.MULTILINE):
            return f"git checkout HEAD {path}"
        if re.search(r"^(Updated \d+ paths? from|error: pathspec)", observation, re.MULTILINE):
            return f"git checkout {self._env.row.base_commit} {path}"
        return f"git checkout {path}"

    def _text(self, path: str) -> str:
        """Content of a file; empty where it is no more."""
        sandbox = self._env.sandbox
        try:
            return sandbox.read(f"{sandbox.image.workdir}/{path}").decode("utf-8", "replace")
        except OSError:
            return ""

    def _draw(self, *name: object) -> Draw:
        return Draw("expert", self._seed, self._env.row.instance_id, *name)


@functools.lru_cache(maxsize=64)
def _task_of(row: Row) -> Task:
    files = history(row)[-1].files
    path = re.findall(r"^\+\+\+ b/(.+)$", row.patch, re.MULTILINE)[0]
    bad, good = files[path], patched(files[path], row.patch)
    before, after = bad.splitlines(), good.splitlines()
    first = next(n for n in range(len(after)) if before[n : n + 1] != after[n : n + 1])
    same = next(
        n for n in range(len(before) - first + 1) if n == len(before) - first or before[-1 - n] != after[-1 - n]
    )
    span = (max(first, 1), max(first, len(before) - same))  # an insertion names the line before it
    if len(after) == len(before):
        span = (first + 1, len(before) - same)
    imported = [f"{module.replace('.', '/')}.py" for module in _IMPORT.findall(row.problem_statement)]
    named = path in row.problem_statement
    unhelpful = () if named or path in imported else tuple(dict.fromkeys(imported))
    line, number = after[first].strip(), first + 1
    told = f"`{path}:{number}`" in row.problem_statement and f"`{line}`" in row.problem_statement
    command = line_command(path, number, line) if told else ""
    return Task(path, bad, good, _function_at(bad, span[0] - 1), span, named, unhelpful, command, files)


def _breaks(task: Task, text: str) -> bool:
    """Whether tests that the agent sees fail when the file has this text, and none runs forever."""
    suites = tuple(path for path in task.files if path.startswith("tests/test_"))
    try:
        found = set(outcomes({**task.files, task.path: text}, suites).values())
    except Exception:  # a module cannot be imported
        return True
    return "failed" in found and "endless" not in found


def _seen(text: str, observation: str) -> bool:
    """Whether an observation shows a text with numbers, from its first line on."""
    return re.search(rf"^ +1\t{re.escape(text.partition(chr(10))[0])}$", observation, re.MULTILINE) is not None


def _function_at(text: str, line: int) -> str:
    """Name of the function (``Class.method``) that a line, from 0, is in or just behind; empty outside of any."""
    found = ""
    for node in ast.walk(ast.parse(text)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef) and child.lineno - 1 <= line <= (child.end_lineno or child.lineno):
                found = f"{node.name}.{child.name}" if isinstance(node, ast.ClassDef) else child.name
    return found


def _line_of(task: Task) -> int:
    """First line of the function with the mistake, from 1."""
    name = task.function.rpartition(".")[2]
    before = task.bad.splitlines()[: task.span[1]]
    return max((n for n, line in enumerate(before, 1) if re.match(rf"\s*def {name}\(", line)), default=1)


def _shows(observation: str, task: Task) -> bool:
    """Whether an observation shows, with numbers, the lines that the edit needs."""
    lines = task.bad.splitlines()
    needed = range(task.span[0], min(task.span[1], len(lines)) + 1)
    return all(re.search(rf"^ *{n}[\t:-]{re.escape(lines[n - 1])}$", observation, re.MULTILINE) for n in needed)


def _grepped(observation: str, name: str) -> bool:
    """Whether an observation is what ``grep`` finds of a function."""
    return re.search(rf"^\d+: *def {name}\(", observation, re.MULTILINE) is not None

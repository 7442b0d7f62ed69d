"""What an episode of SWE-bench is made of, besides the sandbox.

Invariant: everything here is immutable; equal states have equal digests on every backend, in
every process.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sandgym.core import Snapshot, digest_of
from sandgym.sandboxes import CommandResult, SandboxSnapshot

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
# What a clock or the place of an object in memory puts into the output of common tools.
_MOMENTARY = (
    (re.compile(r"\b(in|took) \d+(?:\.\d+)? ?(s|seconds)\b(?: \(\d+:\d\d:\d\d\))?"), r"\1 0.00\2"),
    (re.compile(r"\bat 0x[0-9a-f]{6,16}\b"), "at 0x0"),
)


class Episode(NamedTuple):
    """The mutable part of an environment besides its sandbox, as one immutable value.

    Attributes:
        task: index in the split.
        step: actions since the reset.
        over: whether it has ended.
        seed: of the environment.
        draws: resets since it was seeded.
    """

    task: int
    step: int
    over: bool
    seed: int
    draws: int


class SandboxedSnapshot(Snapshot):
    """A snapshot whose state is an ``Episode`` and a saved sandbox.

    Attributes:
        sandbox: the saved files; kept by the process that made them.
        index: path of Git's index and its digest without times, where it differs from the start's.
    """

    __slots__ = ("index", "sandbox")

    sandbox: SandboxSnapshot
    index: tuple[str, str] | None

    def __init__(
        self,
        world: str,
        state: Episode,
        last: tuple[Any, dict[str, Any]],
        sandbox: SandboxSnapshot,
        index: tuple[str, str] | None,
        digest: str | None = None,
    ) -> None:
        super().__init__(world, state, last)
        object.__setattr__(self, "_digest", digest)
        object.__setattr__(self, "sandbox", sandbox)
        object.__setattr__(self, "index", index)

    def __reduce__(self) -> tuple[Any, ...]:
        # With the digest, since a saved sandbox may have its files elsewhere by then.
        return (type(self), (self.world, self.state, self.last, self.sandbox, self.index, self.digest))

    @property
    def digest(self) -> str:
        """SHA-256 of world, episode and files, in hexadecimal; computed on first use."""
        if self._digest is None:
            object.__setattr__(self, "_digest", digest_of(self.world, self.state, self._files()))
        assert self._digest is not None
        return self._digest

    def _files(self) -> tuple[Any, ...]:
        place, index = self.index or ("", "")
        changes = {
            path: entry and (entry.kind, entry.mode, index if path == place else entry.content)
            for path, entry in self.sandbox.changes.items()
        }
        return changes, self.sandbox.cwd, self.sandbox.variables


def observation_of(result: CommandResult, seconds: float) -> str:
    """What an agent sees of a command: return code, notes, output.

    Times in the summaries of common tools and addresses of objects are made equal.
    """
    notes = [f"returncode: {result.returncode}"]
    if result.timed_out:
        notes = [f"timed out after {seconds:g} s and was ended"]
    if result.ended_background:
        notes.append(f"{result.ended_background} background processes were ended")
    output = result.output
    for pattern, replacement in _MOMENTARY:
        output = pattern.sub(replacement, output)
    return f"{'; '.join(notes)}\n{output}"


def submits(result: CommandResult) -> bool:
    """Whether a command's first line of output is the word that ends the episode."""
    return result.output.lstrip().partition("\n")[0].strip() == SUBMIT

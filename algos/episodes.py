"""Episodes in progress: what the rollout harness knows of each until its outcome is in the tree.

Invariant: a leaf owns its environment, its transcript and its engine sequence; nothing
of them is shared with another leaf.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from algos.base import Turn
from algos.prompts import Transcript
from sandgym.core import Snapshot, SnapshottableEnv

TextEnv = SnapshottableEnv[str, str]
Answer = tuple[str, Any, bool, bool, dict[str, Any]]


def threads_for(env: TextEnv) -> int:
    """How many environments of a kind are worth stepping at once: more than one where steps wait for processes."""
    return (os.cpu_count() or 1) if env.metadata.get("runs_processes", False) else 1


@dataclass
class Mark:
    """A sampled turn of a backbone: where it began and how to come back to it.

    Attributes:
        turn: what a branching rule may look at.
        position: tokens on the path before the turn's action.
        tokens: the action's tokens.
        invalid: actions before it that the environment did not understand.
        transcript: as it was before the environment answered.
        snapshot: the environment before the action; taken for retrospective rules only.
    """

    turn: Turn
    position: int
    tokens: list[int]
    invalid: int
    transcript: Transcript
    snapshot: Snapshot | None = None


@dataclass
class Crossroads:
    """A state at which several episodes stand, or will.

    Attributes:
        waiting: episodes that have not acted yet.
        taken: what came of each action: the environment's answer and its state after it.
    """

    waiting: int
    taken: dict[str, tuple[Answer, Snapshot]] = field(default_factory=dict)


@dataclass
class Leaf:
    """An episode in progress.

    Attributes:
        tree: index of its tree in the batch.
        segment: index of the segment that it grows.
        env: its own environment.
        transcript: its own transcript.
        sequence: handle of its tokens in the engine.
        seed: of its draws.
        pending: tokens that the engine has not encoded yet.
        position: tokens on its path so far.
        turn_start: position at which the present turn's action begins.
        step: environment step of the present turn.
        backbone: whether it may branch.
        invalid: actions so far that the environment did not understand.
        return_: shaped rewards so far.
        turn_tokens: of the present turn, a forced prefix included.
        turn_entropies: nats, like ``turn_tokens``.
        turn_values: of the value head, like ``turn_tokens``; empty without one.
        survival: product of the survival probabilities of its roulettes.
        crossroads: the state at which it stands, where it shares that with other episodes.
        marks: turns to which a retrospective rule may come back.
        branches: branch points that it has.
    """

    tree: int
    segment: int
    env: TextEnv
    transcript: Transcript
    sequence: int
    seed: int
    pending: list[int]
    position: int
    turn_start: int
    step: int = 0
    backbone: bool = True
    invalid: int = 0
    return_: float = 0.0
    turn_tokens: list[int] = field(default_factory=list)
    turn_entropies: list[float] = field(default_factory=list)
    turn_values: list[float] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    branches: int = 0
    survival: float = 1.0
    crossroads: Crossroads | None = None

    def turn(self) -> Turn:
        """The present turn, sampled and not yet played, as rules may see it."""
        return Turn(self.step, tuple(self.turn_entropies), self.branches, tuple(self.turn_values), self.seed)

    def mark(self) -> Mark:
        """The present turn, and what it takes to come back to it."""
        return Mark(self.turn(), self.turn_start, list(self.turn_tokens), self.invalid, self.transcript.fork())

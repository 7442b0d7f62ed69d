"""The one data model: every algorithm's rollouts of a task are a tree of token segments.

Invariant: a token is stored once, in the segment where it was sampled or read; a
leaf's sequence is the concatenation of the segments on its path from the root. N
independent episodes are a tree that branches at the end of its prompt only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ROOT = 0


@dataclass
class Outcome:
    """How a leaf's episode ended.

    Attributes:
        return_: sum of the shaped rewards that learning maximises.
        score: the environment's own score in [0, 1].
        success: the environment's own verdict.
        steps: environment steps from the reset to the end.
        truncated: ended by a limit (horizon, context), not by the world or by giving up.
        failed: the infrastructure failed; the leaf counts for nothing.
        stopped: ended by roulette before its return was known; ``return_`` is the value estimate at that
            point, and score, success and truncation mean nothing.
    """

    return_: float = 0.0
    score: float = 0.0
    success: bool = False
    steps: int = 0
    truncated: bool = False
    failed: bool = False
    stopped: bool = False


@dataclass
class Segment:
    """A run of tokens without a branch or a roulette inside.

    All lists have one entry per token. ``logprobs`` and ``entropies`` (nats, at the
    sampling temperature, over the whole vocabulary) are 0 where ``written`` is false;
    so are ``values``, the value head's predictions before each token of the shaped
    rewards still to come (0 everywhere without a value head); ``rewards`` are shaped
    rewards paid right after the token; ``steps`` is the environment step that the token
    belongs to.

    Attributes:
        share: the segment's weight among its siblings, fixed before the branch was
            decided; only ratios count, and None among all of them means equal ones.
        survival: the probability with which the episode went on from its parent here
            (1: there was no roulette).
        expected: with a roulette, the estimate of the return that was fixed before it.
    """

    parent: int | None
    tokens: list[int] = field(default_factory=list)
    written: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    outcome: Outcome | None = None
    share: float | None = None
    survival: float = 1.0
    expected: float = 0.0

    def __len__(self) -> int:
        return len(self.tokens)

    def read(self, tokens: list[int], step: int) -> None:
        """Append environment text."""
        self.tokens += tokens
        self.written += [False] * len(tokens)
        for column in (self.logprobs, self.entropies, self.values, self.rewards):
            column += [0.0] * len(tokens)
        self.steps += [step] * len(tokens)

    def write(
        self,
        tokens: list[int],
        logprobs: list[float],
        entropies: list[float],
        step: int,
        values: list[float] | None = None,
    ) -> None:
        """Append tokens that the policy sampled."""
        self.tokens += tokens
        self.written += [True] * len(tokens)
        self.logprobs += logprobs
        self.entropies += entropies
        self.values += values if values is not None else [0.0] * len(tokens)
        self.rewards += [0.0] * len(tokens)
        self.steps += [step] * len(tokens)

    def pay(self, reward: float) -> None:
        """Add a reward to the last token."""
        self.rewards[-1] += reward

    def cut(self, at: int) -> Segment:
        """Remove and return everything from token ``at`` on, the outcome and children included."""
        tail = Segment(None)
        for name in ("tokens", "written", "logprobs", "entropies", "values", "rewards", "steps"):
            column = getattr(self, name)
            setattr(tail, name, column[at:])
            del column[at:]
        tail.children, self.children = self.children, []
        tail.outcome, self.outcome = self.outcome, None
        return tail


@dataclass
class Tree:
    """The rollouts of one task under one version of the policy."""

    task_id: str
    policy_version: int = 0
    segments: list[Segment] = field(default_factory=lambda: [Segment(None)])
    info: dict[str, Any] = field(default_factory=dict)

    def grow(self, parent: int) -> int:
        """A new empty child of ``parent``; returns its index."""
        self.segments.append(Segment(parent))
        index = len(self.segments) - 1
        self.segments[parent].children.append(index)
        return index

    def roulette(self, segment: int, survival: float, expected: float) -> int:
        """What follows a roulette at the end of ``segment``, which no longer grows; returns the new child's index.

        Args:
            segment: the last of its path.
            survival: the probability of going on.
            expected: estimate of the whole return, fixed before the roulette.
        """
        child = self.grow(segment)
        self.segments[child].survival, self.segments[child].expected = survival, expected
        return child

    def branch(self, segment: int, position: int) -> tuple[int, int]:
        """Branch the path that ends in ``segment`` before its token number ``position``.

        The tokens from there on become the first child; the segment before the branch
        may be left empty, and keeps its share and its roulette. Positions count from the start of the tree's root.

        Returns:
            Index of the segment that now ends at the branch, and of its first child.

        Raises:
            ValueError: the position is outside the path.
        """
        path = self.path(segment)
        start = sum(len(self.segments[i]) for i in path)
        for index in reversed(path):
            start -= len(self.segments[index])
            if start <= position and position - start <= len(self.segments[index]):
                break
        else:
            raise ValueError(f"position {position} is outside the path to segment {segment}")
        head = self.segments[index]
        tail = head.cut(position - start)
        tail.parent = index
        self.segments.append(tail)
        new = len(self.segments) - 1
        head.children.append(new)
        for child in tail.children:
            self.segments[child].parent = new
        return index, new

    def path(self, segment: int) -> list[int]:
        """Indices from the root to ``segment``, both included."""
        path: list[int] = []
        current: int | None = segment
        while current is not None:
            path.append(current)
            current = self.segments[current].parent
        return path[::-1]

    def path_length(self, segment: int) -> int:
        """Tokens from the start of the root to the end of ``segment``."""
        return sum(len(self.segments[i]) for i in self.path(segment))

    def parents_first(self) -> list[int]:
        """Indices of all segments, depth first and siblings in order; every parent before its children."""
        order, stack = [], [ROOT]
        while stack:
            index = stack.pop()
            order.append(index)
            stack.extend(reversed(self.segments[index].children))
        return order

    def leaves(self) -> list[int]:
        """Indices of the segments that carry an outcome, in creation order."""
        return [i for i, segment in enumerate(self.segments) if segment.outcome is not None]

    def outcomes(self) -> list[Outcome]:
        """Outcomes of the leaves that were played to their end."""
        return [
            s.outcome for s in self.segments if s.outcome is not None and not (s.outcome.failed or s.outcome.stopped)
        ]

    def unique_tokens(self) -> int:
        """Tokens stored, each once."""
        return sum(len(segment) for segment in self.segments)

"""What an algorithm is: a plan (which rollouts) and a credit (a tree -> per-token numbers).

Invariant: an algorithm sees trees, never an environment, a model or an optimizer. Its
settings are a frozen dataclass whose defaults are the vetted ones; what it learns
from batch to batch lives in ``state_dict``.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from algos.credit import Credit
from algos.losses import LossConfig
from algos.tree import Tree


@dataclass(frozen=True)
class Turn:
    """What a branching rule may look at: one finished turn of an episode and its past.

    Attributes:
        step: environment step of the turn.
        entropies: nats at each token that the policy wrote in this turn; a causal rule
            may decide about token j from entropies[: j + 1] only.
        branches: branch points that this episode already has.
        values: of the value head, the state before each token; may be used like the
            entropies. Empty without a value head.
        seed: of the episode, for rules that branch at random (``seeds.TURN_DRAWS``).
    """

    step: int
    entropies: Sequence[float]
    branches: int
    values: Sequence[float] = ()
    seed: int = 0


class BranchRule(Protocol):
    """Decides where an episode branches.

    ``retrospective`` rules are asked once, when the episode has ended; the others after
    every turn.
    """

    @property
    def children(self) -> int:
        """Children of each branch, the backbone's continuation included."""

    @property
    def retrospective(self) -> bool:
        """See the class."""

    def share(self, branches: int) -> float:
        """Weight of the backbone's continuation beside 1 for each new sibling, after ``branches`` earlier branches."""

    def choose(self, turn: Turn) -> int | None:
        """Token of the turn before which to branch, or None."""

    def choose_finished(self, turns: Sequence[Turn]) -> list[tuple[int, int]]:
        """(turn number, token) pairs at which to branch a finished episode."""


class RouletteRule(Protocol):
    """Decides, between two turns, with which probability an episode goes on."""

    def spin(self, value: float, survival: float) -> float:
        """Probability of going on; 1: there is no roulette here.

        Args:
            value: the value head's prediction for the state in which the next turn begins.
            survival: product of the probabilities with which the episode has gone on so far.
        """


@dataclass(frozen=True)
class Plan:
    """The rollouts of one task.

    Attributes:
        roots: independent episodes.
        rule: where they branch (None: nowhere).
        roulette: where they may be stopped (None: nowhere).
    """

    roots: int
    rule: BranchRule | None = None
    roulette: RouletteRule | None = None


class Algorithm(abc.ABC):
    """A policy-gradient method on trees.

    Attributes:
        name: in ``algos.registry`` and on the command line.
        Config: the frozen dataclass of its settings.
        config: its settings.
        needs_values: whether ``credit`` needs the values of a value head.
        records_values: whether the policy has a value head, whose values are recorded in rollouts.
        loss: the terms of its loss.
        epochs: passes over a batch.
        minibatches: gradient steps a pass.
    """

    name: ClassVar[str]
    Config: ClassVar[type[Any]]
    needs_values: ClassVar[bool] = False
    records_values: bool = False
    config: Any
    loss: LossConfig
    epochs: int = 1
    minibatches: int = 1

    @abc.abstractmethod
    def __init__(self, config: Any) -> None: ...

    @abc.abstractmethod
    def plan(self) -> Plan:
        """Rollouts to make for each task of the next batch."""

    @abc.abstractmethod
    def credit(self, trees: Sequence[Tree], values: Sequence[Sequence[Any]] | None = None) -> list[Credit]:
        """Advantage and weight of every token.

        Args:
            trees: finished rollouts.
            values: with ``needs_values``, one array of length tokens + 1 per segment of
                each tree: the value of the state before each token, and after the last.
        """

    def learn_from(self, trees: Sequence[Tree]) -> dict[str, float]:
        """Adapt to a finished batch (thresholds, baselines); returns metrics."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """What ``learn_from`` has learned, as plain numbers and lists."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:  # noqa: B027  nothing to load by default
        """Inverse of ``state_dict``."""

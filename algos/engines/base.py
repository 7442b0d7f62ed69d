"""Who generates tokens: the interface between the rollout harness and an engine.

Invariant: what an engine returns for a request depends on the tokens before it, the
sampling settings and the request's seed only, not on which requests share the batch
(up to floating-point rounding).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn.

    The log-probs of a completion are those of the distribution that was sampled from, so with ``top_p`` or
    ``top_k`` they are of the tokens that were left, renormalised. Its entropies are over the full vocabulary at
    the sampling temperature, before anything is cut off.

    Attributes:
        temperature: divides the logits; 0 is greedy (nothing is cut off, log-probs and entropies at 1).
        max_tokens: of one turn.
        top_p: only the most likely tokens are left, as many as it takes to reach this probability.
        top_k: only so many of the most likely tokens are left; 0: all. With both, ``top_k`` comes first.
    """

    temperature: float = 1.0
    max_tokens: int = 32
    top_p: float = 1.0
    top_k: int = 0

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.max_tokens < 1:
            raise ValueError("sampling needs temperature >= 0 and max_tokens >= 1")
        if not 0 < self.top_p <= 1 or self.top_k < 0:
            raise ValueError("sampling needs 0 < top_p <= 1 and top_k >= 0 (0: off)")

    @property
    def truncated(self) -> bool:
        """Whether some tokens cannot be drawn that the policy gives probability to."""
        return self.temperature > 0 and (self.top_p < 1 or self.top_k > 0)


@dataclass
class Request:
    """Continue a sequence.

    Attributes:
        sequence: handle from ``Engine.open`` or ``Engine.fork``.
        tokens: tokens to append before sampling; at least one.
        seed: of this request's draws; token number n of the sequence uses draw n.
        max_tokens: of this turn; at most ``Sampling.max_tokens``.
        gate: asked once the tokens are appended, with the value head's prediction there; where it says no,
            nothing is generated. Needs a value head.
    """

    sequence: int
    tokens: Sequence[int]
    seed: int
    max_tokens: int
    gate: Callable[[float], bool] | None = None


@dataclass
class Completion:
    """Sampled tokens, the stop token included, with log-probs and entropies (nats).

    ``values`` are the value head's predictions of the shaped rewards still to come, of the
    state before each token; None where the policy has no value head.
    """

    tokens: list[int]
    logprobs: list[float]
    entropies: list[float]
    values: list[float] | None = None


class Engine(Protocol):
    """Keeps sequences and continues them.

    Attributes:
        encoded_tokens: tokens that were run through the model so far.
        context: the longest sequence, in tokens.
    """

    encoded_tokens: int
    context: int

    def open(self) -> int:
        """A new empty sequence."""

    def close(self, sequence: int) -> None:
        """Free a sequence."""

    def length(self, sequence: int) -> int:
        """Tokens encoded so far."""

    def encode(self, sequence: int, tokens: Sequence[int]) -> None:
        """Append tokens without sampling."""

    def fork(self, sequence: int, length: int) -> int:
        """A new sequence that shares the first ``length`` tokens; nothing is encoded again."""

    def generate(self, requests: Sequence[Request], sampling: Sampling, stop: frozenset[int]) -> list[Completion]:
        """Continue every request until a stop token or its token limit."""

    def reset(self) -> None:
        """Forget all sequences (the weights have changed)."""

"""A softmax table as an engine, and the transcripts that it reads.

Invariant: a token below the number of choices is an action's, any other one names a state;
so the last state and what follows it in a sequence say which row of the table is next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from algos.credit import Floats
from algos.engines.base import Completion, Request, Sampling
from algos.lab.problems import Problem
from algos.seeds import uniforms

Pick = Callable[[Floats, Sequence[int], Sequence[int]], list[int]]
"""Chooses tokens from rows of probabilities, the episodes' seeds and the numbers of their draws."""


class StatesFormat:
    """Transcripts of state tokens and action tokens; an action ends at its length. It is its own transcript."""

    stop: frozenset[int] = frozenset()

    def __init__(self, problem: Problem) -> None:
        self._choices = problem.choices

    def transcript(self) -> StatesFormat:
        """See ``PromptFormat``."""
        return self

    def fork(self) -> StatesFormat:
        """See ``Transcript``."""
        return self

    def opening(self, instructions: str, observation: str) -> list[int]:
        """See ``Transcript``."""
        return [self._choices + int(observation)]

    def following(self, observation: str, closed: bool) -> list[int]:
        """See ``Transcript``; after the end there is no state to name."""
        return [self._choices + int(observation)] if int(observation) >= 0 else []

    def action(self, tokens: list[int]) -> str:
        """See ``Transcript``."""
        return " ".join(map(str, tokens))

    def encode_action(self, action: str) -> list[int]:
        """See ``Transcript``."""
        return [int(token) for token in action.split()]


def row_after(problem: Problem, tokens: Sequence[int]) -> int:
    """Row of the policy's table from which the token after ``tokens`` is chosen."""
    at = len(tokens) - 1
    while tokens[at] < problem.choices:
        at -= 1
    return problem.row(tokens[at] - problem.choices, tokens[at + 1 :])  # type: ignore[arg-type]


def sampled(probabilities: Floats, seeds: Sequence[int], draws: Sequence[int]) -> list[int]:
    """Tokens drawn with the episodes' own random numbers."""
    cumulative = probabilities.cumsum(axis=1)
    targets = uniforms(np.array(seeds, np.uint64), np.array(draws)) * cumulative[:, -1]
    tokens: list[int] = (cumulative <= targets[:, None]).sum(axis=1).clip(max=probabilities.shape[1] - 1).tolist()
    return tokens


class TabularEngine:
    """See ``Engine``.

    Args:
        problem: whose policy generates.
        values: of each row, recorded beside its tokens; None: there is no value head.
        pick: chooses the tokens.
    """

    context = 1 << 30

    def __init__(self, problem: Problem, values: Floats | None = None, pick: Pick = sampled) -> None:
        self._problem, self._pick = problem, pick
        self.values = values
        self.encoded_tokens = 0
        self._logprobs: list[list[float]] = np.log(np.maximum(problem.probs, 1e-300)).tolist()
        self._entropies: list[float] = problem.entropies.tolist()
        self.reset()

    def reset(self) -> None:
        """See ``Engine``."""
        self._sequences: dict[int, list[int]] = {}
        self._next = 0

    def open(self) -> int:
        """See ``Engine``."""
        self._next += 1
        self._sequences[self._next] = []
        return self._next

    def close(self, sequence: int) -> None:
        """See ``Engine``."""
        del self._sequences[sequence]

    def length(self, sequence: int) -> int:
        """See ``Engine``."""
        return len(self._sequences[sequence])

    def encode(self, sequence: int, tokens: Sequence[int]) -> None:
        """See ``Engine``."""
        self._sequences[sequence] += tokens
        self.encoded_tokens += len(tokens)

    def fork(self, sequence: int, length: int) -> int:
        """See ``Engine``."""
        child = self.open()
        self._sequences[child] = self._sequences[sequence][:length]
        return child

    def generate(self, requests: Sequence[Request], sampling: Sampling, stop: frozenset[int]) -> list[Completion]:
        """See ``Engine``."""
        completions = [Completion([], [], [], None if self.values is None else []) for _ in requests]
        for request in requests:
            self.encode(request.sequence, request.tokens)
        admitted = [self._admits(r) for r in requests]
        pairs = [(r, c) for r, c, admits in zip(requests, completions, admitted, strict=True) if admits]
        for _ in range(max((r.max_tokens for r, _ in pairs), default=0)):
            going = [(r, c) for r, c in pairs if len(c.tokens) < r.max_tokens]
            pasts = [self._sequences[r.sequence] + c.tokens for r, c in going]
            rows = [row_after(self._problem, past) for past in pasts]
            picked = self._pick(self._problem.probs[rows], [r.seed for r, _ in going], [len(past) for past in pasts])
            for (_, completion), row, token in zip(going, rows, picked, strict=True):
                self._enter(completion, row, token)
        for request, completion in zip(requests, completions, strict=True):
            self.encode(request.sequence, completion.tokens[:-1])
        return completions

    def _admits(self, request: Request) -> bool:
        if request.gate is None:
            return True
        if self.values is None:
            raise ValueError("a request has a gate, but there are no values to ask it with")
        return request.gate(float(self.values[row_after(self._problem, self._sequences[request.sequence])]))

    def _enter(self, completion: Completion, row: int, token: int) -> None:
        completion.tokens.append(token)
        completion.logprobs.append(self._logprobs[row][token])
        completion.entropies.append(self._entropies[row])
        if completion.values is not None and self.values is not None:
            completion.values.append(float(self.values[row]))

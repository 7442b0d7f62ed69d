"""Exact values and gradients of tabular problems, by dynamic programming; and every run of a random program.

Invariant: nothing here samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from algos.credit import Floats
from algos.lab.problems import END, Problem, all_actions

T = TypeVar("T")


def row_values(problem: Problem) -> tuple[Floats, Floats]:
    """Expected rewards still to come: before a token at each row, and after each of its tokens.

    Returns:
        Shapes (rows,) and (rows, choices).
    """
    rows = problem.states * problem.beginnings
    values, after = np.zeros(rows), np.zeros((rows, problem.choices))
    for state in reversed(range(problem.states)):
        for number, action in enumerate(all_actions(problem)):
            following = problem.following[state, number]
            ahead = values[problem.row(following, ())] if following != END else 0.0
            after[problem.row(state, action[:-1]), action[-1]] = problem.rewards[state, number] + ahead
        for length in reversed(range(problem.turn_tokens)):
            for row in _rows_of_length(problem, state, length):
                values[row] = problem.probs[row] @ after[row]
            if length:
                for row in _rows_of_length(problem, state, length - 1):
                    first = _first_below(problem, state, length - 1, row)
                    after[row] = values[first : first + problem.choices]
    return values, after


def _rows_of_length(problem: Problem, state: int, length: int) -> range:
    start = state * problem.beginnings + sum(problem.choices**n for n in range(length))
    return range(start, start + problem.choices**length)


def _first_below(problem: Problem, state: int, length: int, row: int) -> int:
    """First row of the beginnings that extend the one at ``row`` by a token."""
    number = row - _rows_of_length(problem, state, length).start
    return _rows_of_length(problem, state, length + 1).start + number * problem.choices


def reached(problem: Problem) -> Floats:
    """Probability that an episode chooses a token at each row, shape (rows,)."""
    chances = np.zeros(len(problem.probs))
    chances[0] = 1.0
    for state in range(problem.states):
        for length in range(problem.turn_tokens):
            for row in _rows_of_length(problem, state, length):
                after = chances[row] * problem.probs[row]
                if length + 1 < problem.turn_tokens:
                    first = _first_below(problem, state, length, row)
                    chances[first : first + problem.choices] += after
                    continue
                number = row - _rows_of_length(problem, state, length).start
                for token, chance in enumerate(after):
                    following = problem.following[state, number * problem.choices + token]
                    if following != END:
                        chances[problem.row(following, ())] += chance
    return chances


def true_gradient(problem: Problem) -> Floats:
    """Gradient of the expected return with respect to the logits, shape (rows, choices)."""
    values, after = row_values(problem)
    return reached(problem)[:, None] * problem.probs * (after - values[:, None])


class Tape:
    """The choices of one run: some are prescribed, the rest are the first possible ones."""

    def __init__(self, prescribed: Sequence[int]) -> None:
        self._prescribed = prescribed
        self.taken: list[int] = []
        self.open: list[list[int]] = []
        self.probability = 1.0

    def choose(self, probabilities: Sequence[float]) -> int:
        """One of the possible outcomes; its probability is multiplied into the run's."""
        possible = [n for n, p in enumerate(probabilities) if p > 0]
        at = len(self.taken)
        choice = self._prescribed[at] if at < len(self._prescribed) else possible[0]
        self.taken.append(choice)
        self.open.append([n for n in possible if n > choice])
        self.probability *= probabilities[choice]
        return choice


def every_run(program: Callable[[Tape], T]) -> Iterator[tuple[float, T]]:
    """Run a program once for every sequence of outcomes that its choices can have.

    Yields:
        The run's probability and what it returned; the probabilities sum to 1.
    """
    prescribed: list[int] | None = []
    while prescribed is not None:
        tape = Tape(prescribed)
        result = program(tape)
        yield tape.probability, result
        prescribed = None
        for at in reversed(range(len(tape.taken))):
            if tape.open[at]:
                prescribed = [*tape.taken[:at], tape.open[at][0]]
                break

"""Small problems with known gradients, in families that differ in where the decisions are.

Invariant: states are numbered so that every transition goes to a higher number or to the
end, and the policy is a softmax table with a row for each state and each beginning of an
action there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from algos.credit import Floats

END = -1


@dataclass(frozen=True)
class Problem:
    """A deterministic world of ``states`` whose actions are ``turn_tokens`` tokens of ``choices`` each.

    Attributes:
        name: for tables.
        logits: shape (states, beginnings of an action, choices).
        following: shape (states, actions), the next state or ``END``.
        rewards: shape (states, actions).
        noise: standard deviation of normal noise on the last reward, drawn anew for every episode.
        turn_tokens: tokens of an action; an action's number is that of its tokens as digits.
    """

    name: str
    logits: Floats
    following: npt.NDArray[np.int64]
    rewards: Floats
    noise: float = 0.0
    turn_tokens: int = 1

    def __post_init__(self) -> None:
        states = np.arange(len(self.following))[:, None]
        if not np.all((self.following > states) | (self.following == END)):
            raise ValueError("every transition must go to a higher state or to the end")
        if self.following.shape[1] != self.choices**self.turn_tokens:
            raise ValueError("there must be a transition for every action of every state")

    @property
    def states(self) -> int:
        """Number of states; episodes begin in state 0."""
        return len(self.following)

    @property
    def choices(self) -> int:
        """Number of tokens that the policy chooses from."""
        return int(self.logits.shape[2])

    @property
    def beginnings(self) -> int:
        """Rows of a state: beginnings of an action, the empty one included."""
        return int(self.logits.shape[1])

    def row(self, state: int, beginning: tuple[int, ...] | list[int]) -> int:
        """Row of the policy's table for a state and the tokens of the action so far."""
        number = 0
        for token in beginning:
            number = number * self.choices + token
        shorter = sum(self.choices**n for n in range(len(beginning)))
        return int(state * self.beginnings + shorter + number)

    @cached_property
    def probs(self) -> Floats:
        """The policy, shape (rows, choices)."""
        logits = self.logits.reshape(-1, self.choices)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        probs: Floats = weights / weights.sum(axis=1, keepdims=True)
        return probs

    @cached_property
    def entropies(self) -> Floats:
        """Nats of each row."""
        nats: Floats = -(self.probs * np.log(np.maximum(self.probs, 1e-300))).sum(axis=1)
        return nats


def chain(
    name: str,
    steps: int,
    decisive: tuple[int, ...],
    bias: float,
    choices: int = 4,
    seed: int = 0,
    noise: float = 0.0,
    ends_on: int | None = None,
) -> Problem:
    """Success is a right token (0) at every decisive step; the reward of 1 comes at the end.

    Logits are 0.3 times standard normal, plus ``bias`` on the right token at decisive steps and 4 elsewhere.

    Args:
        name: for tables.
        steps: length of an episode.
        decisive: steps at which the token matters.
        bias: how far the policy prefers the right one there.
        choices: tokens to choose from.
        seed: of the logits.
        noise: see ``Problem``.
        ends_on: a wrong token that ends the episode at once.
    """
    rng = np.random.default_rng(seed)
    logits = np.zeros((2 * steps, 1, choices))
    following = np.full((2 * steps, choices), END)
    rewards = np.zeros((2 * steps, choices))
    for t in range(steps):
        each = 0.3 * rng.standard_normal(choices)
        each[0] += bias if t in decisive else 4.0
        for lost in (0, 1):
            state = 2 * t + lost
            logits[state, 0] = each
            for token in range(choices):
                fails = t in decisive and token != 0
                if not (fails and token == ends_on) and t + 1 < steps:
                    following[state, token] = 2 * (t + 1) + (lost or fails)
                rewards[state, token] = float(t + 1 == steps and not lost and not fails)
    return Problem(name, logits, following, rewards, noise)


def random_world(
    name: str, steps: int, width: int, choices: int, seed: int, turn_tokens: int = 1, spread: float = 0.7
) -> Problem:
    """``width`` states a step, random transitions and a normal reward for every action."""
    rng = np.random.default_rng(seed)
    states = 1 + (steps - 1) * width
    actions = choices**turn_tokens
    beginnings = sum(choices**n for n in range(turn_tokens))
    logits = spread * rng.standard_normal((states, beginnings, choices))
    following = np.full((states, actions), END)
    for state in range(states):
        step = 0 if state == 0 else 1 + (state - 1) // width
        if step + 1 < steps:
            following[state] = 1 + step * width + rng.integers(width, size=actions)
    return Problem(name, logits, following, rng.standard_normal((states, actions)), 0.0, turn_tokens)


def two_steps(p: float = 0.35) -> Problem:
    """The return is the first action; the second does nothing."""
    logits = np.zeros((3, 1, 2))
    logits[0, 0] = np.log([1 - p, p])
    following = np.array([[1, 2], [END, END], [END, END]])
    return Problem("two-steps", logits, following, np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]))


def words(name: str, steps: int, decisive: tuple[int, ...], bias: float, choices: int = 4, seed: int = 0) -> Problem:
    """A chain whose actions are two tokens: a verb that is nearly certain, and the word that matters."""
    base = chain(name, steps, decisive, bias, choices, seed)
    rng = np.random.default_rng(seed + 1)
    logits = np.zeros((base.states, 1 + choices, choices))
    logits[:, 0] = 0.3 * rng.standard_normal((base.states, choices))
    logits[:, 0, 0] += 4.0
    logits[:, 1:] = base.logits
    following = np.tile(base.following, (1, choices))
    rewards = np.tile(base.rewards, (1, choices))
    return Problem(name, logits, following, rewards, 0.0, 2)


FAMILIES: dict[str, Callable[[], Problem]] = {
    "sparse": lambda: chain("sparse", 10, (0, 3, 6, 8), 1.5),
    "spread": lambda: chain("spread", 20, (1, 4, 7, 10, 13, 16), 2.2),
    "often": lambda: chain("often", 10, (0, 3, 6, 8), 2.5),
    "late": lambda: chain("late", 20, (12, 14, 16, 18), 2.0),
    "early": lambda: chain("early", 20, (0, 1, 2, 4), 2.0),
    "noisy": lambda: chain("noisy", 10, (0, 3, 6, 8), 2.0, noise=0.3),
    "horizons": lambda: chain("horizons", 20, (3, 7, 11, 15), 2.0, ends_on=1),
    "words": lambda: words("words", 8, (1, 3, 5), 1.5),
    "world": lambda: random_world("world", 8, 5, 3, 1),
    "two-steps": two_steps,
}
"""By name: sparse success, decisive steps spread out at low and at 43 % success, late, early; noisy returns; episodes
of many lengths; actions of two tokens; a random world with rewards on the way; and the counterexample to local
credit. The first four are those of the design."""


def all_actions(problem: Problem) -> list[tuple[int, ...]]:
    """Every action's tokens, in the order of their numbers."""
    return list(product(range(problem.choices), repeat=problem.turn_tokens))

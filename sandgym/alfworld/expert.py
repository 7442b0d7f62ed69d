"""Demonstrators for ALFWorld.

Invariant: an action is a function of (kind, seed, noise, task, commands so far), and those
commands are part of the environment's state, so that a demonstrator plays on from any
state that an environment is put in, by a restore or a fork, as if it had never left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import gymnasium

from sandgym.alfworld import rules, text
from sandgym.alfworld.commands import admissible, command
from sandgym.alfworld.explorer import best_order, dawdle, decide, random_order, slip
from sandgym.alfworld.game import Game
from sandgym.alfworld.knowledge import Knowledge, begin, learn
from sandgym.alfworld.planner import plan
from sandgym.alfworld.state import State
from sandgym.draws import Draw

if TYPE_CHECKING:
    from sandgym.alfworld.env import ALFWorldEnv

_KEPT = 1024
_NOTHING_TO_DO = "look"
_SLIPS = 1 / 4  # how often it slips, as a share of the noise


class _Moment(NamedTuple):
    """A state of a game, and what a player who came there knows."""

    state: State
    known: Knowledge


class ALFWorldExpert:
    """Plays as one of three kinds of demonstrators; all give admissible commands in every state, slips aside.

    - ``"explorer"`` knows what a player knows: it searches likely places first, takes what it
      needs when it sees it, and remembers the rest.
    - ``"planner"`` knows the game, and takes a shortest way (see ``planner.plan``).
    - ``"walkthrough"`` follows the game file's, and plans where there is none, or off its path.

    Args:
        env: the environment that it plays in.
        noise: 0 plays its best. Otherwise it dawdles with this probability at each step: it looks round, at
            something, or takes stock, and loses a step. When it does not, it slips with a quarter of this
            probability: it goes to a place that does not help, opens or closes a door for nothing, or tries what
            is not possible. And the explorer searches in an order that is drawn in proportion to what
            places promise, not in the best one.
        seed: of slips and orders.
        kind: of demonstrator.

    Attributes:
        slipped: whether the last action was a slip, which a learner should not imitate.

    Raises:
        ValueError: ``noise`` is not in [0, 1].
    """

    def __init__(self, env: ALFWorldEnv, noise: float = 0.0, seed: int = 0, kind: str = "explorer") -> None:
        if not 0 <= noise <= 1:
            raise ValueError(f"noise is a probability, not {noise}")
        self.slipped = False
        self._env = env
        self._noise = noise
        self._seed = seed
        self._choose = {"explorer": self._explore, "planner": self._plan, "walkthrough": self._follow}[kind]
        self._moments: dict[tuple[object, ...], _Moment] = {}

    def act(self) -> str:
        """The next action in the environment's present state.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset and after the end.
        """
        episode = self._env.snapshot().state
        if episode.over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        best = self._choose()
        action = best
        self.slipped = False
        if self._noise:
            draw = self._draw("slip", *episode.state.history)
            if draw.chance(self._noise):
                return dawdle(self._admissible(), best, draw)
            if draw.chance(self._noise * _SLIPS):
                action = slip(self._present().known, self._admissible(), best, draw)
        self.slipped = action != best
        return action

    # The three kinds.

    def _explore(self) -> str:
        known = self._present().known
        return decide(known, self._admissible(), _Lazily(lambda: self._order(known)))

    def _order(self, known: Knowledge) -> list[int]:
        draw = self._draw("order", *known.sought())
        return random_order(known, draw) if self._noise else best_order(known, draw)

    def _plan(self) -> str:
        env = self._env
        return next(iter(plan(env.game, env.state, env.grammar) or ()), _NOTHING_TO_DO)

    def _follow(self) -> str:
        env = self._env
        return _walkthrough(env.game, env.grammar).get(env.state) or self._plan()

    # What an action depends on.

    def _draw(self, *name: object) -> Draw:
        episode = self._env.snapshot().state
        task = self._env.task_ids[episode.task]
        return Draw("alfworld expert", self._seed, task, episode.state.state.naming, *name)

    def _admissible(self) -> tuple[str, ...]:
        return admissible(self._env.game, self._env.state, self._env.grammar)

    def _present(self) -> _Moment:
        """What a player of the commands so far knows, folded on from the longest part of them that was met before."""
        env, episode = self._env, self._env.snapshot().state
        game, grammar = env.game, env.grammar
        history = episode.state.history
        keys = [(episode.task, episode.state.state.naming, history[:length]) for length in range(len(history) + 1)]
        length = next((n for n in range(len(history), -1, -1) if keys[n] in self._moments), 0)
        moment = self._moments.get(keys[length]) or _Moment(game.start, begin(text.intro(game)))
        if len(self._moments) + len(keys) > _KEPT:
            self._moments.clear()
        for key, done in zip(keys[length + 1 :], history[length:], strict=True):
            moment = self._moments[key] = _after(moment, game, done, grammar)
        return moment


class _Lazily:
    """Something to iterate over that is made when it is needed."""

    def __init__(self, make: Callable[[], list[int]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[int]:
        return iter(self._make())


def _after(moment: _Moment, game: Game, done: str, grammar: str) -> _Moment:
    """What the player knows after one more command of the history; empty is one that did nothing."""
    state, observation = moment.state, text.NOTHING_HAPPENS
    if (action := rules.parse(game, done, grammar)) is not None:
        state = rules.apply(game, state, action)
        observation = text.feedback(game, state, action, grammar)
    return _Moment(state, learn(moment.known, observation, admissible(game, state, grammar)))


def _walkthrough(game: Game, grammar: str) -> dict[State, str]:
    """What the walkthrough does in each state that it passes, as far as it is possible."""
    state, steps = game.start, {}
    for line in game.walkthrough:
        action = rules.parse(game, line)
        if action is None or not rules.possible(game, state, action):
            break
        steps[state] = command(game, action, grammar)
        state = rules.apply(game, state, action)
    return steps

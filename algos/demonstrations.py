"""Episodes of an environment's expert, and the transcripts that a policy learns from.

Invariant: the demonstrations follow from the environment, the tasks, the noise and the seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np

from algos.episodes import TextEnv, threads_for
from algos.prompts import PromptFormat
from algos.seeds import derive_seed
from algos.tree import ROOT, Tree


@dataclass(frozen=True)
class Demonstration:
    """One episode: observations, the action taken at each, whether it was a slip, and what was earned."""

    instructions: str
    observations: tuple[str, ...]
    actions: tuple[str, ...]
    slips: tuple[bool, ...]
    score: float
    success: bool

    def texts(self) -> list[str]:
        """Everything that is shown or said."""
        return [*self.observations, *self.actions]


def demonstrate(
    env: TextEnv,
    tasks: Sequence[str],
    count: int,
    noise: float,
    seed: int,
    progress: Callable[[int], None] = lambda played: None,
) -> list[Demonstration]:
    """Let the environment's expert play ``count`` episodes, going round the tasks in a shuffled order.

    ``progress`` is called after every episode with how many have been played; what it raises ends the playing.
    """
    order = np.random.default_rng(seed).permutation(len(tasks))

    def play(number: int, env: TextEnv = env) -> Demonstration:
        return _play(env, tasks[order[number % len(tasks)]], noise, derive_seed(seed, number))

    if (threads := threads_for(env)) == 1:
        return _collected(map(play, range(count)), progress)
    env.reset(seed=seed)
    idle: SimpleQueue[TextEnv] = SimpleQueue()

    def play_in_one_that_is_idle(number: int) -> Demonstration:
        mine = idle.get()
        try:
            return play(number, mine)
        finally:
            idle.put(mine)

    with ExitStack() as stack:
        for each in env.fork(threads):
            idle.put(stack.enter_context(closing(each)))
        pool = stack.enter_context(ThreadPoolExecutor(threads))
        stack.callback(pool.shutdown, cancel_futures=True)
        return _collected(pool.map(play_in_one_that_is_idle, range(count)), progress)


def _collected(playing: Iterable[Demonstration], progress: Callable[[int], None]) -> list[Demonstration]:
    played: list[Demonstration] = []
    for demonstration in playing:
        played.append(demonstration)
        progress(len(played))
    return played


def _play(env: TextEnv, task: str, noise: float, seed: int) -> Demonstration:
    observation, info = env.reset(seed=seed, options={"task": task})
    expert = env.expert(noise=noise, seed=seed)
    observations: list[str] = []
    actions: list[str] = []
    slips: list[bool] = []
    over = False
    while not over:
        action = expert.act()
        observations.append(observation)
        actions.append(action)
        slips.append(expert.slipped)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    instructions: str = env.unwrapped.instructions  # type: ignore[attr-defined]
    return Demonstration(
        instructions, tuple(observations), tuple(actions), tuple(slips), info["score"], info["success"]
    )


def as_tree(demonstration: Demonstration, prompts: PromptFormat) -> Tree:
    """The demonstration as the tree that a rollout of it would give, in one segment.

    A slip counts as read, with the log-prob of what should never be said, minus infinity.
    """
    tree = Tree("")
    segment = tree.segments[ROOT]
    transcript = prompts.transcript()
    turns = zip(demonstration.observations, demonstration.actions, demonstration.slips, strict=True)
    for step, (observation, action, slip) in enumerate(turns):
        prompt = (
            transcript.following(observation, True)
            if step
            else transcript.opening(demonstration.instructions, observation)
        )
        segment.read(prompt, step)
        tokens = transcript.encode_action(action)
        if slip:
            segment.read(tokens, step)
            segment.logprobs[-len(tokens) :] = [-math.inf] * len(tokens)
        else:
            segment.write(tokens, [0.0] * len(tokens), [0.0] * len(tokens), step)
    return tree

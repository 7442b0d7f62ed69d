"""The contract as properties of an episode; used for several environments."""

import dataclasses
import pickle
import random
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sandgym import Snapshot, SnapshottableEnv
from sandgym.conformance.fresh import FreshProcess, Played, play

Env = SnapshottableEnv[Any, Any]


@dataclasses.dataclass
class Episode:
    """An episode as it was first played, with a pickled snapshot of each step."""

    seed: int
    options: dict[str, Any] | None
    actions: list[Any]
    played: Played
    pickled: list[bytes]

    def after(self, step: int) -> Played:
        """What came after ``step``."""
        return Played(self.played.results[step + 1 :], self.played.digests[step + 1 :])

    def snapshot(self, step: int) -> Snapshot:
        """A copy of the snapshot at ``step`` that shares nothing."""
        snapshot: Snapshot = pickle.loads(self.pickled[step])
        return snapshot


def record(
    env: Env, seed: int, options: dict[str, Any] | None, choices: Sequence[Any], choose: Callable[[Any, Any], Any]
) -> Episode:
    """Play ``choose(choice, info)`` for each choice, to the end of the episode at most."""
    played = play(env, env.reset(seed=seed, options=options), [])
    episode = Episode(seed, options, [], played, [pickle.dumps(env.snapshot())])
    for choice in choices:
        if played.results[-1].terminated or played.results[-1].truncated:
            break
        episode.actions.append(choose(choice, played.results[-1].info))
        go_on(env, episode.actions[-1:], played)
        episode.pickled.append(pickle.dumps(env.snapshot()))
    return episode


def go_on(env: Env, actions: Sequence[Any], into: Played | None = None) -> Played:
    """Results and digests of the steps alone."""
    played = play(env, (None, {}), actions)
    into = into or Played([], [])
    into.results.extend(played.results[1:])
    into.digests.extend(played.digests[1:])
    return into


def check_again(env: Env, process: FreshProcess, episode: Episode) -> None:
    """The same reset and actions give the same, in a used environment and in another process."""
    start = env.reset(seed=episode.seed, options=episode.options)
    assert play(env, start, episode.actions) == episode.played
    assert process.start(episode.seed, episode.options, episode.actions) == episode.played


def check_resume(envs: Sequence[Env], process: FreshProcess, episode: Episode, step: int) -> None:
    """A snapshot goes on as the episode did, in each environment and in another process."""
    expected = episode.played.results[step]
    for env in envs:
        assert env.restore(episode.snapshot(step)) == (expected.observation, expected.info)
        assert env.state_digest == episode.played.digests[step] == episode.snapshot(step).digest
        assert go_on(env, episode.actions[step:]) == episode.after(step)
    there = process.resume(episode.snapshot(step), episode.actions[step:])
    assert (there.results[0].observation, there.results[0].info) == (expected.observation, expected.info)
    assert there.digests == episode.played.digests[step:]
    assert there.results[1:] == episode.after(step).results


def check_siblings(env: Env, episode: Episode, step: int, k: int, turns: Sequence[int]) -> None:
    """Parent and ``k`` forks, stepped in the order of ``turns``, all see the same episode.

    The last fork plays other actions meanwhile and must see what it sees alone.
    """
    other = list(reversed(episode.actions[step:]))
    env.restore(episode.snapshot(step))
    (loner,) = env.fork(1)
    alone = stepwise(loner, other)
    family = [env, *env.fork(k)]
    scripts = [episode.actions[step:]] * k + [other]
    seen = [Played([], []) for _ in family]
    for turn in [*turns, *(list(range(k + 1)) * len(other))]:
        member = turn % (k + 1)
        done = len(seen[member].results)
        if done < len(scripts[member]) and not over(seen[member]):
            go_on(family[member], scripts[member][done : done + 1], seen[member])
    assert seen[:-1] == [episode.after(step)] * k
    assert seen[-1] == alone


def stepwise(env: Env, actions: Sequence[Any]) -> Played:
    """Play to the end of the episode at most."""
    played = Played([], [])
    for action in actions:
        if over(played):
            break
        go_on(env, [action], played)
    return played


def over(played: Played) -> bool:
    return bool(played.results) and (played.results[-1].terminated or played.results[-1].truncated)


def check_threads(make: Callable[[], Env], episodes: Sequence[Episode]) -> None:
    """One thread an episode, with foreign draws from the global generators in between."""
    seen: dict[int, Played] = {}

    def run(number: int) -> None:
        env, episode = make(), episodes[number]
        played = play(env, env.reset(seed=episode.seed, options=episode.options), [])
        for action in episode.actions:
            random.random(), np.random.random()
            random.seed(number), np.random.seed(number)
            go_on(env, [action], played)
        seen[number] = played

    before, state, numpy_state = sys.getswitchinterval(), random.getstate(), np.random.get_state()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(episodes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
        random.setstate(state), np.random.set_state(numpy_state)
    assert seen == {number: episode.played for number, episode in enumerate(episodes)}

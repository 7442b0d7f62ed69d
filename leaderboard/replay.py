"""One episode replayed, and every difference from what was submitted.

Invariant: only actions are taken from a submission; everything else is computed and compared.

Processes of one command that run at the same time (``cat nowhere | nosuch``) write in an order that nobody fixes.
Where an environment runs processes, a step that differs is therefore taken back and played again, from a snapshot
of the state before it, until it agrees, or has differed ``ATTEMPTS`` times or for ``PATIENCE`` seconds.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium

from leaderboard import chain
from leaderboard.problems import Problem, shown
from leaderboard.record import Key, total
from leaderboard.records import Limits
from leaderboard.schema import Episode, Step
from sandgym.panels import Panel

ATTEMPTS = 30
PATIENCE = 60.0


def check_chain(episode: Episode, panel: Panel) -> list[Problem]:
    """What is wrong with an episode by itself: its length, its sum, its chain."""
    where = (episode.task, episode.seed, episode.sample)
    limits = Limits.of(panel, 1)
    if len(episode.steps) > panel.horizon:
        return [Problem(f"there are {len(episode.steps)} steps; the horizon is {panel.horizon}", *where)]
    link = chain.root(panel.content_hash, *where)
    for number, step in enumerate(episode.steps, 1):
        if limits.too_long(step.action):
            return [Problem(f"the action takes more than {limits.action:,} bytes", *where, number)]
        link = chain.link(link, step.action, step.reward, step.observation, step.digest)
        if step.chain != chain.short(link):
            return [Problem(f"hash chain: submitted {step.chain}, computed {chain.short(link)}", *where, number)]
    if episode.total != (added := total(episode.steps)):
        return [Problem(f"total: submitted {episode.total!r}, the rewards add up to {added!r}", *where)]
    return []


def replay(env: gymnasium.Env[Any, Any], panel: Panel, episode: Episode, place: int) -> list[Problem]:
    """The first differing step, with all that differs in it, or what differs at the end.

    Args:
        env: of ``record.open_panel``.
        panel: that was played.
        episode: as submitted.
        place: of its task in the panel.

    Raises:
        SandboxError: the machine failed, which says nothing about the submission.
    """
    if problems := check_chain(episode, panel):
        return problems
    key = Key(episode.task, place, episode.seed, episode.sample)
    inner: Any = env.unwrapped
    _, info = env.reset(seed=chain.reset_seed(key.seed, place), options={"task": key.task})
    ended = "stopped"
    for number, step in enumerate(episode.steps, 1):
        if ended != "stopped":
            return [_problem(episode, number, "the episode is over before this step")]
        before = inner.snapshot() if env.metadata.get("runs_processes") else None
        begun = time.monotonic()
        ended, info, different = _play(env, step)
        for _ in range(ATTEMPTS - 1):
            if not different or before is None or time.monotonic() - begun > PATIENCE:
                break
            inner.restore(before)
            ended, info, different = _play(env, step)
        if different:
            return [_differs(episode, number, *each) for each in different]
    compared_last = (
        ("end", episode.end, ended),
        ("score", episode.score, float(info["score"])),
        ("success", episode.success, bool(info["success"])),
    )
    last = len(episode.steps)
    return [_differs(episode, last, *each) for each in compared_last if repr(each[1]) != repr(each[2])]


def _play(env: gymnasium.Env[Any, Any], step: Step) -> tuple[str, dict[str, Any], list[tuple[str, object, object]]]:
    """Whether a step ends the episode, its ``info``, and what differs: its name, as submitted, as played."""
    observation, reward, terminated, truncated, info = env.step(step.action)
    inner: Any = env.unwrapped
    compared = [
        ("reward", step.reward, float(reward)),
        ("observation", step.observation, chain.hash_observation(observation)),
        ("state digest", step.digest, chain.short(inner.state_digest)),
    ]
    ended = "terminated" if terminated else "truncated" if truncated else "stopped"
    return ended, info, [each for each in compared if repr(each[1]) != repr(each[2])]


def _differs(episode: Episode, step: int, what: str, submitted: object, replayed: object) -> Problem:
    return _problem(episode, step, f"{what}: submitted {shown(submitted)}, replayed {shown(replayed)}")


def _problem(episode: Episode, step: int, what: str) -> Problem:
    return Problem(what, episode.task, episode.seed, episode.sample, step)

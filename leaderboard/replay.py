"""One episode replayed, and every difference from what was submitted.

Invariant: only actions are taken from a submission; everything else is computed and compared.
"""

from __future__ import annotations

from typing import Any

import gymnasium

from leaderboard import chain
from leaderboard.problems import Problem, shown
from leaderboard.record import Key, total
from leaderboard.records import Limits
from leaderboard.schema import Episode
from sandgym.panels import Panel


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
        observation, reward, terminated, truncated, info = env.step(step.action)
        ended = "terminated" if terminated else "truncated" if truncated else "stopped"
        compared = (
            ("reward", step.reward, float(reward)),
            ("observation", step.observation, chain.hash_observation(observation)),
            ("state digest", step.digest, chain.short(inner.state_digest)),
        )
        if problems := [_differs(episode, number, *each) for each in compared if repr(each[1]) != repr(each[2])]:
            return problems
    compared_last = (
        ("end", episode.end, ended),
        ("score", episode.score, float(info["score"])),
        ("success", episode.success, bool(info["success"])),
    )
    last = len(episode.steps)
    return [_differs(episode, last, *each) for each in compared_last if repr(each[1]) != repr(each[2])]


def _differs(episode: Episode, step: int, what: str, submitted: object, replayed: object) -> Problem:
    return _problem(episode, step, f"{what}: submitted {shown(submitted)}, replayed {shown(replayed)}")


def _problem(episode: Episode, step: int, what: str) -> Problem:
    return Problem(what, episode.task, episode.seed, episode.sample, step)

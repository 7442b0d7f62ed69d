"""Playing actions in an environment and writing down what a replay can compare.

Invariant: a record is a function of the panel, the arguments that it leaves open and the actions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import gymnasium
from pydantic import ValidationError

from leaderboard import chain
from leaderboard.problems import Problem, SubmissionError, shown
from leaderboard.records import Limits, encode
from leaderboard.schema import Episode, Shown, Step
from sandgym.panels import Panel, verify

Act = Callable[[str, Mapping[str, Any]], str | None]
"""From an observation and its ``info`` to the next action; none to stop."""


class Key(NamedTuple):
    """Which episode of a submission.

    Attributes:
        task: task id.
        place: of the task in the panel.
        seed: of the evaluation.
        sample: which of the seed's episodes of this task.
    """

    task: str
    place: int
    seed: int
    sample: int


def open_panel(panel: Panel, visible: Shown, **overrides: Any) -> gymnasium.Env[Any, Any]:
    """A panel's environment, checked against the panel.

    Args:
        panel: of the leaderboard.
        visible: what the submission chose.
        overrides: arguments that say where the data and the sandboxes are; ``data`` counts for panels of
            official data only.

    Raises:
        PanelMismatch: the data on this machine is not the panel's.
        ValueError: the environment does not take what was chosen.
        SandboxError: the data is not here.
    """
    if "data" not in panel.kwargs:
        overrides = {key: value for key, value in overrides.items() if key != "data"}
    env = panel.make_env(**visible.model_dump(exclude_none=True), **overrides)
    verify(panel, env)
    return env


def record(env: gymnasium.Env[Any, Any], panel: Panel, key: Key, act: Act) -> Episode:
    """Play one episode.

    Args:
        env: of ``open_panel``.
        panel: that is played.
        key: which episode.
        act: who plays; it is asked until the episode ends.

    Raises:
        SubmissionError: an action is too long for the leaderboard, or is not text that can be written down.
        SandboxError: the machine failed; the episode has to be played again.
    """
    inner: Any = env.unwrapped
    observation, info = env.reset(seed=chain.reset_seed(key.seed, key.place), options={"task": key.task})
    link = chain.root(panel.content_hash, key.task, key.seed, key.sample)
    steps: list[Step] = []
    end: Literal["terminated", "truncated", "stopped"] = "stopped"
    while end == "stopped" and (action := act(observation, info)) is not None:
        observation, reward, terminated, truncated, info = env.step(action)
        seen, digest = chain.hash_observation(observation), chain.short(inner.state_digest)
        link = chain.link(link, action, float(reward), seen, digest)
        steps.append(_step(key, len(steps) + 1, action, float(reward), seen, digest, link))
        end = "terminated" if terminated else "truncated" if truncated else "stopped"
    if not steps:
        raise SubmissionError(Problem("there is no action", key.task, key.seed, key.sample))
    episode = Episode(
        task=key.task,
        seed=key.seed,
        sample=key.sample,
        steps=steps,
        end=end,
        total=total(steps),
        score=float(info["score"]),
        success=bool(info["success"]),
    )
    _check_size(episode, panel)
    return episode


def total(steps: Sequence[Step]) -> float:
    """Sum of the rewards, rounded once, so that it does not depend on the version of Python."""
    return math.fsum(step.reward for step in steps)


def _step(key: Key, number: int, action: str, reward: float, seen: str, digest: str, link: str) -> Step:
    try:
        return Step(action=action, reward=reward, observation=seen, digest=digest, chain=chain.short(link))
    except ValidationError as error:
        what = shown(error.errors(include_input=False, include_url=False)[0]["msg"])
        raise SubmissionError(
            Problem(f"cannot be written down: {what}", key.task, key.seed, key.sample, number)
        ) from None


def _check_size(episode: Episode, panel: Panel) -> None:
    limits = Limits.of(panel, 1)
    for number, step in enumerate(episode.steps, 1):
        if limits.too_long(step.action):
            where = (episode.task, episode.seed, episode.sample, number)
            raise SubmissionError(Problem(f"the action takes more than {limits.action:,} bytes", *where))
    assert len(encode(episode)) <= limits.line, "an episode of short actions fits"

"""Warm start: supervised fine-tuning on an environment's own demonstrations.

Invariant: only the demonstrator's action tokens are learned; the order of examples
and every random choice follow from the seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from algos.learner import score
from algos.packing import pack
from algos.policy import Policy
from algos.prompts import PromptFormat
from algos.rollout import TextEnv, derive_seed
from algos.tree import ROOT, Tree


@dataclass(frozen=True)
class SFTConfig:
    """Settings of the warm start.

    Attributes:
        demonstrations: episodes played by the environment's expert.
        noise: how imperfect the demonstrator is (see ``SnapshottableEnv.expert``).
        steps: optimizer steps.
        batch_tokens: tokens a step.
        lr: peak learning rate; rises over ``warmup`` steps, then falls to a tenth as a cosine.
        observation_share: share of the observations' tokens that are learned too; their
            repetitions teach copying sooner than the few action tokens do.
        observation_weight: weight of such a token beside an action token's 1.
        permute_identifiers: rename identifiers at random in each example, so that the
            policy learns to copy them and not to remember them.
    """

    demonstrations: int = 3000
    noise: float = 0.4
    steps: int = 300
    batch_tokens: int = 6000
    lr: float = 3e-3
    warmup: int = 20
    weight_decay: float = 0.01
    observation_share: float = 0.25
    observation_weight: float = 0.3
    permute_identifiers: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Demonstration:
    """One episode: observations, the action taken at each, and what it earned."""

    instructions: str
    observations: tuple[str, ...]
    actions: tuple[str, ...]
    score: float
    success: bool

    def texts(self) -> list[str]:
        """Everything that is shown or said."""
        return [*self.observations, *self.actions]


def demonstrate(env: TextEnv, tasks: Sequence[str], count: int, noise: float, seed: int) -> list[Demonstration]:
    """Let the environment's expert play ``count`` episodes, going round the tasks in a shuffled order."""
    order = np.random.default_rng(seed).permutation(len(tasks))
    return [_play(env, tasks[order[n % len(tasks)]], noise, derive_seed(seed, n)) for n in range(count)]


def _play(env: TextEnv, task: str, noise: float, seed: int) -> Demonstration:
    observation, info = env.reset(options={"task": task})
    expert = env.expert(noise=noise, seed=seed)
    observations: list[str] = []
    actions: list[str] = []
    over = False
    while not over:
        action = expert.act()
        observations.append(observation)
        actions.append(action)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    instructions: str = env.unwrapped.instructions  # type: ignore[attr-defined]
    return Demonstration(instructions, tuple(observations), tuple(actions), info["score"], info["success"])


def transcript(demonstration: Demonstration, prompts: PromptFormat) -> Tree:
    """The demonstration as the tree that a rollout of it would give, in one segment."""
    tree = Tree("")
    segment = tree.segments[ROOT]
    for step, (observation, action) in enumerate(zip(demonstration.observations, demonstration.actions, strict=True)):
        prompt = (
            prompts.following(observation, True) if step else prompts.opening(demonstration.instructions, observation)
        )
        segment.read(prompt, step)
        tokens = prompts.encode_action(action)
        segment.write(tokens, [0.0] * len(tokens), [0.0] * len(tokens), step)
    return tree


def fine_tune(
    policy: Policy,
    trees: Sequence[Tree],
    config: SFTConfig,
    identifiers: Sequence[int] = (),
    progress: Callable[[int, dict[str, float]], None] | None = None,
) -> dict[str, float]:
    """Fit the policy to demonstrations; returns the metrics of the last steps.

    Args:
        policy: changed in place.
        trees: transcripts of the demonstrations.
        config: the settings.
        identifiers: tokens that ``permute_identifiers`` may rename.
        progress: called after every step with its number and metrics.
    """
    rng = np.random.default_rng(config.seed)
    decay = [p for p in policy.model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(decay, lr=config.lr, betas=(0.9, 0.98), weight_decay=config.weight_decay)
    policy.model.train()
    queue: list[int] = []
    recent: list[dict[str, float]] = []
    names = np.asarray(identifiers if config.permute_identifiers else (), np.int64)
    for step in range(config.steps):
        batch: list[Tree] = []
        while sum(t.unique_tokens() for t in batch) < config.batch_tokens:
            if not queue:
                queue = rng.permutation(len(trees)).tolist()
            batch.append(_renamed(trees[queue.pop()], names, rng))
        for group in optimizer.param_groups:
            group["lr"] = config.lr * _schedule(step, config)
        packed = pack([_with_observations(t, config.observation_share, rng) for t in batch], device=policy.device)
        acted = torch.tensor([w for t in batch for w in t.segments[ROOT].written], device=policy.device)
        acted = acted[packed.written]
        scored = score(policy, packed, 1.0)
        weights = torch.where(acted, 1.0, config.observation_weight)
        loss = -(weights * scored.logprobs).sum() / weights.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(decay, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        metrics = {
            "loss": -float(scored.logprobs.detach()[acted].mean()),
            "weighted_loss": float(loss.detach()),
            "grad_norm": float(norm),
        }
        recent = [*recent[-19:], metrics]
        if progress is not None:
            progress(step, metrics)
    policy.model.eval()
    return {name: float(np.mean([m[name] for m in recent])) for name in recent[0]} if recent else {}


def _schedule(step: int, config: SFTConfig) -> float:
    if step < config.warmup:
        return (step + 1) / config.warmup
    progress = (step - config.warmup) / max(1, config.steps - config.warmup)
    return 0.1 + 0.45 * (1 + float(np.cos(np.pi * progress)))


def _with_observations(tree: Tree, share: float, rng: np.random.Generator) -> Tree:
    """A copy of a one-segment tree in which a random share of the observation is to be predicted too."""
    if not share:
        return tree
    source = tree.segments[ROOT]
    chosen = rng.random(len(source)) < share
    chosen[0] = False
    segment = dataclasses.replace(source, written=(chosen | np.asarray(source.written)).tolist())
    return Tree(tree.task_id, segments=[segment])


def _renamed(tree: Tree, names: Any, rng: np.random.Generator) -> Tree:
    """A copy of a one-segment tree with its identifiers renamed consistently."""
    if not len(names):
        return tree
    source = tree.segments[ROOT]
    tokens = np.asarray(source.tokens)
    present = np.intersect1d(tokens, names)
    renaming = dict(zip(present.tolist(), rng.choice(names, len(present), replace=False).tolist(), strict=True))
    segment = dataclasses.replace(source, tokens=[renaming.get(t, t) for t in source.tokens])
    return Tree(tree.task_id, segments=[segment])

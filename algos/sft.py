"""Warm start: supervised fine-tuning on an environment's own demonstrations.

Invariant: only the demonstrator's action tokens are learned; the order of examples
and every random choice follow from the seed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from algos.learner import score
from algos.optimizer import AdamW
from algos.packing import pack
from algos.policy import Policy
from algos.tree import ROOT, Segment, Tree

FEW = 0.1  # of the demonstrations
DRILL_WINDOW, DRILL_PASSED, DRILL_LONGEST = 8, 1.0, 40.0  # losses in nats, lengths in tokens


@dataclass(frozen=True)
class SFTConfig:
    """Settings of the warm start.

    Attributes:
        demonstrations: episodes played by the environment's expert.
        noise: how imperfect the demonstrator is (see ``SnapshottableEnv.expert``).
        steps: optimizer steps.
        batch_tokens: tokens a step.
        lr: peak learning rate; rises over ``warmup`` steps, then falls to a tenth as a cosine.
        warmup: steps over which the rate rises, in the drill and after it.
        weight_decay: AdamW's.
        observation_share: share of the observations' tokens that are learned too; their
            repetitions teach copying sooner than the few action tokens do.
        observation_weight: weight of such a token beside an action token's 1.
        drill_steps: extra steps at the start (see ``copy_drill``).
        drill_tokens: tokens of such a step.
        opening_steps: first steps on demonstrations, up to their first action only.
        turn_steps: next steps, on a stretch of each transcript that grows from one turn, an observation and the
            action on it, to all of them; rare kinds of actions are preferred.
        crop_steps: next steps, on transcripts whose observations (the first aside) are cropped
            around what the action copies.
        crop_tokens: the crop grows from 8 tokens to about 8 more than this.
        rename_share: share of the demonstrations in which, each time they are read, the tokens that few of them
            have change places with one another, so that what is learned is to copy and not what there was.
        seed: of the demonstrations, the new model and everything drawn in fitting.
    """

    demonstrations: int = 4000
    noise: float = 0.3
    steps: int = 1000
    batch_tokens: int = 2400
    lr: float = 3e-3
    warmup: int = 20
    weight_decay: float = 0.01
    observation_share: float = 0.5
    observation_weight: float = 0.5
    drill_steps: int = 100
    drill_tokens: int = 800
    opening_steps: int = 200
    turn_steps: int = 0
    crop_steps: int = 400
    crop_tokens: int = 60
    rename_share: float = 0.0
    seed: int = 0


def copy_drill(policy: Policy, optimizer: torch.optim.Optimizer, config: SFTConfig, rng: np.random.Generator) -> float:
    """Teach a fresh model to copy: random token sequences are said twice, the second time they are predicted.

    The sequences start at two tokens and grow by a quarter whenever they are copied well.

    Returns:
        Length that was reached, in tokens.
    """
    longest, recent = 2.0, []
    vocabulary = len(policy.tokenizer)
    for step in range(config.drill_steps):
        length = int(rng.integers(1, int(longest) + 1))
        once = torch.from_numpy(rng.integers(0, vocabulary, (config.drill_tokens // (2 * length), length)))
        once = once.to(policy.device)
        output = policy.model.get_decoder()(input_ids=torch.cat([once, once], 1), use_cache=False)
        logits = policy.model.get_output_embeddings()(output.last_hidden_state[:, length - 1 : 2 * length - 1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), once.flatten())
        _take_step(policy, optimizer, loss, config.lr * min(1.0, (step + 1) / max(config.warmup, 1)))
        recent.append(float(loss.detach()))
        if len(recent) >= DRILL_WINDOW and np.mean(recent[-DRILL_WINDOW:]) < DRILL_PASSED:
            longest, recent = min(longest * 1.25, DRILL_LONGEST), []
    return longest


def _take_step(policy: Policy, optimizer: torch.optim.Optimizer, loss: torch.Tensor, lr: float) -> float:
    for group in optimizer.param_groups:
        group["lr"] = lr
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(policy.model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(norm)


def fine_tune(
    policy: Policy,
    trees: Sequence[Tree],
    config: SFTConfig,
    progress: Callable[[int, dict[str, float]], None] | None = None,
) -> dict[str, float]:
    """Fit the policy to demonstrations; returns the metrics of the last steps.

    Args:
        policy: changed in place.
        trees: transcripts of the demonstrations.
        config: the settings.
        progress: called after every step with its number and metrics.

    Raises:
        ValueError: no demonstration has an action to learn.
    """
    rng = np.random.default_rng(config.seed)
    trees = [tree for tree in trees if any(tree.segments[ROOT].written)]
    if not trees:
        raise ValueError("no demonstration has an action to learn; play more of them, with less noise")
    parameters = [p for p in policy.model.parameters() if p.requires_grad]
    settings = {"lr": config.lr, "betas": (0.9, 0.98), "weight_decay": config.weight_decay}
    optimizer = AdamW([{"params": parameters}], **settings)
    policy.model.train()
    if config.drill_steps:
        copy_drill(policy, optimizer, config, rng)
    recent: list[dict[str, float]] = []
    for step, batch in enumerate(_batches(trees, config, rng)):
        packed = pack([_with_observations(t, config.observation_share, rng) for t in batch], device=policy.device)
        acted = torch.tensor([w for t in batch for w in t.segments[ROOT].written], device=policy.device)
        acted = acted[packed.written]
        scored = score(policy, packed, 1.0)
        weights = torch.where(acted, 1.0, config.observation_weight)
        loss = -(weights * scored.logprobs).sum() / weights.sum()
        norm = _take_step(policy, optimizer, loss, config.lr * _schedule(step, config))
        metrics = {
            "loss": -float(scored.logprobs.detach()[acted].mean()),
            "weighted_loss": float(loss.detach()),
            "grad_norm": norm,
        }
        recent = [*recent[-19:], metrics]
        if progress is not None:
            progress(step, metrics)
    policy.model.eval()
    return {name: float(np.mean([m[name] for m in recent])) for name in recent[0]} if recent else {}


def _batches(trees: Sequence[Tree], config: SFTConfig, rng: np.random.Generator) -> Iterator[list[Tree]]:
    """The demonstrations of each step, shortened in the first ones; goes round them in a shuffled order."""
    counts = np.bincount([t for tree in trees for t in tree.segments[ROOT].tokens])
    openings = np.bincount([token for tree in trees for token in _said(tree).values()])
    rare = _rare(trees)
    queue: list[int] = []
    for step in range(config.steps):
        batch: list[Tree] = []
        late = step - config.opening_steps - config.turn_steps
        grown = (late + 1) / max(config.crop_steps, 1)
        while sum(t.unique_tokens() for t in batch) < config.batch_tokens:
            if not queue:
                queue = rng.permutation(len(trees)).tolist()
            tree = trees[queue.pop()]
            if step < config.opening_steps:
                tree = _turns(tree, 0, min(_said(tree)) + 1)
            elif late < 0:
                tree = _stretch(tree, 1 + late / config.turn_steps, openings, rng)
            elif grown < 1:
                tree = _cropped(tree, 8 + int(grown * config.crop_tokens), counts, rng)
            if config.rename_share and rng.random() < config.rename_share:
                tree = _renamed(tree, rare, rng)
            batch.append(tree)
        yield batch


def _schedule(step: int, config: SFTConfig) -> float:
    if step < config.warmup:
        return (step + 1) / config.warmup
    progress = (step - config.warmup) / max(1, config.steps - config.warmup)
    return 0.1 + 0.45 * (1 + float(np.cos(np.pi * progress)))


def _said(tree: Tree) -> dict[int, int]:
    """Steps of a one-segment tree at which there is an action to learn, with the action's first token."""
    segment = tree.segments[ROOT]
    said: dict[int, int] = {}
    for step, token, written in zip(segment.steps, segment.tokens, segment.written, strict=True):
        if written:
            said.setdefault(step, token)
    return said


def _stretch(tree: Tree, share: float, openings: Any, rng: np.random.Generator) -> Tree:
    """About ``share ** 2`` of the turns of a one-segment tree, the last of them one with an action to learn.

    Which one is drawn so that rare kinds of actions, those with a rare first token by ``openings``, are learned as
    soon as frequent ones.
    """
    said = _said(tree)
    rarity = 1 / openings[list(said.values())]
    last, turns = int(rng.choice(list(said), p=rarity / rarity.sum())), tree.segments[ROOT].steps[-1] + 1
    count = 1 + int(share**2 * turns)
    return _turns(tree, max(0, last + 1 - count), count)


def _turns(tree: Tree, first: int, count: int) -> Tree:
    """A copy of ``count`` turns of a one-segment tree."""
    steps = tree.segments[ROOT].steps
    return _selected(tree, [i for i, step in enumerate(steps) if first <= step < first + count])


def _selected(tree: Tree, tokens: Iterable[int]) -> Tree:
    """A copy of a one-segment tree with some of its tokens."""
    chosen = list(tokens)
    segment = Segment(None)
    for name in ("tokens", "written", "logprobs", "entropies", "rewards", "steps"):
        column = getattr(tree.segments[ROOT], name)
        setattr(segment, name, [column[i] for i in chosen])
    return Tree(tree.task_id, segments=[segment])


def _rare(trees: Sequence[Tree]) -> Any:
    """Tokens that some demonstrations have, and no more than a few."""
    having = np.bincount([token for tree in trees for token in set(tree.segments[ROOT].tokens)])
    return np.flatnonzero((having > 0) & (having <= FEW * len(trees)))


def _renamed(tree: Tree, rare: Any, rng: np.random.Generator) -> Tree:
    """A copy of a one-segment tree in which rare tokens have changed places, the same ones everywhere."""
    source = tree.segments[ROOT]
    names = np.arange(max([*source.tokens, *rare]) + 1)
    names[rare] = rng.permutation(rare)
    return Tree(tree.task_id, segments=[dataclasses.replace(source, tokens=names[source.tokens].tolist())])


def _cropped(tree: Tree, width: int, counts: Any, rng: np.random.Generator) -> Tree:
    """A copy of a one-segment tree with ``width`` tokens of each later observation, around what its action copies.

    What is copied is the action's token that is rarest by ``counts``.
    """
    source = tree.segments[ROOT]
    tokens, written, steps = (np.asarray(c) for c in (source.tokens, source.written, source.steps))
    keep = np.ones(len(tokens), bool)
    for step in range(1, int(steps[-1]) + 1):
        observation = np.flatnonzero((steps == step) & ~written)
        action = tokens[(steps == step) & written]
        copied = action[np.isin(action, tokens[observation])]
        rarest = copied[np.argmin(counts[copied])] if len(copied) else tokens[observation[0]]
        anchor = int(rng.choice(np.flatnonzero(tokens[observation] == rarest)))
        left = anchor - int(rng.integers(width // 4, 3 * width // 4 + 1))
        inner = observation[1:-1]
        keep[inner] = False
        keep[observation[max(left, 1) : max(left, 1) + width]] = True
    return _selected(tree, np.flatnonzero(keep).tolist())


def _with_observations(tree: Tree, share: float, rng: np.random.Generator) -> Tree:
    """A copy of a one-segment tree in which a random share of the observation is to be predicted too."""
    if not share:
        return tree
    source = tree.segments[ROOT]
    chosen = (rng.random(len(source)) < share) & (np.asarray(source.logprobs) > -math.inf)
    chosen[0] = False
    segment = dataclasses.replace(source, written=(chosen | np.asarray(source.written)).tolist())
    return Tree(tree.task_id, segments=[segment])

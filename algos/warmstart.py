"""Where a run's first policy comes from: a given model, or ``tiny`` fitted to demonstrations.

Invariant: a warm-started ``tiny`` is a function of the environment's data and the
settings; it is kept in the data root under a hash of both and used again.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from algos.config import TrainConfig
from algos.demonstrations import as_tree, demonstrate
from algos.policy import Policy
from algos.sft import SFTConfig, fine_tune
from algos.tiny import TinyConfig, build_model, build_tokenizer
from sandgym.core import digest_of
from sandgym.data import data_root

VERSION = 2
log = logging.getLogger("sandgym")

Played = Callable[[int], None]
Fitted = Callable[[int, dict[str, float]], None]


def starting_policy(
    config: TrainConfig, env: Any, played: Played = lambda count: None, fitted: Fitted | None = None
) -> Policy:
    """The policy that a run with this configuration starts from.

    ``tiny`` comes from the cache when it is there. Any other model is loaded as it is. With a rank in
    ``config.lora`` there is an adapter on top, a fresh one where the model has none.

    Args:
        config: of the run.
        env: to play demonstrations in.
        played: called with the number of demonstrations after each.
        fitted: called with the number of the step and its metrics after each.

    Raises:
        OSError: there is no such model.
    """
    if config.model != "tiny":
        return Policy.load(config.model, config.device, config.prompts).with_lora(config.lora, config.seed)
    if not config.warm_start:
        demonstrations = demonstrate(
            env, list(env.unwrapped.task_ids), config.sft.demonstrations, 0.0, config.seed, played
        )
        tokenizer = _tokenizer(env, [t for d in demonstrations for t in d.texts()], config.tiny)
        return Policy.of(build_model(tokenizer, config.tiny, config.sft.seed), tokenizer, config.prompts).with_lora(
            config.lora, config.seed
        )
    folder = warm_start_folder(env, config.tiny, config.sft)
    if not folder.is_dir():
        log.info("no warm-started policy in the cache; fitting one to demonstrations")
        save_atomically(warm_started_tiny(env, config.tiny, config.sft, played, fitted), folder)
    return Policy.load(folder, config.device, config.prompts).with_lora(config.lora, config.seed)


def warm_start_folder(env: Any, tiny: TinyConfig, sft: SFTConfig) -> Path:
    """Where the warm-started ``tiny`` for an environment and settings is kept."""
    key = digest_of(VERSION, env.unwrapped.world, dataclasses.astuple(tiny), dataclasses.astuple(sft))
    return data_root() / "policies" / f"tiny-{key[:16]}"


def warm_started_tiny(
    env: Any, tiny: TinyConfig, sft: SFTConfig, played: Played = lambda count: None, fitted: Fitted | None = None
) -> Policy:
    """A fresh ``tiny`` fitted to the environment's own demonstrations; see ``starting_policy``."""
    demonstrations = demonstrate(env, list(env.unwrapped.task_ids), sft.demonstrations, sft.noise, sft.seed, played)
    tokenizer = _tokenizer(env, [t for d in demonstrations for t in d.texts()], tiny)
    policy = Policy.of(build_model(tokenizer, tiny, sft.seed), tokenizer)
    trees = [as_tree(d, policy.prompts) for d in demonstrations]
    fine_tune(policy, trees, sft, fitted)
    return policy


def fine_tuned(
    policy: Policy, env: Any, sft: SFTConfig, played: Played = lambda count: None, fitted: Fitted | None = None
) -> Policy:
    """A policy that is there already, fitted to the environment's demonstrations in its own transcript format.

    The settings' defaults suit a fresh ``tiny``; a pretrained model needs a much lower rate, and no drill.
    """
    demonstrations = demonstrate(env, list(env.unwrapped.task_ids), sft.demonstrations, sft.noise, sft.seed, played)
    fine_tune(policy, [as_tree(d, policy.prompts) for d in demonstrations], sft, fitted)
    return policy


def save_atomically(policy: Policy, folder: Path) -> None:
    """Write a policy folder that is either complete or absent."""
    partial = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        policy.save(partial)
        if folder.is_dir():
            shutil.rmtree(partial)
        else:
            partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _tokenizer(env: Any, texts: list[str], tiny: TinyConfig) -> Any:
    """Actions of an environment that ignores case are read and written in lower case."""
    return build_tokenizer(texts, tiny, not env.unwrapped.metadata.get("case_sensitive", True))

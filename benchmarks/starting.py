"""The policy that ``sandgym train`` starts from, without training one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium

import sandgym  # noqa: F401  registers the environments
from algos.config import TrainConfig
from algos.demonstrations import demonstrate
from algos.policy import Policy
from algos.tiny import build_model, build_tokenizer
from algos.warmstart import warm_start_folder
from cli.runs import configuration


@dataclass
class Start:
    """An environment, its ``tiny``, the settings of a run in it, and whether the policy is warm-started."""

    env: Any
    policy: Policy
    config: TrainConfig
    warm: bool


def start(env_id: str) -> Start:
    """The warm-started ``tiny`` of the bundled tasks where the cache has it, else one with random weights."""
    config = configuration("bpo", env_id, {})
    env = gymnasium.make(config.env, **config.training_arguments())
    folder = warm_start_folder(env, config.tiny, config.sft)
    if folder.is_dir():
        return Start(env, Policy.load(folder), config, True)
    played = demonstrate(env, list(env.unwrapped.task_ids), 60, 0.0, 0)  # type: ignore[attr-defined,arg-type]
    lowercase = not env.unwrapped.metadata.get("case_sensitive", True)
    tokenizer = build_tokenizer((text for d in played for text in d.texts()), config.tiny, lowercase)
    return Start(env, Policy.of(build_model(tokenizer, config.tiny, 0), tokenizer), config, False)

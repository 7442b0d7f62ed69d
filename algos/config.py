"""The resolved configuration of a run: one tree of frozen dataclasses, written as YAML.

Invariant: a run folder's ``config.yaml`` names every setting, so that the run can be
repeated from it alone.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from algos.base import Algorithm
from algos.engines.base import Sampling
from algos.engines.source import EngineKind
from algos.engines.vllm import VLLMConfig
from algos.evaluate import EvaluationConfig
from algos.learner import OptimizerConfig
from algos.lora import LoRAConfig
from algos.prompts import PromptConfig
from algos.registry import ALGORITHMS
from algos.rollout import RolloutConfig
from algos.sft import SFTConfig
from algos.tiny import TinyConfig


@dataclass(frozen=True)
class TrainConfig:
    """Everything that a training run depends on.

    Attributes:
        env: Gymnasium id of a snapshottable text environment.
        env_options: arguments of ``gymnasium.make``; the split is chosen by the trainer.
        train_options: further ones of the environment that is learned in, not of the one that is evaluated in.
        algo: name in ``algos.registry``.
        algo_options: settings of the algorithm that differ from its defaults.
        model: ``"tiny"``, a folder, a hub id, a GGUF file, or a name in ``algos.pretrained.PACKAGED``.
        seed: of every random choice in training; the warm start and the evaluation have their own.
        updates: batches to learn from.
        tasks_per_update: trees a batch.
        temperature: of the rollouts' sampling and of the loss.
        top_p, top_k: of the rollouts' sampling (see ``algos.engines.base.Sampling``); the loss is over all tokens.
        engine: who generates tokens.
        importance_correction: whether each token's loss is multiplied by the learner's probability over the engine's;
            ``"auto"``: where the two differ, that is with vLLM, or with top_p or top_k.
        importance_limit: that ratio is cut here.
        max_turn_tokens: tokens of one action at most.
        train_split, eval_split: splits of the environment.
        eval_tasks: the first so many tasks of the evaluation split.
        eval_every: evaluate after every so many updates (0: only before and after).
        checkpoint_every: save after every so many updates.
        keep_checkpoints: so many of the newest are kept, and the best one of those that were evaluated.
        device: where the model lives, in torch's words.
        warm_start: whether an untrained ``tiny`` is fitted to demonstrations first.
        rollout, prompts, lora, optimizer, evaluation, sft, tiny: see their classes.
    """

    env: str
    algo: str
    env_options: dict[str, Any] = field(default_factory=dict)
    train_options: dict[str, Any] = field(default_factory=dict)
    algo_options: dict[str, Any] = field(default_factory=dict)
    model: str = "tiny"
    seed: int = 0
    updates: int = 100
    tasks_per_update: int = 12
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    engine: EngineKind = "transformers"
    importance_correction: Literal["auto", "on", "off"] = "auto"
    importance_limit: float = 2.0
    max_turn_tokens: int = 32
    train_split: str = "train"
    eval_split: str = "dev"
    eval_tasks: int = 100
    eval_every: int = 0
    checkpoint_every: int = 5
    keep_checkpoints: int = 2
    device: str = "cpu"
    warm_start: bool = True
    vllm: VLLMConfig = field(default_factory=VLLMConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    prompts: PromptConfig = field(default_factory=PromptConfig)
    lora: LoRAConfig = field(default_factory=LoRAConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    sft: SFTConfig = field(default_factory=SFTConfig)
    tiny: TinyConfig = field(default_factory=TinyConfig)

    def __post_init__(self) -> None:
        if self.algo not in ALGORITHMS:
            raise ValueError(f"unknown algorithm {self.algo!r}; known: {', '.join(sorted(ALGORITHMS))}")
        for name in (
            "updates",
            "tasks_per_update",
            "max_turn_tokens",
            "eval_tasks",
            "checkpoint_every",
            "keep_checkpoints",
        ):
            if getattr(self, name) < (0 if name == "updates" else 1):
                raise ValueError(f"{name} is too small: {getattr(self, name)}")
        if self.temperature <= 0:
            raise ValueError(f"temperature must be positive, not {self.temperature}")
        if self.importance_limit < 1:
            raise ValueError(f"importance_limit must be at least 1, not {self.importance_limit}")
        self.sampling()
        if self.engine == "vllm" and self.algorithm().records_values:
            raise ValueError(
                f"{self.algo} with these settings asks a value head while it plays, and vLLM has none: set "
                "engine=transformers, or algo_options.value_head=false (bpo: with selection=threshold and roulette=0)"
            )

    def training_arguments(self) -> dict[str, Any]:
        """Arguments of ``gymnasium.make`` for the environment that is learned in."""
        return {**self.env_options, **self.train_options, "split": self.train_split}

    def evaluation_arguments(self) -> dict[str, Any]:
        """Arguments of ``gymnasium.make`` for the environment that is evaluated in."""
        return {**self.env_options, "split": self.eval_split}

    def sampling(self) -> Sampling:
        """How the rollouts' tokens are drawn."""
        return Sampling(self.temperature, self.max_turn_tokens, self.top_p, self.top_k)

    def ratio_limit(self) -> float | None:
        """The limit of the importance correction; None where there is none."""
        differs = self.engine != "transformers" or self.sampling().truncated
        on = self.importance_correction == "on" or (self.importance_correction == "auto" and differs)
        return self.importance_limit if on else None

    def algorithm(self) -> Algorithm:
        """The algorithm with its settings."""
        kind = ALGORITHMS[self.algo]
        return kind(from_mapping(kind.Config, self.algo_options, self.algo))

    def save(self, path: Path) -> None:
        """Write as YAML."""
        plain = dataclasses.asdict(self)
        plain["algo_options"] = dataclasses.asdict(self.algorithm().config)
        path.write_text(yaml.safe_dump(_plain(plain), sort_keys=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> TrainConfig:
        """Read what ``save`` wrote.

        Raises:
            ValueError: not a configuration; the message names the key.
        """
        config: TrainConfig = from_mapping(cls, yaml.safe_load(path.read_text(encoding="utf-8")), str(path))
        return config


def from_mapping(kind: type[Any], values: Any, where: str) -> Any:
    """Build a frozen dataclass from a mapping, checking names and types.

    Raises:
        ValueError: an unknown key, or a value of the wrong type; names both and lists the known keys.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where}: expected settings by name, not {type(values).__name__}")
    hints = typing.get_type_hints(kind)
    known = [f.name for f in dataclasses.fields(kind)]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"{where}: unknown setting {', '.join(unknown)}; known: {', '.join(known)}")
    missing = [
        f.name
        for f in dataclasses.fields(kind)
        if f.name not in values and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{where}: {', '.join(missing)} must be given")
    return kind(**{name: _convert(hints[name], value, f"{where}.{name}") for name, value in values.items()})


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if dataclasses.is_dataclass(hint):
        return from_mapping(hint, value, where)  # type: ignore[arg-type]
    if origin is typing.Literal:
        if value not in typing.get_args(hint):
            raise ValueError(f"{where}: {value!r} is not one of {', '.join(map(repr, typing.get_args(hint)))}")
        return value
    if origin is types.UnionType:
        if value is None and type(None) in typing.get_args(hint):
            return None
        return _convert(next(a for a in typing.get_args(hint) if a is not type(None)), value, where)
    if origin is tuple and isinstance(value, list | tuple):
        hints = typing.get_args(hint)
        if len(value) != len(hints):
            raise ValueError(f"{where}: expected {len(hints)} values, not {value!r}")
        return tuple(_convert(h, v, f"{where}[{n}]") for n, (h, v) in enumerate(zip(hints, value, strict=True)))
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    expected = origin or hint
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise ValueError(f"{where}: expected {expected.__name__}, not {value!r}")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value

"""LoRA through peft: a low-rank adapter learns, the base model stays as it is.

Invariant: an adapter folder is in peft's own format. Beside it, ``base.json`` says which base the adapter
was learned on, so that it is never put on another one unnoticed.
Source: Hu et al., LoRA, arXiv:2106.09685; all linear layers and alpha 32 as in Schulman et al., LoRA
Without Regret, thinkingmachines.ai, 2025.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

ADAPTER, BASE = "adapter_config.json", "base.json"
ALL_LINEAR = "all-linear"
PROBED = 256  # values of each weight that tell two bases apart


@dataclass(frozen=True)
class LoRAConfig:
    """What of the model learns: everything, or a low-rank adapter.

    Attributes:
        rank: of the adapter; 0: none, the whole model learns (or the adapter that it comes with).
        alpha: the adapter's output is scaled by ``alpha / rank``.
        dropout: of the adapter's input while learning. With any, the learner's log-probs are not those of the
            policy that sampled.
        targets: names of the linear layers that get an adapter, with commas between them; ``"all-linear"``: those of
            all blocks, without the output head.
    """

    rank: int = 0
    alpha: int = 32
    dropout: float = 0.0
    targets: str = ALL_LINEAR

    def __post_init__(self) -> None:
        if self.rank < 0 or self.alpha < 1 or not 0 <= self.dropout < 1:
            raise ValueError("lora needs rank >= 0, alpha >= 1 and 0 <= dropout < 1")


@dataclass(frozen=True)
class Base:
    """The model that an adapter is for.

    Attributes:
        source: as ``--model`` takes it.
        revision: commit of a hub id.
        fingerprint: of its weights (see ``fingerprint``); None where it is not known.
    """

    source: str
    revision: str | None = None
    fingerprint: str | None = None

    def save(self, folder: Path) -> None:
        """Write ``base.json``."""
        (folder / BASE).write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def of_adapter(cls, folder: Path) -> Base:
        """The base of an adapter folder, also of one that only peft has written.

        Raises:
            ValueError: the folder does not name a base.
        """
        if (folder / BASE).is_file():
            return cls(**json.loads((folder / BASE).read_text(encoding="utf-8")))
        written = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        if not written.get("base_model_name_or_path"):
            raise ValueError(f"the adapter in {folder} does not say which model it is for")
        return cls(written["base_model_name_or_path"], written.get("revision"))

    def check(self, model: Any, adapter: Path) -> None:
        """Compare with the model that was loaded.

        Raises:
            ValueError: it is not the one that the adapter was learned on.
        """
        if self.fingerprint is not None and self.fingerprint != fingerprint(model):
            raise ValueError(
                f"{self.source} is not the model that the adapter in {adapter} was learned on: its weights differ; "
                "put back the model as it was, or learn the adapter again"
            )


def fingerprint(model: Any) -> str:
    """SHA-256 of names, shapes and the first values of all weights: equal for equal bases, on every device."""
    digest = hashlib.sha256()
    for name, weight in model.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)} ".encode())
        digest.update(weight.detach().flatten()[:PROBED].float().cpu().numpy().tobytes())
    return digest.hexdigest()


def is_adapter(source: str | Path) -> bool:
    """Whether a folder holds an adapter and not a whole model."""
    return (Path(source) / ADAPTER).is_file() and not (Path(source) / "config.json").is_file()


def adapted(model: Any, config: LoRAConfig, base: Base, located: str | Path, seed: int) -> Any:
    """The model with a fresh adapter, which changes nothing yet.

    Args:
        model: a causal language model; its weights are shared and no longer learn.
        config: with a rank.
        base: what the model is.
        located: folder or hub id of the model, for peft's own file.
        seed: of the adapter's first weights.

    Raises:
        ModuleNotFoundError: peft is not installed.
        ValueError: the model has no such layers.
    """
    peft = _peft()
    targets = target_names(model, config.targets)
    torch.manual_seed(seed)
    settings = peft.LoraConfig(
        task_type="CAUSAL_LM",
        r=config.rank,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=targets,
        base_model_name_or_path=str(located),
        revision=base.revision,
    )
    with _quiet():
        return peft.get_peft_model(model, settings).eval()


def load_adapter(model: Any, folder: Path) -> Any:
    """The model with the adapter in a folder, which goes on learning.

    Raises:
        ModuleNotFoundError: peft is not installed.
    """
    peft = _peft()
    with _quiet():
        adapted = peft.PeftModel.from_pretrained(model, folder, is_trainable=True, torch_device=str(model.device))
    return adapted.eval()


def target_names(model: Any, targets: str) -> list[str]:
    """Names of the linear layers that ``LoRAConfig.targets`` stands for.

    Raises:
        ValueError: the model has none of a name; the message lists those it has.
    """
    head = model.get_output_embeddings()
    modules = ((name, m) for name, m in model.named_modules() if isinstance(m, torch.nn.Linear) and m is not head)
    linear = {name.rpartition(".")[2] for name, _ in modules}
    if targets == ALL_LINEAR:
        return sorted(linear)
    named = sorted({name.strip() for name in targets.split(",")} - {""})
    unknown = [name for name in named if name not in linear]
    if unknown or not named:
        raise ValueError(f"lora.targets: no linear layers {', '.join(unknown)!r} in the model; it has {sorted(linear)}")
    return named


def check_same(model: Any, config: LoRAConfig) -> None:
    """Make sure that an adapter which goes on learning is the one that the settings ask for.

    Raises:
        ValueError: it is another one.
    """
    has = model.peft_config[model.active_adapter]
    named = config.targets != ALL_LINEAR and {name.strip() for name in config.targets.split(",")}
    if (has.r, has.lora_alpha) != (config.rank, config.alpha) or (named and named != set(has.target_modules)):
        raise ValueError(
            f"the model is an adapter already, of rank {has.r} and alpha {has.lora_alpha} on "
            f"{', '.join(sorted(has.target_modules))}: leave lora.rank at 0 to go on with it, or `sandgym export` it "
            "first to begin another one"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning that peft still asks transformers for a property by its old name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
        yield


def _peft() -> Any:
    if importlib.util.find_spec("peft") is None:
        raise ModuleNotFoundError('LoRA needs peft, which is not installed: pip install "sandgym[train]"', name="peft")
    import peft

    return peft

"""A policy: a causal language model, its tokenizer and transcript format, a value head.

Invariant: a policy folder is an ordinary transformers model folder, or peft's adapter folder (see
``algos.lora``); beside it lie the value head, if any, in ``value_head.safetensors``, and in
``sandgym.json`` how its transcripts are written.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from algos import lora
from algos.attention import ATTENTION
from algos.engines.transformers import TransformersEngine
from algos.lora import Base, LoRAConfig
from algos.pretrained import is_gguf, located
from algos.prompts import PromptConfig, TokenizerFormat, format_for

VALUE_HEAD = "value_head.safetensors"
SETTINGS = "sandgym.json"


@dataclass
class Policy:
    """What acts and learns.

    Attributes:
        model: a causal language model with the layout attention; peft's wrapper of one where an adapter learns.
        tokenizer: its tokenizer.
        prompts: how it reads observations and writes actions.
        value_head: hidden state -> value, or None.
        base: what the model, without an adapter, was loaded from; None for one that was built here.
    """

    model: Any
    tokenizer: Any
    prompts: TokenizerFormat
    value_head: nn.Linear | None = None
    base: Base | None = None

    @classmethod
    def of(cls, model: Any, tokenizer: Any, prompts: PromptConfig | None = None) -> Policy:
        """A policy without a value head."""
        return cls(model, tokenizer, format_for(tokenizer, prompts))

    @classmethod
    def load(cls, source: str | Path, device: str = "cpu", prompts: PromptConfig | None = None) -> Policy:
        """Load a hub id, a folder (of a model or an adapter), a GGUF file, or a model that a package carries.

        Args:
            source: see ``algos.pretrained.located``.
            device: where to, in torch's words.
            prompts: how transcripts are written; what it leaves open is as the folder says.

        Raises:
            OSError: there is no such model, with transformers' own explanation.
            ModuleNotFoundError: what it takes is not installed; the message says how to install it.
            ValueError: an adapter's base is not the one that it was learned on.
        """
        place = located(source)
        adapter = Path(place) if lora.is_adapter(place) else None
        base = _base_of(source, place) if adapter is None else Base.of_adapter(adapter)
        trunk = place if adapter is None else located(base.source)
        model = _load_model(trunk, base.revision, device)
        if adapter is not None:
            base.check(model, adapter)
            model = lora.load_adapter(model, adapter)
        elif getattr(model, "_hf_peft_config_loaded", False):
            raise ValueError(f"{source} is an adapter: download it into a folder and give that")
        else:
            base = dataclasses.replace(base, revision=getattr(model.config, "_commit_hash", None))
        has_tokenizer = adapter is None or (adapter / "tokenizer_config.json").is_file()
        tokenizer = AutoTokenizer.from_pretrained(place if has_tokenizer else trunk, revision=base.revision)
        saved = _saved_prompts(Path(place)) or _saved_prompts(Path(trunk)) or PromptConfig()
        policy = cls.of(model, tokenizer, (prompts or PromptConfig()).over(saved))
        policy.base = base
        head = Path(place) / VALUE_HEAD
        if head.is_file():
            policy.add_value_head()
            assert policy.value_head is not None
            policy.value_head.load_state_dict(load_file(head, device=device))
        return policy

    def save(self, folder: Path) -> None:
        """Write a folder that ``load`` and transformers read; of an adapted model, the adapter only."""
        if self.adapted:
            assert self.base is not None
            self.model.save_pretrained(folder, save_embedding_layers=False)
            self.base.save(folder)
        else:
            self.model.save_pretrained(folder)
        self.save_transcripts(folder)
        if self.value_head is not None:
            save_file(self.value_head.state_dict(), folder / VALUE_HEAD)

    def save_transcripts(self, folder: Path) -> None:
        """Write the tokenizer, and how transcripts are written, into a model's folder."""
        self.tokenizer.save_pretrained(folder)
        settings = {"prompts": dataclasses.asdict(self.prompts.config)}
        (folder / SETTINGS).write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")

    @property
    def adapted(self) -> bool:
        """Whether an adapter learns and not the whole model."""
        return hasattr(self.model, "peft_config")

    def with_lora(self, config: LoRAConfig, seed: int) -> Policy:
        """This policy with a fresh adapter; as it is at rank 0, or where it has that adapter already.

        Raises:
            ValueError: it has another adapter, or its model is in no folder that an adapter could name.
            ModuleNotFoundError: peft is not installed.
        """
        if config.rank == 0:
            return self
        if self.adapted:
            lora.check_same(self.model, config)
            return self
        if self.base is None:
            raise ValueError("an adapter needs a base that is kept in a folder, and this model was made just now: "
                             "leave warm_start on, or set lora.rank=0 to learn the whole model")  # fmt: skip
        base = dataclasses.replace(self.base, fingerprint=lora.fingerprint(self.model))
        model = lora.adapted(self.model, config, base, located(base.source), seed)
        return dataclasses.replace(self, model=model, base=base)

    def share_base(self, other: Policy) -> None:
        """Hold one copy of the frozen weights for both, where both are adapters on the same base."""
        if not (self.adapted and other.adapted and self.base == other.base):
            return
        theirs = dict(other.model.named_parameters())
        for name, weight in self.model.named_parameters():
            if not weight.requires_grad:
                weight.data = theirs[name].data

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        device: torch.device = self.model.device
        return device

    @property
    def context(self) -> int:
        """The longest transcript, in tokens."""
        return int(self.model.config.max_position_embeddings)

    def add_value_head(self) -> None:
        """Give the trunk a value head that starts at 0 everywhere."""
        if self.value_head is None:
            self.value_head = nn.Linear(self.model.config.hidden_size, 1).to(self.device)
            nn.init.zeros_(self.value_head.weight)
            nn.init.zeros_(self.value_head.bias)

    def engine(self) -> TransformersEngine:
        """An engine that samples from the present weights."""
        return TransformersEngine(self.model.eval(), self.context, self.value_head)

    def parameters(self) -> list[nn.Parameter]:
        """Everything that learns."""
        head = list(self.value_head.parameters()) if self.value_head is not None else []
        return [p for p in [*self.model.parameters(), *head] if p.requires_grad]


def _load_model(source: str | Path, revision: str | None, device: str) -> Any:
    dtype = torch.float32 if device == "cpu" else "auto"
    loaded = AutoModelForCausalLM.from_pretrained(
        source, attn_implementation=ATTENTION, dtype=dtype, **({} if revision is None else {"revision": revision})
    )
    return loaded.to(device)


def _base_of(source: str | Path, place: str | Path) -> Base:
    """What a whole model was loaded from, in words that mean the same from any working directory."""
    if is_gguf(source):
        path = Path(source).expanduser()
        return Base(str(path.resolve()) if path.is_file() else str(source))
    return Base(str(Path(place).resolve()) if isinstance(place, Path) else str(place))


def _saved_prompts(folder: Path) -> PromptConfig | None:
    """How a policy folder says that its transcripts are written; None where it does not say."""
    path = folder / SETTINGS
    return PromptConfig(**json.loads(path.read_text(encoding="utf-8"))["prompts"]) if path.is_file() else None

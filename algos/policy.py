"""A policy: a causal language model, its tokenizer and transcript format, a value head.

Invariant: a policy folder is an ordinary transformers model folder; the value head, if
any, lies beside the model in ``value_head.safetensors``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from algos.attention import ATTENTION
from algos.engines.transformers import TransformersEngine
from algos.prompts import PromptFormat, format_for

VALUE_HEAD = "value_head.safetensors"


@dataclass
class Policy:
    """What acts and learns.

    Attributes:
        model: a causal language model with the layout attention.
        tokenizer: its tokenizer.
        prompts: how it reads observations and writes actions.
        value_head: hidden state -> value, or None.
    """

    model: Any
    tokenizer: Any
    prompts: PromptFormat
    value_head: nn.Linear | None = None

    @classmethod
    def of(cls, model: Any, tokenizer: Any) -> Policy:
        """A policy without a value head."""
        return cls(model, tokenizer, format_for(tokenizer))

    @classmethod
    def load(cls, source: str | Path, device: str = "cpu") -> Policy:
        """Load a folder or a hub id.

        Raises:
            OSError: there is no such model, with transformers' own explanation.
        """
        tokenizer = AutoTokenizer.from_pretrained(source)
        dtype = torch.float32 if device == "cpu" else "auto"
        model = AutoModelForCausalLM.from_pretrained(source, attn_implementation=ATTENTION, dtype=dtype).to(device)
        policy = cls.of(model, tokenizer)
        head = Path(source) / VALUE_HEAD
        if head.is_file():
            policy.add_value_head()
            assert policy.value_head is not None
            policy.value_head.load_state_dict(load_file(head, device=device))
        return policy

    def save(self, folder: Path) -> None:
        """Write a folder that ``load`` and transformers read."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if self.value_head is not None:
            save_file(self.value_head.state_dict(), folder / VALUE_HEAD)

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
        return [*self.model.parameters(), *head]

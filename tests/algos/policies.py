"""Random models for the tests, and what plain transformers says of them."""

from typing import Any

import torch
from torch import Tensor
from transformers import LlamaForCausalLM


def sharpened(model: Any, matrices: float = 20.0, embeddings: float = 1.4) -> Any:
    """The model with larger weights, so that attention and predictions depend on the whole text and are not uniform."""
    with torch.no_grad():
        for parameter in model.get_decoder().layers.parameters():
            if parameter.dim() > 1:
                parameter.mul_(matrices)
        model.get_input_embeddings().weight.mul_(embeddings)
    return model.eval()


def plain_copy(model: Any, attention: str = "eager") -> LlamaForCausalLM:
    """The same weights with transformers' own attention."""
    config = type(model.config)(**{**model.config.to_dict(), "attn_implementation": attention})
    config._attn_implementation = attention
    copy = LlamaForCausalLM(config).to(model.dtype)
    copy.load_state_dict(model.state_dict())
    return copy.eval()


def plain_logprobs(model: LlamaForCausalLM, tokens: list[int], temperature: float = 1.0) -> Tensor:
    """Log-probs of every next token, shape (tokens - 1, vocabulary)."""
    return (model(torch.tensor([tokens])).logits[0, :-1].float() / temperature).log_softmax(-1)


def entropy(logprobs: Tensor) -> Tensor:
    return -(logprobs.exp() * logprobs).sum(-1)


def gradient(model: Any) -> Tensor:
    """All gradients, laid end to end."""
    return torch.cat([
        (p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in model.parameters()
    ])  # fmt: skip

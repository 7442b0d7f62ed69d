"""A fresh model that can copy: one induction head, built by hand before the first step of training.

An induction head looks for an earlier place where the present token stood and says what came next there. A model of
a million parameters takes many minutes on a CPU to grow one from random weights, and until it has one it cannot copy
a name from an observation into an action. Here the first layer's first head attends to the token before and notes
what it is; the second layer's first head of each key-value group looks for places that have a note like the present
token, and says the token there. Everything else stays random, and all of it is trained on.

Invariant: only the initial weights change; the architecture is the configuration's own.

Source of the mechanism: Olsson et al., "In-context learning and induction heads", arXiv 2209.11895.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CONSTANT = 0.5  # of every embedding, in its first dimension, so that a head can attend by position alone
SHARPNESS = 15.0  # of the first head's attention, a score
MATCH = 4.2  # factor of the second head's queries and keys
SAY = 0.5  # factor of what the second head says
FASTEST = 4  # pairs of rotary dimensions that tell neighbours apart


def add_induction_head(model: Any, seed: int) -> None:
    """Give a freshly initialised Llama model with tied embeddings an induction head.

    Dimensions of the residual stream: the first is constant, the last ``head size`` are free for the note of the
    token before, those between are the token's own.

    Args:
        model: changed in place.
        seed: of the random projections by which tokens are told apart.

    Raises:
        ValueError: the model has fewer than two layers, or heads too large for its hidden size.
    """
    config = model.config
    hidden, size = config.hidden_size, config.hidden_size // config.num_attention_heads
    if config.num_hidden_layers < 2 or hidden <= 2 * size:
        raise ValueError("an induction head needs two layers and at least three heads")
    own, note = slice(1, hidden - size), slice(hidden - size, hidden)
    generator = torch.Generator().manual_seed(seed)
    codes = _projection(own.stop - own.start, size, generator)
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        embeddings[:, 0], embeddings[:, note] = CONSTANT, 0.0
        first, second = model.model.layers[0].self_attn, model.model.layers[1].self_attn
        _attend_to_the_token_before(first, size, model.model.rotary_emb.inv_freq, hidden)
        _clear_value(first, slice(0, size), slice(0, size))
        first.v_proj.weight[:size, own] = codes
        first.o_proj.weight[note, :size] = torch.eye(size) / size**0.5
        half = size // 2
        slow = [i for i in range(size) if i % half >= half // 2]  # dimensions that rotation leaves nearly alone
        group = config.num_attention_heads // config.num_key_value_heads
        for pair in range(min(config.num_key_value_heads, size // len(slow))):
            query, key = pair * group * size, pair * size
            part = slice(pair * len(slow), (pair + 1) * len(slow))
            for projection, start in ((second.q_proj.weight, query), (second.k_proj.weight, key)):
                projection[start : start + size] = 0.0
            second.q_proj.weight[[query + i for i in slow], own] = MATCH * codes[part]
            second.k_proj.weight[[key + i for i in slow], note] = MATCH * torch.eye(size)[part]
            _clear_value(second, slice(key, key + size), slice(query, query + size))
            said = _projection(own.stop - own.start, size, generator)
            second.v_proj.weight[key : key + size, own] = said
            second.o_proj.weight[own, query : query + size] = SAY * said.T


def _attend_to_the_token_before(attention: Any, size: int, frequencies: Tensor, hidden: int) -> None:
    """Make the first head's score a function of the distance alone, with its maximum at one."""
    constant = CONSTANT / (1 + CONSTANT**2) ** 0.5 * hidden**0.5  # after the norm, of an embedding of length 1
    weight = (SHARPNESS * size**0.5) ** 0.5 / constant
    half, fast = size // 2, frequencies[:FASTEST].cpu()
    for projection in (attention.q_proj.weight, attention.k_proj.weight):
        projection[:size] = 0.0
    attention.q_proj.weight[: len(fast), 0] = weight
    attention.k_proj.weight[: len(fast), 0] = weight * fast.cos()
    attention.k_proj.weight[half : half + len(fast), 0] = weight * fast.sin()


def _clear_value(attention: Any, value: slice, output: slice) -> None:
    attention.v_proj.weight[value] = 0.0
    attention.o_proj.weight[:, output] = 0.0


def _projection(inputs: int, outputs: int, generator: torch.Generator) -> Tensor:
    """Random orthonormal rows, shape (outputs, inputs)."""
    basis: Tensor = torch.linalg.qr(torch.randn(inputs, outputs, generator=generator))[0]
    return basis.T

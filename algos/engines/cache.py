"""Key-value cache of many sequences of different lengths, one slot each.

Invariant: the sequences being decoded occupy slots 0..n-1, so that a decoding step
reads the cache as one contiguous view; a fork copies a prefix and encodes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from algos.attention import causal_attention, lower_right_mask


class SlotCache:
    """Keys and values, each of shape (slots, key-value heads, capacity, head size) a layer."""

    def __init__(self, layers: int, heads: int, head_size: int, dtype: torch.dtype, device: torch.device) -> None:
        self.shape = (heads, head_size)
        self.layers = layers
        self.dtype, self.device = dtype, device
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self.slots = self.capacity = 0

    def reserve(self, slots: int, length: int) -> None:
        """Make room for slots and tokens; grows by half, so that growth is rare."""
        if slots <= self.slots and length <= self.capacity:
            return
        new_slots = self.slots if slots <= self.slots else max(slots, self.slots * 3 // 2)
        new_capacity = self.capacity if length <= self.capacity else max(length, self.capacity * 3 // 2)
        heads, size = self.shape
        for store in (self.keys, self.values):
            for layer in range(self.layers):
                grown = torch.zeros(new_slots, heads, new_capacity, size, dtype=self.dtype, device=self.device)
                if self.slots:
                    grown[: self.slots, :, : self.capacity] = store[layer]
                    store[layer] = grown
                else:
                    store.append(grown)
        self.slots, self.capacity = new_slots, new_capacity

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first ``length`` tokens of one slot to another."""
        for store in (self.keys, self.values):
            for tensor in store:
                tensor[target, :, :length] = tensor[source, :, :length]

    def swap(self, a: int, b: int, length: int) -> None:
        """Exchange the first ``length`` tokens of two slots."""
        for store in (self.keys, self.values):
            for tensor in store:
                held = tensor[a, :, :length].clone()
                tensor[a, :, :length] = tensor[b, :, :length]
                tensor[b, :, :length] = held


@dataclass(frozen=True)
class Append:
    """New tokens of one sequence: ``new`` of them after ``past`` cached ones."""

    slot: int
    past: int
    new: int


class AppendLayout:
    """Encodes new tokens of several sequences, laid end to end, into their slots."""

    def __init__(self, cache: SlotCache, appends: list[Append]) -> None:
        self.cache = cache
        self.appends = appends
        self.masks = [lower_right_mask(a.new, a.past + a.new, cache.device) for a in appends]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None) -> Tensor:
        """See ``Layout.attend``."""
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        output = torch.empty_like(query)
        start = 0
        for a, mask in zip(self.appends, self.masks, strict=True):
            stop, total = start + a.new, a.past + a.new
            keys[a.slot, :, a.past : total] = key[0, :, start:stop]
            values[a.slot, :, a.past : total] = value[0, :, start:stop]
            k, v = keys[a.slot : a.slot + 1, :, :total], values[a.slot : a.slot + 1, :, :total]
            output[:, :, start:stop] = causal_attention(query[:, :, start:stop], k, v, scale, mask)
            start = stop
        return output


class DecodeLayout:
    """One new token for each of the sequences in slots 0..n-1.

    Args:
        cache: holds them.
        positions: shape (n,), the new tokens' positions.
    """

    def __init__(self, cache: SlotCache, positions: Tensor) -> None:
        self.cache = cache
        self.positions = positions
        self.rows = torch.arange(len(positions), device=cache.device)
        self.length = int(positions.max()) + 1
        columns = torch.arange(self.length, device=cache.device)
        self.mask = (columns[None] <= positions[:, None])[:, None, None]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None) -> Tensor:
        """See ``Layout.attend``."""
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        n, heads, kv_heads, size = len(self.rows), query.shape[1], key.shape[1], query.shape[3]
        keys[self.rows, :, self.positions] = key[0].transpose(0, 1)
        values[self.rows, :, self.positions] = value[0].transpose(0, 1)
        grouped = query[0].transpose(0, 1).reshape(n, kv_heads, heads // kv_heads, size)
        k, v = keys[:n, :, : self.length], values[:n, :, : self.length]
        output = scaled_dot_product_attention(grouped, k, v, attn_mask=self.mask, scale=scale)
        return output.reshape(n, heads, size).transpose(0, 1)[None]

"""Token generation with a transformers model and a forkable key-value cache.

Invariant: a token is encoded once in its sequence's life, whatever the number of
turns and forks; ``encoded_tokens`` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algos.engines.base import Completion, Request, Sampling
from algos.engines.cache import Append, AppendLayout, DecodeLayout, SlotCache
from algos.seeds import uniforms

PREFILL_TOKENS = 4096
COMPACT_SHARE = 0.25


class TransformersEngine:
    """Batched decoding over all live sequences.

    Args:
        model: a causal language model loaded with ``algos.attention.ATTENTION``.
        context: the longest sequence, in tokens.
        value_head: hidden state -> value; None: completions have no values.
    """

    def __init__(self, model: Any, context: int, value_head: torch.nn.Linear | None = None) -> None:
        config = model.config
        head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.model = model
        self._value_head = value_head
        self.context = context
        self.encoded_tokens = 0
        self._device = model.device
        self._cache = SlotCache(
            config.num_hidden_layers, config.num_key_value_heads, head_size, model.dtype, model.device
        )
        self.reset()

    def reset(self) -> None:
        """Forget all sequences."""
        self._slots: dict[int, int] = {}
        self._owners: list[int | None] = [None] * self._cache.slots
        self._lengths: dict[int, int] = {}
        self._next = 0

    def open(self) -> int:
        """A new empty sequence."""
        try:
            slot = self._owners.index(None)
        except ValueError:
            slot = len(self._owners)
            self._cache.reserve(slot + 1, max(256, self._cache.capacity))
            self._owners += [None] * (self._cache.slots - slot)
        sequence, self._next = self._next, self._next + 1
        self._owners[slot] = sequence
        self._slots[sequence] = slot
        self._lengths[sequence] = 0
        return sequence

    def close(self, sequence: int) -> None:
        """Free a sequence's slot."""
        self._owners[self._slots.pop(sequence)] = None
        del self._lengths[sequence]

    def length(self, sequence: int) -> int:
        """Tokens encoded so far."""
        return self._lengths[sequence]

    def fork(self, sequence: int, length: int) -> int:
        """A new sequence with the first ``length`` tokens of another.

        Raises:
            ValueError: the sequence is shorter.
        """
        if length > self._lengths[sequence]:
            raise ValueError(f"cannot fork at {length}: only {self._lengths[sequence]} tokens are encoded")
        child = self.open()
        self._cache.copy(self._slots[sequence], self._slots[child], length)
        self._lengths[child] = length
        return child

    def encode(self, sequence: int, tokens: Sequence[int]) -> None:
        """Append tokens without sampling."""
        if tokens:
            self._append([(sequence, tokens)])

    @torch.no_grad()
    def generate(self, requests: Sequence[Request], sampling: Sampling, stop: frozenset[int]) -> list[Completion]:
        """See ``Engine.generate``."""
        completions = [Completion([], [], [], None if self._value_head is None else []) for _ in requests]
        if not requests:
            return completions
        hidden = self._append([(r.sequence, r.tokens) for r in requests])
        order = self._admitted(requests, hidden)
        if not order:
            return completions
        hidden = hidden[order]
        for row, i in enumerate(order):
            self._move(requests[i].sequence, row)
        stops = np.fromiter(stop, np.int64, len(stop))
        limits = np.array([min(r.max_tokens, sampling.max_tokens) for r in requests])
        seeds = np.array([r.seed for r in requests], np.uint64)
        counts = np.zeros(len(requests), np.int64)
        done = ~np.isin(np.arange(len(requests)), order)
        while True:
            draws = np.array([self._lengths[requests[i].sequence] for i in order])
            tokens, logprobs, entropies = self._sample(hidden, sampling, seeds[order], draws)
            values = self._values(hidden)
            for row, i in enumerate(order):
                if not done[i]:
                    completion = completions[i]
                    completion.tokens.append(int(tokens[row]))
                    completion.logprobs.append(float(logprobs[row]))
                    completion.entropies.append(float(entropies[row]))
                    if values is not None and completion.values is not None:
                        completion.values.append(float(values[row]))
            counts[order] += ~done[order]
            done[order] |= np.isin(tokens, stops) | (counts[order] >= limits[order])
            if done.all():
                return completions
            order, tokens = self._compact(order, tokens, done, requests)
            hidden = self._decode([requests[i].sequence for i in order], tokens, done[order])

    def _values(self, hidden: Tensor) -> Any:
        """Predictions of the value head, shape (rows,), or None without one."""
        return self._value_head(hidden.float())[:, 0].cpu().numpy() if self._value_head is not None else None

    def _admitted(self, requests: Sequence[Request], hidden: Tensor) -> list[int]:
        """Requests whose gates let them generate."""
        if all(r.gate is None for r in requests):
            return list(range(len(requests)))
        values = self._values(hidden)
        if values is None:
            raise ValueError("a request has a gate, but the policy has no value head to ask it with")
        return [i for i, r in enumerate(requests) if r.gate is None or r.gate(float(values[i]))]

    def _compact(self, order: list[int], tokens: Any, done: Any, requests: Sequence[Request]) -> tuple[list[int], Any]:
        """Drop finished rows from the batch once they are many."""
        alive = ~done[order]
        if alive.mean() > 1 - COMPACT_SHARE:
            return order, tokens
        order, tokens = [i for i, a in zip(order, alive, strict=True) if a], tokens[alive]
        for row, i in enumerate(order):
            self._move(requests[i].sequence, row)
        return order, tokens

    def _move(self, sequence: int, slot: int) -> None:
        """Put a sequence into a given slot, exchanging it with whoever is there."""
        old = self._slots[sequence]
        if old == slot:
            return
        other = self._owners[slot]
        length = self._lengths[sequence]
        if other is None:
            self._cache.copy(old, slot, length)
        else:
            self._cache.swap(old, slot, max(length, self._lengths[other]))
            self._slots[other] = old
        self._owners[old], self._owners[slot] = other, sequence
        self._slots[sequence] = slot

    @torch.no_grad()
    def _append(self, items: list[tuple[int, Sequence[int]]]) -> Tensor:
        """Encode tokens of several sequences; returns the last hidden state of each, shape (items, hidden)."""
        longest = max(self._lengths[s] + len(t) for s, t in items)
        if longest > self.context:
            raise ValueError(f"a sequence of {longest} tokens exceeds the context of {self.context}")
        self._cache.reserve(self._cache.slots, longest)
        outputs: list[Tensor] = []
        chunk: list[tuple[int, Sequence[int]]] = []
        for item in items:
            if chunk and sum(len(t) for _, t in chunk) + len(item[1]) > PREFILL_TOKENS:
                outputs.append(self._append_chunk(chunk))
                chunk = []
            chunk.append(item)
        outputs.append(self._append_chunk(chunk))
        return torch.cat(outputs)

    def _append_chunk(self, items: list[tuple[int, Sequence[int]]]) -> Tensor:
        appends = [Append(self._slots[s], self._lengths[s], len(t)) for s, t in items]
        flat = [token for _, tokens in items for token in tokens]
        positions = [p for a in appends for p in range(a.past, a.past + a.new)]
        hidden = self._forward(flat, positions, AppendLayout(self._cache, appends))
        for sequence, tokens in items:
            self._lengths[sequence] += len(tokens)
        self.encoded_tokens += len(flat)
        return hidden[torch.tensor([a.new for a in appends], device=self._device).cumsum(0) - 1]

    def _decode(self, sequences: list[int], tokens: Any, done: Any) -> Tensor:
        """One step for the sequences in slots 0..n-1; finished rows ride along and keep their length."""
        positions = np.array([self._lengths[s] for s in sequences])
        if positions[~done].max() + 1 > self.context:
            raise ValueError(f"a sequence exceeds the context of {self.context}")
        self._cache.reserve(self._cache.slots, int(positions.max()) + 1)
        at = torch.from_numpy(positions).to(self._device)
        hidden = self._forward(tokens.tolist(), positions.tolist(), DecodeLayout(self._cache, at))
        for sequence, finished in zip(sequences, done, strict=True):
            if not finished:
                self._lengths[sequence] += 1
                self.encoded_tokens += 1
        return hidden

    def _forward(self, tokens: list[int], positions: list[int], layout: Any) -> Tensor:
        ids = torch.tensor([tokens], device=self._device)
        at = torch.tensor([positions], device=self._device)
        output = self.model.get_decoder()(input_ids=ids, position_ids=at, layout=layout, use_cache=False)
        hidden: Tensor = output.last_hidden_state[0]
        return hidden

    def _sample(self, hidden: Tensor, sampling: Sampling, seeds: Any, draws: Any) -> tuple[Any, Any, Any]:
        """Tokens with their log-probs and entropies, each of shape (rows,), as NumPy arrays."""
        logits = self.model.get_output_embeddings()(hidden).float()
        if sampling.temperature > 0:
            logits = logits / sampling.temperature
        logprobs = logits.log_softmax(-1)
        probs = logprobs.exp()
        entropies = -(probs * logprobs).nan_to_num(0.0).sum(-1)
        if sampling.truncated:
            logprobs = truncate(logprobs, sampling.top_p, sampling.top_k)
            probs = logprobs.exp()
        if sampling.temperature > 0:
            cumulative = probs.double().cumsum(-1)
            targets = torch.from_numpy(uniforms(seeds, draws)).to(self._device)[:, None] * cumulative[:, -1:]
            tokens = torch.searchsorted(cumulative, targets, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)
        else:
            tokens = logits.argmax(-1)
        chosen = logprobs.gather(1, tokens[:, None])[:, 0]
        return tokens.cpu().numpy(), chosen.cpu().numpy(), entropies.cpu().numpy()


def truncate(logprobs: Tensor, top_p: float, top_k: int) -> Tensor:
    """Log-probs of what ``top_k`` and then ``top_p`` leave, renormalised; -inf elsewhere.

    Nucleus sampling (arXiv 1904.09751): a token is left when the more likely ones, after ``top_k``, have less than
    ``top_p`` together. Among equals the one with the smaller id is the more likely.

    Args:
        logprobs: shape (rows, vocabulary).
        top_p: probability to reach; 1: off.
        top_k: number of tokens; 0: off.
    """
    ordered, tokens = logprobs.sort(stable=True, dim=-1, descending=True)
    if 0 < top_k < logprobs.shape[-1]:
        ordered[:, top_k:] = -torch.inf
    if top_p < 1:
        probs = ordered.softmax(-1)
        ordered = ordered.masked_fill(probs.cumsum(-1) - probs >= top_p, -torch.inf)
    left = torch.full_like(logprobs, -torch.inf).scatter(-1, tokens, ordered)
    return left.log_softmax(-1)

"""The learner: gradient steps on packed trees. It knows no algorithm and no environment.

Invariant: the loss is a sum over tokens divided by a number fixed in advance, so that
the gradient does not depend on how trees are grouped into micro-batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algos.credit import Credit
from algos.losses import LossConfig, TokenBatch, policy_loss
from algos.optimizer import AdamW
from algos.packing import Packed, credited, micro_batches, pack
from algos.policy import Policy
from algos.tree import Tree


@dataclass(frozen=True)
class OptimizerConfig:
    """AdamW with gradient clipping.

    Attributes:
        lr: learning rate at the start.
        embedding_lr_factor: the embeddings learn at ``lr`` times this.
        value_lr_factor: the value head learns at ``lr`` times this.
        final_lr_factor: the rate falls linearly to ``lr`` times this over the run.
        warmup: updates over which the rate rises from 0.
        betas, weight_decay: AdamW's.
        max_grad_norm: gradients are scaled down to this norm.
        micro_batch_tokens: tokens run through the model at once; memory only.
    """

    lr: float = 4.5e-4
    embedding_lr_factor: float = 0.1
    value_lr_factor: float = 1.0
    final_lr_factor: float = 0.1
    warmup: int = 0
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    micro_batch_tokens: int = 6144


@dataclass
class Scored:
    """Columns over the policy's tokens of a packed batch, each of shape (P,)."""

    logprobs: Tensor
    entropies: Tensor
    values: Tensor | None


class Learner:
    """Owns the optimizer.

    Args:
        policy: what learns.
        config: the optimizer.
        temperature: of the sampling; log-probs are those of the sampled distribution.
        total_updates: length of the learning-rate schedule.
        importance_limit: the engine's log-probs may differ from the learner's; each token's term is multiplied by
            the ratio of the two probabilities, cut at this limit. None: they agree, nothing is corrected.
    """

    def __init__(
        self,
        policy: Policy,
        config: OptimizerConfig,
        temperature: float,
        total_updates: int,
        importance_limit: float | None = None,
    ) -> None:
        self.policy, self.config = policy, config
        self.temperature = temperature
        self.total_updates = total_updates
        self.importance_limit = importance_limit
        embedding = {id(p) for p in policy.model.get_input_embeddings().parameters()}
        head = {id(p) for p in policy.value_head.parameters()} if policy.value_head is not None else set()
        learning = policy.parameters()
        groups = [
            {"params": [p for p in learning if id(p) not in embedding | head], "factor": 1.0},
            {"params": [p for p in learning if id(p) in embedding], "factor": config.embedding_lr_factor},
            {"params": [p for p in learning if id(p) in head], "factor": config.value_lr_factor},
        ]
        self.optimizer = AdamW(
            [g for g in groups if g["params"]], lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )

    def update(
        self,
        trees: Sequence[Tree],
        credits: Sequence[Credit],
        loss: LossConfig,
        step: int,
        epochs: int = 1,
        minibatches: int = 1,
        reference: Policy | None = None,
    ) -> dict[str, float]:
        """Gradient steps on one batch of trees.

        Args:
            trees: the rollouts.
            credits: their advantages and weights.
            loss: which terms the loss has.
            step: number of this update, for the schedule.
            epochs: passes over the batch.
            minibatches: gradient steps a pass; trees are dealt out in order.
            reference: with a KL term, the policy to stay near.

        Returns:
            Metrics: means over the policy's tokens that were run through the model (where the
            loss has advantages only, those of segments without credit are not), the summed
            ``loss``, ``trained_tokens``, the gradient norm before clipping, the learning rate.
        """
        self._set_lr(step)
        sums: dict[str, float] = {}
        norms: list[float] = []
        parts = [(trees[part::minibatches], credits[part::minibatches]) for part in range(minibatches)]
        several = epochs * minibatches > 1 and self.importance_limit is not None
        old = [self._logprobs(*part, loss) if several else None for part in parts]
        for _ in range(epochs):
            for part, before in zip(parts, old, strict=True):
                self._accumulate(*part, loss, reference, sums, before)
                norms.append(self._apply())
        tokens = max(sums.pop("tokens", 0.0), 1.0)
        totals = {name: sums.pop(name, 0.0) for name in ("loss", "trained_tokens")}
        metrics = {name: value / tokens for name, value in sums.items()} | totals
        metrics["grad_norm"] = float(np.mean(norms)) if norms else 0.0
        metrics["lr"] = self.optimizer.param_groups[0]["lr"]
        return metrics

    def accumulate_gradient(
        self, trees: Sequence[Tree], credits: Sequence[Credit], loss: LossConfig, reference: Policy | None = None
    ) -> dict[str, float]:
        """Add the batch's gradient to ``.grad`` without a step; returns sums over tokens."""
        sums: dict[str, float] = {}
        self._accumulate(trees, credits, loss, reference, sums)
        return sums

    def _accumulate(
        self,
        trees: Sequence[Tree],
        credits: Sequence[Credit],
        loss: LossConfig,
        reference: Policy | None,
        sums: dict[str, float],
        old: list[Tensor] | None = None,
    ) -> None:
        """Add the gradient of some trees; ``old`` are their log-probs before the first step, if steps were made."""
        self.policy.model.train()
        for n, packed in enumerate(self._packed(trees, credits, loss)):
            sums["trained_tokens"] = sums.get("trained_tokens", 0.0) + packed.tokens.shape[1]
            scored = score(self.policy, packed, self.temperature)
            columns = TokenBatch(
                scored.logprobs, scored.entropies, packed.behaviour_logprobs, packed.advantages, packed.weights
            )
            if self.importance_limit is not None:
                columns.old_logprobs = old[n] if old is not None else scored.logprobs.detach()
            if packed.value_targets is not None:
                columns.values, columns.value_targets = scored.values, packed.value_targets
            if loss.kl_coefficient:
                if reference is None:
                    raise ValueError("a KL term needs a reference policy")
                with torch.no_grad():
                    columns.reference_logprobs = score(reference, packed, self.temperature).logprobs
            value, parts = policy_loss(columns, loss, len(trees), self.importance_limit or math.inf)
            value.backward()  # type: ignore[no-untyped-call]
            parts["loss"] = value.detach()
            parts["entropy"] = scored.entropies.detach().sum()
            for name, part in parts.items():
                sums[name] = sums.get(name, 0.0) + float(part)
            sums["tokens"] = sums.get("tokens", 0.0) + len(packed.written)
        self.policy.model.eval()

    def _packed(self, trees: Sequence[Tree], credits: Sequence[Credit], loss: LossConfig) -> Iterator[Packed]:
        """Micro-batches of what has to be run through the model, the same ones in every pass."""
        prune = loss.only_advantages and all(c.value_targets is None for c in credits)
        keep = [credited(t, c) if prune else [True] * len(t.segments) for t, c in zip(trees, credits, strict=True)]
        sizes = [
            sum(len(s) for s, k in zip(t.segments, kept, strict=True) if k) for t, kept in zip(trees, keep, strict=True)
        ]
        for group in micro_batches(sizes, self.config.micro_batch_tokens):
            packed = pack(
                [trees[i] for i in group], [credits[i] for i in group], self.policy.device, [keep[i] for i in group]
            )
            if len(packed.written):
                yield packed

    @torch.no_grad()
    def _logprobs(self, trees: Sequence[Tree], credits: Sequence[Credit], loss: LossConfig) -> list[Tensor]:
        """The learner's own log-probs of each micro-batch, with the present weights."""
        return [score(self.policy, packed, self.temperature).logprobs for packed in self._packed(trees, credits, loss)]

    def _apply(self) -> float:
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(norm)

    def _set_lr(self, step: int) -> None:
        config = self.config
        progress = min(step / max(self.total_updates, 1), 1.0)
        factor = 1.0 - (1.0 - config.final_lr_factor) * progress
        if step < config.warmup:
            factor *= (step + 1) / config.warmup
        for group in self.optimizer.param_groups:
            group["lr"] = config.lr * factor * group["factor"]

    @torch.no_grad()
    def values(self, trees: Sequence[Tree]) -> list[list[Any]]:
        """Value of the state before each token, one array of length tokens + 1 per segment.

        The last entry is the value after the segment's last token.
        """
        head = self.policy.value_head
        if head is None:
            raise ValueError("the policy has no value head")
        result: list[list[Any]] = [[np.zeros(len(s) + 1) for s in tree.segments] for tree in trees]
        for group in micro_batches([t.unique_tokens() for t in trees], self.config.micro_batch_tokens):
            packed = pack([trees[i] for i in group], device=self.policy.device)
            flat = head(_hidden(self.policy, packed).float()).squeeze(-1).cpu().numpy()
            for (t, i, start), first in zip(packed.segments, packed.firsts, strict=True):
                length = len(trees[group[t]].segments[i])
                result[group[t]][i][1:] = flat[start : start + length]
                result[group[t]][i][0] = flat[first] if first >= 0 else 0.0
        return result


def score(policy: Policy, packed: Packed, temperature: float) -> Scored:
    """Log-probs and entropies of the policy's tokens under the sampling temperature."""
    before = _hidden(policy, packed)[packed.previous]
    logits = policy.model.get_output_embeddings()(before).float()
    if temperature > 0:
        logits = logits / temperature
    logprobs = logits.log_softmax(-1)
    chosen = logprobs.gather(1, packed.tokens[0, packed.written][:, None])[:, 0]
    entropies = -(logprobs.exp() * logprobs).sum(-1)
    values = policy.value_head(before.float()).squeeze(-1) if policy.value_head is not None else None
    return Scored(chosen, entropies, values)


def _hidden(policy: Policy, packed: Packed) -> Tensor:
    output = policy.model.get_decoder()(
        input_ids=packed.tokens, position_ids=packed.positions, layout=packed.layout, use_cache=False
    )
    hidden: Tensor = output.last_hidden_state[0]
    return hidden

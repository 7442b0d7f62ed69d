"""Per-token losses. Every sum is divided by a number fixed in advance.

Invariant: the loss of a batch is a sum over tokens, so that micro-batches and padding
never change the gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LossConfig:
    """Which terms the loss has.

    Attributes:
        clip_low: the probability ratio is clipped below at 1 - clip_low (None: no clip).
        clip_high: and above at 1 + clip_high.
        kl_coefficient: weight of the k3 estimate of KL(policy || reference).
        entropy_coefficient: weight of the entropy bonus.
        value_coefficient: weight of half the value head's squared error.
        tokens_per_episode: the fixed number that every sum over an episode's tokens is
            divided by; it sets the scale of the loss, not its direction.
    """

    clip_low: float | None = None
    clip_high: float | None = None
    kl_coefficient: float = 0.0
    entropy_coefficient: float = 0.0
    value_coefficient: float = 0.5
    tokens_per_episode: int = 64

    @property
    def only_advantages(self) -> bool:
        """Whether tokens of advantage 0 contribute nothing but what a value head learns from them."""
        return not (self.kl_coefficient or self.entropy_coefficient)


@dataclass
class TokenBatch:
    """Columns over the policy's tokens of a micro-batch, each of shape (tokens,).

    ``reference_logprobs`` is needed with a KL term, ``values`` (predictions, with
    gradient) and ``value_targets`` with a value head. ``old_logprobs`` are the learner's own
    before the batch's first step; given, they correct for an engine whose log-probs
    (``behaviour_logprobs``) differ from the learner's.
    """

    logprobs: Tensor
    entropies: Tensor
    behaviour_logprobs: Tensor
    advantages: Tensor
    weights: Tensor
    reference_logprobs: Tensor | None = None
    values: Tensor | None = None
    value_targets: Tensor | None = None
    old_logprobs: Tensor | None = None


def policy_loss(
    batch: TokenBatch, config: LossConfig, episodes: int, importance_limit: float = float("inf")
) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss of a micro-batch and its parts' sums.

    The policy term is the clipped surrogate (arXiv 1707.06347), whose gradient on
    policy is weight * advantage * grad log pi; KL is k3 (J. Schulman, "Approximating KL
    divergence"): r - 1 - log r with r = reference / policy.

    With ``old_logprobs`` the surrogate's ratio is against them, and both terms, whose expectation is over the
    sampled token, are multiplied by min(exp(old - behaviour), limit): truncated importance sampling (E. Ionides,
    J. Comput. Graph. Stat. 17, 2008). The entropy and the value's error are of states and are not.

    Args:
        batch: the tokens.
        config: the terms.
        episodes: number of trees in the whole batch (not the micro-batch).
        importance_limit: with ``old_logprobs``, the largest ratio.

    Returns:
        Scalar loss, and detached sums over tokens: ``kl_behaviour``, ``clipped``,
        ``kl_reference``, ``value_error``, ``importance`` (the ratios before they are truncated) and
        ``importance_truncated``.
    """
    scale = 1.0 / (episodes * config.tokens_per_episode)
    log_ratio = batch.logprobs - batch.behaviour_logprobs
    parts: dict[str, Tensor] = {"kl_behaviour": (log_ratio.exp() - 1 - log_ratio).detach().sum()}
    weights = batch.weights
    if batch.old_logprobs is not None:
        ratios = (batch.old_logprobs - batch.behaviour_logprobs).exp()
        parts["importance"] = ratios.sum()
        parts["importance_truncated"] = (ratios > importance_limit).sum()
        weights = weights * ratios.clamp(max=importance_limit)
        log_ratio = batch.logprobs - batch.old_logprobs
    ratio = log_ratio.exp()
    surrogate = ratio * batch.advantages
    if config.clip_low is not None or config.clip_high is not None:
        low = 1.0 - config.clip_low if config.clip_low is not None else 0.0
        high = 1.0 + config.clip_high if config.clip_high is not None else float("inf")
        clipped = ratio.clamp(low, high) * batch.advantages
        parts["clipped"] = (clipped < surrogate).sum()
        surrogate = torch.minimum(surrogate, clipped)
    total = -(weights * surrogate).sum()
    if config.kl_coefficient:
        assert batch.reference_logprobs is not None
        reverse = batch.reference_logprobs - batch.logprobs
        kl = (weights * (reverse.exp() - 1 - reverse)).sum()
        total = total + config.kl_coefficient * kl
        parts["kl_reference"] = kl.detach()
    if config.entropy_coefficient:
        total = total - config.entropy_coefficient * (batch.weights * batch.entropies).sum()
    if batch.values is not None and batch.value_targets is not None:
        error = (batch.weights * (batch.values - batch.value_targets) ** 2).sum()
        total = total + 0.5 * config.value_coefficient * error
        parts["value_error"] = error.detach()
    return scale * total, parts

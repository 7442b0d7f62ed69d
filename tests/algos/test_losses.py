"""Losses: clip and k3 by hand on three tokens, the fixed normaliser."""

import math

import pytest
import torch

from algos.losses import LossConfig, TokenBatch, policy_loss

BEHAVIOUR = torch.tensor([-1.0, -2.0, -0.5])
RATIOS = (1.5, 0.5, 1.5)
ADVANTAGES = (2.0, -1.0, -3.0)
WEIGHTS = (0.5, 1.0, 0.25)


def batch(**columns) -> TokenBatch:
    given = {
        "logprobs": (BEHAVIOUR + torch.tensor(RATIOS).log()).requires_grad_(),
        "entropies": torch.tensor([0.1, 0.2, 0.3]),
        "behaviour_logprobs": BEHAVIOUR,
        "advantages": torch.tensor(ADVANTAGES),
        "weights": torch.tensor(WEIGHTS),
    }
    return TokenBatch(**(given | columns))


def test_the_unclipped_gradient_is_weight_times_ratio_times_advantage():
    columns = batch()
    loss, parts = policy_loss(columns, LossConfig(tokens_per_episode=1), 1)
    # 0.5 * 1.5 * 2 + 1 * 0.5 * -1 + 0.25 * 1.5 * -3 = 1.5 - 0.5 - 1.125
    assert float(loss.detach()) == pytest.approx(0.125)
    loss.backward()
    assert columns.logprobs.grad.tolist() == pytest.approx([-1.5, 0.5, 1.125])
    assert "clipped" not in parts


def test_clip_by_hand():
    columns = batch()
    loss, parts = policy_loss(columns, LossConfig(clip_low=0.2, clip_high=0.2, tokens_per_episode=1), 1)
    # min(3, 1.2 * 2), min(-0.5, 0.8 * -1), min(-4.5, 1.2 * -3): clipped, clipped, not
    assert float(loss.detach()) == pytest.approx(-(0.5 * 2.4 + 1.0 * -0.8 + 0.25 * -4.5))
    assert int(parts["clipped"]) == 2
    loss.backward()
    assert columns.logprobs.grad.tolist() == pytest.approx([0.0, 0.0, 1.125])


def test_clip_on_one_side_only():
    upper, _ = policy_loss(batch(), LossConfig(clip_high=0.2, tokens_per_episode=1), 1)
    assert float(upper.detach()) == pytest.approx(-(0.5 * 2.4 + 1.0 * -0.5 + 0.25 * -4.5))
    lower, _ = policy_loss(batch(), LossConfig(clip_low=0.2, tokens_per_episode=1), 1)
    assert float(lower.detach()) == pytest.approx(-(0.5 * 3.0 + 1.0 * -0.8 + 0.25 * -4.5))


def test_k3_by_hand():
    logprobs = BEHAVIOUR.clone().requires_grad_()
    reference = BEHAVIOUR + torch.tensor([0.0, math.log(2.0), -math.log(2.0)])
    columns = batch(logprobs=logprobs, advantages=torch.zeros(3), reference_logprobs=reference)
    loss, parts = policy_loss(columns, LossConfig(kl_coefficient=0.1, tokens_per_episode=1), 1)
    # r - 1 - ln r for r = 1, 2, 1/2
    k3 = [0.0, 1.0 - math.log(2.0), -0.5 + math.log(2.0)]
    total = sum(w * k for w, k in zip(WEIGHTS, k3, strict=True))
    assert float(parts["kl_reference"]) == pytest.approx(total)
    assert float(loss.detach()) == pytest.approx(0.1 * total)
    loss.backward()
    assert logprobs.grad.tolist() == pytest.approx([0.0, 0.1 * 1.0 * -1.0, 0.1 * 0.25 * 0.5])  # w (1 - r)


def test_divergence_from_the_behaviour_policy_by_hand():
    _, parts = policy_loss(batch(), LossConfig(), 1)
    assert float(parts["kl_behaviour"]) == pytest.approx(sum(r - 1 - math.log(r) for r in RATIOS))


def test_entropy_bonus_and_value_error_by_hand():
    values = torch.tensor([1.0, 0.0, 0.5], requires_grad=True)
    columns = batch(advantages=torch.zeros(3), values=values, value_targets=torch.tensor([0.0, 0.0, 1.5]))
    config = LossConfig(entropy_coefficient=0.1, value_coefficient=0.5, tokens_per_episode=1)
    loss, parts = policy_loss(columns, config, 1)
    # entropy 0.05 + 0.2 + 0.075; squared errors 0.5 * 1 + 0.25 * 1
    assert float(parts["value_error"]) == pytest.approx(0.75)
    assert float(loss.detach()) == pytest.approx(-0.1 * 0.325 + 0.5 * 0.5 * 0.75)
    loss.backward()
    assert values.grad.tolist() == pytest.approx([0.5 * 0.5 * 1.0, 0.0, 0.5 * 0.25 * -1.0])


def test_the_normaliser_is_fixed_in_advance():
    one, _ = policy_loss(batch(), LossConfig(tokens_per_episode=1), 1)
    some, _ = policy_loss(batch(), LossConfig(tokens_per_episode=16), 5)
    assert float(some.detach()) == pytest.approx(float(one.detach()) / 80)


def test_a_batch_in_two_parts_is_the_sum_of_its_parts():
    config = LossConfig(clip_low=0.2, clip_high=0.2, entropy_coefficient=0.1)
    whole, _ = policy_loss(batch(), config, 2)
    columns = vars(batch())
    parts = [
        policy_loss(TokenBatch(**{k: v[cut] for k, v in columns.items() if v is not None}), config, 2)[0]
        for cut in (slice(0, 1), slice(1, 3))
    ]
    assert float(whole.detach()) == pytest.approx(float(sum(parts).detach()))

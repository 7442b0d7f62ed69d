"""Importance correction: hand-worked tokens, and the learner against credit that was corrected by hand."""

import copy
import math

import numpy as np
import pytest
import torch

from algos.base import Plan
from algos.credit import tree_credit
from algos.engines.base import Sampling
from algos.learner import Learner, OptimizerConfig, score
from algos.ledger import Ledger
from algos.losses import LossConfig, TokenBatch, policy_loss
from algos.packing import pack
from algos.rollout import Rollout, RolloutConfig

BEHAVIOUR = torch.tensor([-1.0, -2.0, -0.5])
OLD = BEHAVIOUR + torch.tensor([3.0, 0.5, 1.2]).log()  # with a limit of 2, corrected by 2, 0.5 and 1.2
LIMIT = 2.0


def batch(**columns) -> TokenBatch:
    given = {
        "logprobs": (OLD + torch.tensor([1.5, 0.5, 1.1]).log()).requires_grad_(),
        "entropies": torch.tensor([0.1, 0.2, 0.3]),
        "behaviour_logprobs": BEHAVIOUR,
        "advantages": torch.tensor([2.0, -1.0, -3.0]),
        "weights": torch.tensor([0.5, 1.0, 0.25]),
        "old_logprobs": OLD,
    }
    return TokenBatch(**(given | columns))


def test_each_term_is_multiplied_by_the_truncated_ratio():
    columns = batch()
    loss, parts = policy_loss(columns, LossConfig(tokens_per_episode=1), 1, LIMIT)
    # 0.5 * 2 * 1.5 * 2 + 1 * 0.5 * 0.5 * -1 + 0.25 * 1.2 * 1.1 * -3 = 3 - 0.25 - 0.99
    assert float(loss.detach()) == pytest.approx(-1.76)
    assert float(parts["importance"]) == pytest.approx(3 + 0.5 + 1.2)
    assert int(parts["importance_truncated"]) == 1
    loss.backward()
    assert columns.logprobs.grad.tolist() == pytest.approx([-3.0, 0.25, 0.99])


def test_the_clip_is_around_the_learners_own_old_probability():
    columns = batch()
    loss, parts = policy_loss(columns, LossConfig(clip_low=0.2, clip_high=0.2, tokens_per_episode=1), 1, LIMIT)
    # token 0 at 1.2 and token 1 at 0.8, without gradient; 1.1 is inside: 0.5*2*1.2*2 + 0.5*0.8*-1 + 0.25*1.2*1.1*-3
    assert float(loss.detach()) == pytest.approx(-(2.4 - 0.4 - 0.99))
    assert int(parts["clipped"]) == 2
    loss.backward()
    assert columns.logprobs.grad.tolist() == pytest.approx([0.0, 0.0, 0.99])


def test_the_kl_of_sampled_tokens_is_corrected_and_what_is_of_states_is_not():
    logprobs = batch().logprobs.detach()
    columns = batch(
        reference_logprobs=logprobs + torch.tensor([2.0, 1.0, 0.5]).log(),
        values=torch.tensor([1.0, 0.0, 0.0]),
        value_targets=torch.zeros(3),
    )
    config = LossConfig(kl_coefficient=1.0, entropy_coefficient=1.0, tokens_per_episode=1)
    loss, parts = policy_loss(columns, config, 1, LIMIT)
    kl = 0.5 * 2 * (1 - math.log(2)) + 0.25 * 1.2 * (math.log(2) - 0.5)
    assert float(parts["kl_reference"]) == pytest.approx(kl)
    assert float(parts["value_error"]) == pytest.approx(0.5)
    assert float(loss.detach()) == pytest.approx(-1.76 + kl - (0.05 + 0.2 + 0.075) + 0.25 * 0.5)


def test_how_far_the_engine_is_off_is_reported_whatever_is_corrected():
    # engine against learner: r - 1 - log r with r = 4.5, 0.25, 1.32
    expected = sum(r - 1 - math.log(r) for r in (4.5, 0.25, 1.32))
    for columns in (batch(), batch(old_logprobs=None)):
        assert float(policy_loss(columns, LossConfig(), 1, LIMIT)[1]["kl_behaviour"]) == pytest.approx(
            expected, rel=1e-5
        )


@pytest.fixture
def trees(policy, letters):
    """Rollouts whose behaviour log-probs are another engine's."""
    policy.model.double()
    rollout = Rollout(letters, policy.engine(), policy.prompts, RolloutConfig(max_invalid_actions=None), Ledger())
    trees = rollout.collect(letters.task_ids[:4], Plan(3), Sampling(1.0, 5), 1)
    rng = np.random.default_rng(0)
    for segment in (s for tree in trees for s in tree.segments):
        off = rng.normal(0, 0.4, len(segment)) * np.asarray(segment.written)
        segment.logprobs = (np.asarray(segment.logprobs) + off).tolist()
    return trees


def corrected_by_hand(policy, trees, limit):
    """Trees whose behaviour is the learner's own, with the ratios in the credit's weights."""
    trees = copy.deepcopy(trees)
    credits = [tree_credit(tree) for tree in trees]
    cut = total = 0
    for tree, credit in zip(trees, credits, strict=True):
        packed = pack([tree])
        own = np.zeros(packed.tokens.shape[1])
        with torch.no_grad():
            own[packed.written.numpy()] = score(policy, packed, 1.0).logprobs.numpy()
        for _, i, start in packed.segments:
            segment = tree.segments[i]
            mine = own[start : start + len(segment)]
            ratios = np.exp(mine - np.asarray(segment.logprobs))
            cut += int((ratios > limit)[np.asarray(segment.written, bool)].sum())
            total += int(np.sum(segment.written))
            credit.weights[i] = credit.weights[i] * np.where(segment.written, np.minimum(ratios, limit), 1.0)
            segment.logprobs = mine.tolist()
    return trees, credits, cut / total


@pytest.mark.parametrize(("epochs", "minibatches"), [(1, 1), (2, 2)])
def test_the_learner_corrects_as_one_would_by_hand(policy, trees, epochs, minibatches):
    loss = LossConfig(clip_low=0.1, clip_high=0.1, kl_coefficient=1e-9)  # so that no segment is pruned
    config = OptimizerConfig(lr=1e-2, micro_batch_tokens=100)
    reference, twin = copy.deepcopy(policy), copy.deepcopy(policy)
    by_hand, hand_credits, cut = corrected_by_hand(policy, trees, 1.5)
    assert 0 < cut < 0.5
    credits = [tree_credit(tree) for tree in trees]
    learner = Learner(policy, config, 1.0, 10, importance_limit=1.5)
    metrics = learner.update(trees, credits, loss, 0, epochs, minibatches, reference)
    expected = Learner(twin, config, 1.0, 10).update(by_hand, hand_credits, loss, 0, epochs, minibatches, reference)
    for mine, theirs in zip(policy.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)  # a mistake is of the size of lr
    assert metrics["importance_truncated"] == pytest.approx(cut)
    assert metrics["loss"] == pytest.approx(expected["loss"], rel=1e-4)
    assert metrics["clipped"] == pytest.approx(expected["clipped"])
    assert "importance_truncated" not in expected

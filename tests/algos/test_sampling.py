"""Truncated sampling by hand and in the engine; its log-probs are the learner's, before and after an update."""

import copy

import numpy as np
import pytest
import torch
from policies import entropy, plain_copy, plain_logprobs, sharpened
from sizes import SMALL

from algos.base import Plan
from algos.branching import ThresholdRule
from algos.credit import tree_credit
from algos.engines.base import Request, Sampling
from algos.engines.transformers import truncate
from algos.learner import Learner, OptimizerConfig, score
from algos.ledger import Ledger
from algos.losses import LossConfig
from algos.packing import pack
from algos.policy import Policy
from algos.rollout import Rollout, RolloutConfig
from algos.tiny import build_model

PROBS = (0.05, 0.5, 0.15, 0.3)


@pytest.mark.parametrize(
    ("top_p", "top_k", "left"),
    [
        (1.0, 0, {0: 0.05, 1: 0.5, 2: 0.15, 3: 0.3}),
        (0.79, 0, {1: 0.5 / 0.8, 3: 0.3 / 0.8}),  # 0.5 is not enough, 0.8 is
        (0.81, 0, {1: 0.5 / 0.95, 3: 0.3 / 0.95, 2: 0.15 / 0.95}),
        (0.001, 0, {1: 1.0}),
        (1.0, 1, {1: 1.0}),
        (1.0, 3, {1: 0.5 / 0.95, 3: 0.3 / 0.95, 2: 0.15 / 0.95}),
        (1.0, 9, {0: 0.05, 1: 0.5, 2: 0.15, 3: 0.3}),
        (0.6, 2, {1: 1.0}),  # of two, the first has 0.5 / 0.8 = 0.625
    ],
)
def test_what_is_left_by_hand(top_p, top_k, left):
    expected = [left.get(token, 0.0) for token in range(4)]
    rows = torch.tensor([PROBS, PROBS]).log()
    assert truncate(rows, top_p, top_k).exp().tolist() == [pytest.approx(expected)] * 2


def test_among_equals_the_first_are_left():
    assert truncate(torch.full((1, 4), 0.25).log(), 1.0, 2).exp().tolist() == [pytest.approx([0.5, 0.5, 0, 0])]


@pytest.mark.parametrize("arguments", [{"top_p": 0.0}, {"top_p": 1.1}, {"top_k": -1}])
def test_impossible_truncation_is_an_error(arguments):
    with pytest.raises(ValueError, match="0 < top_p <= 1 and top_k >= 0"):
        Sampling(**arguments)


def test_only_what_can_lose_tokens_is_truncated():
    assert not Sampling().truncated
    assert not Sampling(0.0, top_p=0.5, top_k=3).truncated  # greedy
    assert Sampling(top_p=0.9).truncated
    assert Sampling(top_k=50).truncated


@pytest.mark.parametrize(("top_p", "top_k"), [(0.8, 0), (1.0, 3), (0.9, 4)])
@torch.no_grad()
def test_the_engine_records_the_distribution_that_it_sampled_from(policy, top_p, top_k):
    policy.model.double()
    engine, plain = policy.engine(), plain_copy(policy.model)
    requests = [Request(engine.open(), [20 + n, 30], 100 + n, 6) for n in range(20)]
    cut = 0
    for request, done in zip(
        requests, engine.generate(requests, Sampling(0.9, 6, top_p, top_k), frozenset()), strict=True
    ):
        text = [*request.tokens, *done.tokens]
        logprobs = plain_logprobs(plain, text, 0.9)[1:]
        torch.testing.assert_close(torch.tensor(done.entropies), entropy(logprobs), atol=3e-5, rtol=1e-5)
        for row, token, logprob in zip(logprobs.exp().numpy(), done.tokens, done.logprobs, strict=True):
            order = np.argsort(-row, kind="stable")[: top_k or len(row)]
            reached = np.cumsum(row[order] / row[order].sum())
            kept = order[: int(np.searchsorted(reached, top_p)) + 1] if top_p < 1 else order
            assert token in kept
            assert logprob == pytest.approx(np.log(row[token] / row[kept].sum()), abs=1e-4)
            cut += row[kept].sum() < 0.999
    assert cut > 20


def test_top_k_1_is_greedy(policy):
    policy.model.double()
    engine = policy.engine()
    requests = [Request(engine.open(), [20, 30], 7, 12) for _ in range(2)]
    one = engine.generate(requests[:1], Sampling(1.0, 12, top_k=1), frozenset())[0]
    greedy = engine.generate(requests[1:], Sampling(0.0, 12), frozenset())[0]
    assert one.tokens == greedy.tokens
    assert one.logprobs == pytest.approx([0.0] * 12)
    assert one.entropies == pytest.approx(greedy.entropies)


def difference(policy, trees, temperature: float) -> float:
    """Largest difference between the rollouts' log-probs and the learner's."""
    packed = pack(trees)
    with torch.no_grad():
        return float((score(policy, packed, temperature).logprobs - packed.behaviour_logprobs).abs().max())


def test_engine_and_learner_agree_in_float32_also_after_an_update(letters_tokenizer, letters):
    policy = Policy.of(sharpened(build_model(letters_tokenizer, SMALL, 5), matrices=4.0), letters_tokenizer)
    sampling = Sampling(0.8, 5)

    def play(seed: int):
        rollout = Rollout(letters, policy.engine(), policy.prompts, RolloutConfig(max_invalid_actions=None), Ledger())
        rule = ThresholdRule(children=3, threshold=1.0, max_branches=2)
        return rollout.collect(letters.task_ids[:4], Plan(3, rule), sampling, seed)

    before = copy.deepcopy(policy)
    trees = play(1)
    assert difference(policy, trees, 0.8) < 1e-4
    learner = Learner(policy, OptimizerConfig(lr=5e-3), 0.8, 10)
    credits = [tree_credit(tree) for tree in trees]
    for credit in credits:
        credit.advantages = [np.ones_like(a) for a in credit.advantages]
    learner.update(trees, credits, LossConfig(), 0)
    after = play(2)
    assert difference(policy, after, 0.8) < 1e-4
    assert difference(before, after, 0.8) > 1e-2  # stale weights would show

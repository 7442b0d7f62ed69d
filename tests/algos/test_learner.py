"""The learner: one gradient for every grouping, nothing from environment text, values, KL, resume."""

import copy

import numpy as np
import pytest
import torch
from policies import gradient, plain_copy

from algos.base import Plan
from algos.branching import ThresholdRule
from algos.credit import Credit, tree_credit
from algos.engines.base import Sampling
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.losses import LossConfig
from algos.policy import Policy
from algos.rollout import Rollout, RolloutConfig

OFF_POLICY = LossConfig(clip_low=0.2, clip_high=0.2, kl_coefficient=0.1, entropy_coefficient=0.01)


@pytest.fixture(autouse=True)
def double_precision(policy):
    """So that differences are mistakes and not rounding, which the sharpened weights amplify."""
    policy.model.double()


@pytest.fixture
def trees(policy, letters):
    """Branching rollouts of four tasks; the behaviour log-probs are made stale, so that ratios differ from 1."""
    rollout = Rollout(letters, policy.engine(), policy.prompts, RolloutConfig(max_invalid_actions=None), Ledger())
    rule = ThresholdRule(children=3, threshold=1.0, max_branches=2)
    trees = rollout.collect(letters.task_ids[:4], Plan(2, rule), Sampling(1.0, 5), 1)
    assert sum(len(s.children) > 1 for t in trees for s in t.segments[1:]) >= 3
    rng = np.random.default_rng(0)
    for tree in trees:
        for segment in tree.segments:
            stale = rng.normal(0, 0.2, len(segment)) * np.asarray(segment.written)
            segment.logprobs = (np.asarray(segment.logprobs) + stale).tolist()
    return trees


@pytest.fixture
def reference(policy) -> Policy:
    other = copy.deepcopy(policy)
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.add_(0.01 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    return other


def gradient_of(policy, trees, credits, loss=OFF_POLICY, tokens=10_000, reference=None):
    policy.model.zero_grad()
    learner = Learner(policy, OptimizerConfig(micro_batch_tokens=tokens), 0.8, 1)
    sums = learner.accumulate_gradient(trees, credits, loss, reference)
    return gradient(policy.model), sums


def close(a, b, tolerance=1e-5) -> bool:
    return float((a - b).norm() / b.norm()) < tolerance


def test_every_micro_batch_split_gives_the_same_gradient(policy, trees, reference):
    credits = [tree_credit(t) for t in trees]
    whole, sums = gradient_of(policy, trees, credits, reference=reference)
    assert float(whole.norm()) > 0
    for tokens in (1, 300, 700):
        split, split_sums = gradient_of(policy, trees, credits, tokens=tokens, reference=reference)
        assert close(split, whole)
        assert split_sums == pytest.approx(sums, rel=1e-4)


def test_the_order_of_trees_does_not_matter(policy, trees, reference):
    credits = [tree_credit(t) for t in trees]
    one, _ = gradient_of(policy, trees, credits, reference=reference)
    other, _ = gradient_of(policy, trees[::-1], credits[::-1], reference=reference)
    assert close(other, one)


def test_the_policy_gradient_is_that_of_the_unpacked_paths(policy, trees):
    """Against plain transformers: sum over tokens of weight * advantage * ratio * grad log pi."""
    credits = [tree_credit(t) for t in trees]
    loss = LossConfig(tokens_per_episode=64)
    mine, _ = gradient_of(policy, trees, credits, loss)
    plain = plain_copy(policy.model)
    total = torch.zeros(())
    for tree, credit in zip(trees, credits, strict=True):
        done = set()
        for leaf in tree.leaves():
            path = [(i, j) for i in tree.path(leaf) for j in range(len(tree.segments[i]))]
            tokens = torch.tensor([[tree.segments[i].tokens[j] for i, j in path]])
            logprobs = (plain(tokens).logits[0] / 0.8).log_softmax(-1)
            for n, (i, j) in enumerate(path):
                segment = tree.segments[i]
                if segment.written[j] and (i, j) not in done:
                    done.add((i, j))
                    ratio = (logprobs[n - 1, segment.tokens[j]] - segment.logprobs[j]).exp()
                    total = total - credit.weights[i][j] * credit.advantages[i][j] * ratio
    (total / (len(trees) * 64)).backward()
    assert close(mine, gradient(plain))


def test_environment_tokens_teach_nothing(policy, trees, reference):
    credits = [tree_credit(t) for t in trees]
    before, sums = gradient_of(policy, trees, credits, reference=reference)
    for tree, credit in zip(trees, credits, strict=True):
        for i, segment in enumerate(tree.segments):
            read = ~np.asarray(segment.written, bool)
            credit.advantages[i][read] = 1e6
            credit.weights[i][read] = np.nan
            segment.logprobs = np.where(read, -77.0, segment.logprobs).tolist()
            segment.entropies = np.where(read, 1e9, segment.entropies).tolist()
    after, after_sums = gradient_of(policy, trees, credits, reference=reference)
    assert torch.equal(after, before)
    assert after_sums == sums


def test_failed_leaves_and_ties_teach_nothing(policy, trees):
    for tree in trees:
        for i in tree.leaves():
            tree.segments[i].outcome.failed = True
    failed, _ = gradient_of(policy, trees, [tree_credit(t) for t in trees], LossConfig())
    assert not failed.any()
    for tree in trees:
        for i in tree.leaves():
            tree.segments[i].outcome.failed = False
            tree.segments[i].outcome.return_ = 0.5
    tied, _ = gradient_of(policy, trees, [tree_credit(t) for t in trees], LossConfig())
    assert not tied.any()


def test_leaving_out_segments_without_credit_changes_no_gradient(policy, trees):
    """A tiny entropy bonus makes the learner run all segments."""
    for number, tree in enumerate(trees):
        for n, i in enumerate(tree.leaves()):
            tree.segments[i].outcome.return_ = 0.1 * n if number == 0 else 0.5
    credits = [tree_credit(t) for t in trees]
    pruned, pruned_sums = gradient_of(policy, trees, credits, LossConfig())
    whole, sums = gradient_of(policy, trees, credits, LossConfig(entropy_coefficient=1e-12))
    assert pruned_sums["trained_tokens"] < sums["trained_tokens"]
    assert float(whole.norm()) > 1e-6
    assert close(pruned, whole, 1e-6)


def test_kl_needs_a_reference(policy, trees):
    with pytest.raises(ValueError, match="a KL term needs a reference policy"):
        gradient_of(policy, trees, [tree_credit(t) for t in trees])


def test_kl_to_itself_has_no_gradient(policy, trees):
    nothing = [Credit.zeros(t) for t in trees]
    for credit in nothing:
        credit.weights = [w + 1.0 for w in credit.weights]
    loss = LossConfig(kl_coefficient=1.0)
    grad, sums = gradient_of(policy, trees, nothing, loss, reference=copy.deepcopy(policy))
    assert sums["kl_reference"] == pytest.approx(0.0, abs=1e-6)
    assert float(grad.norm()) < 1e-6


def test_values_are_those_of_the_state_before_each_token(policy, trees):
    policy.add_value_head()
    with torch.no_grad():
        policy.value_head.weight.copy_(torch.randn(1, 32, generator=torch.Generator().manual_seed(0)))
        policy.value_head.bias.fill_(0.3)
    values = Learner(policy, OptimizerConfig(micro_batch_tokens=400), 1.0, 1).values(trees)
    plain = plain_copy(policy.model)
    for tree, tree_values in zip(trees, values, strict=True):
        for leaf in tree.leaves():
            tokens = [t for i in tree.path(leaf) for t in tree.segments[i].tokens]
            with torch.no_grad():
                hidden = plain.model(torch.tensor([tokens])).last_hidden_state[0]
                after = policy.value_head(hidden.float())[:, 0].numpy()
            start = len(tokens) - len(tree.segments[leaf])
            assert tree_values[leaf] == pytest.approx(after[start - 1 :], abs=1e-4)


def test_values_need_a_head(policy, trees):
    with pytest.raises(ValueError, match="no value head"):
        Learner(policy, OptimizerConfig(), 1.0, 1).values(trees)


def value_credits(trees):
    credits = [tree_credit(t) for t in trees]
    for tree, credit in zip(trees, credits, strict=True):
        credit.value_targets = [np.full(len(s), 0.7) for s in tree.segments]
    return credits


def test_the_value_head_learns_its_targets(policy, trees):
    policy.add_value_head()
    learner = Learner(policy, OptimizerConfig(lr=1e-2), 1.0, 20)
    errors = [learner.update(trees, value_credits(trees), LossConfig(), n)["value_error"] for n in range(20)]
    assert errors[0] == pytest.approx(0.49 * np.mean(_weights(trees)), rel=1e-3)  # the head starts at 0
    assert errors[-1] < 0.2 * errors[0]


def _weights(trees):
    credits = [tree_credit(t) for t in trees]
    return [
        w
        for tree, credit in zip(trees, credits, strict=True)
        for segment, weights in zip(tree.segments, credit.weights, strict=True)
        for w, written in zip(weights, segment.written, strict=True)
        if written
    ]


def test_schedule_and_embedding_rate(policy, trees):
    policy.add_value_head()
    config = OptimizerConfig(lr=1e-3, final_lr_factor=0.2, warmup=2, embedding_lr_factor=0.1, value_lr_factor=30.0)
    learner = Learner(policy, config, 1.0, 10)
    credits = [tree_credit(t) for t in trees]
    rates = [learner.update(trees, credits, LossConfig(), step)["lr"] for step in (0, 1, 5, 10, 12)]
    # warm-up halves the first; then 1 - 0.8 * step / 10, never below 0.2
    assert rates == pytest.approx([0.5e-3, 0.92e-3, 0.6e-3, 0.2e-3, 0.2e-3])
    assert learner.optimizer.param_groups[1]["lr"] == pytest.approx(0.02e-3)
    embedding = policy.model.get_input_embeddings().weight
    assert [p is embedding for p in learner.optimizer.param_groups[1]["params"]] == [True]
    assert learner.optimizer.param_groups[2]["lr"] == pytest.approx(6e-3)
    head = policy.value_head
    assert [p is q for p, q in zip(learner.optimizer.param_groups[2]["params"], head.parameters(), strict=True)] == [
        True
    ] * 2
    rest = learner.optimizer.param_groups[0]["params"]
    assert not {id(p) for p in rest} & {id(p) for p in (embedding, *head.parameters())}
    assert sum(map(len, (group["params"] for group in learner.optimizer.param_groups))) == len(policy.parameters())


def test_gradients_are_scaled_down_to_the_greatest_norm(policy, trees):
    credits = [tree_credit(t) for t in trees]
    grad, _ = gradient_of(policy, trees, credits, LossConfig())
    policy.model.zero_grad()
    learner = Learner(policy, OptimizerConfig(max_grad_norm=1e-3), 0.8, 1)
    assert learner.update(trees, credits, LossConfig(), 0)["grad_norm"] == pytest.approx(float(grad.norm()), rel=1e-4)


def test_minibatches_are_steps_of_their_own(policy, trees):
    """Two minibatches are two updates with every other tree."""
    credits = [tree_credit(t) for t in trees]
    twin = copy.deepcopy(policy)
    config = OptimizerConfig(final_lr_factor=1.0)
    Learner(policy, config, 1.0, 4).update(trees, credits, LossConfig(), 0, epochs=2, minibatches=2)
    learner = Learner(twin, config, 1.0, 4)
    for _ in range(2):
        for part in (0, 1):
            learner.update(trees[part::2], credits[part::2], LossConfig(), 0)
    for mine, theirs in zip(policy.model.parameters(), twin.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_resumed_learner_goes_on_with_the_same_numbers(policy, trees, reference, tmp_path):
    policy.model.float()  # as it is loaded
    reference.model.float()
    policy.add_value_head()
    config = OptimizerConfig(lr=1e-3, weight_decay=0.1)

    def steps(learner, first, last):
        return [
            learner.update(trees, value_credits(trees), OFF_POLICY, n, minibatches=2, reference=reference)
            for n in range(first, last)
        ]

    learner = Learner(policy, config, 1.0, 4)
    steps(learner, 0, 2)
    policy.save(tmp_path / "policy")
    torch.save(learner.optimizer.state_dict(), tmp_path / "optimizer.pt")
    expected = steps(learner, 2, 4)
    resumed_policy = Policy.load(tmp_path / "policy")
    resumed = Learner(resumed_policy, config, 1.0, 4)
    resumed.optimizer.load_state_dict(torch.load(tmp_path / "optimizer.pt", weights_only=True))
    assert steps(resumed, 2, 4) == expected
    for mine, theirs in zip(resumed_policy.parameters(), policy.parameters(), strict=True):
        assert torch.equal(mine, theirs)

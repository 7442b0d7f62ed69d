"""Packing: one flat sequence says and teaches what the unpacked paths do."""

import pytest
import torch
from grown import paths_of, random_trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from policies import entropy, gradient, plain_copy, plain_logprobs
from trees import build

from algos.credit import tree_credit
from algos.learner import score
from algos.packing import credited, micro_batches, pack
from algos.tree import ROOT, Tree

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def double_precision(policy):
    """So that differences are mistakes and not rounding, which the sharpened weights amplify."""
    policy.model.double()


def unpacked(model, tree: Tree, temperature: float) -> list[tuple[float, float]]:
    """(log-prob, entropy) tensors of each policy token, path by path, each token once, in packed order."""
    seen: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
    for path in paths_of(tree):
        tokens = [tree.segments[i].tokens[j] for i, j in path]
        logprobs = plain_logprobs(model, tokens, temperature)
        for n, (i, j) in enumerate(path):
            if tree.segments[i].written[j] and (i, j) not in seen:
                seen[i, j] = (logprobs[n - 1, tokens[n]], entropy(logprobs[n - 1]))
    return [seen[key] for key in _packed_order(tree)]


def _packed_order(tree: Tree) -> list[tuple[int, int]]:
    order: list[tuple[int, int]] = []

    def visit(index: int) -> None:
        order.extend((index, j) for j, written in enumerate(tree.segments[index].written) if written)
        for child in tree.segments[index].children:
            visit(child)

    visit(ROOT)
    return order


@quick
@given(trees=st.lists(random_trees(), min_size=1, max_size=2), temperature=st.sampled_from([1.0, 0.6]))
def test_log_probs_entropies_and_gradient_equal_the_unpacked_paths(policy, trees, temperature):
    packed = pack(trees)
    coefficients = torch.linspace(-1.0, 2.0, 2 * len(packed.written)).reshape(2, -1)
    policy.model.zero_grad()
    scored = score(policy, packed, temperature)
    (coefficients[0] @ scored.logprobs + coefficients[1] @ scored.entropies).backward()

    plain = plain_copy(policy.model)
    expected = [pair for tree in trees for pair in unpacked(plain, tree, temperature)]
    logprobs, entropies = (torch.stack(column) for column in zip(*expected, strict=True))
    (coefficients[0] @ logprobs + coefficients[1] @ entropies).backward()

    torch.testing.assert_close(scored.logprobs, logprobs, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(scored.entropies, entropies, atol=2e-5, rtol=1e-5)
    mine, theirs = gradient(policy.model), gradient(plain)
    assert float((mine - theirs).norm() / theirs.norm()) < 1e-5


@quick
@given(tree=random_trees())
def test_positions_and_columns(policy, tree):
    packed = pack([tree])
    assert packed.tokens.shape == packed.positions.shape == (1, tree.unique_tokens())
    for _, i, start in packed.segments:
        depth = tree.path_length(i) - len(tree.segments[i])
        assert packed.tokens[0, start : start + len(tree.segments[i])].tolist() == tree.segments[i].tokens
        count = len(tree.segments[i])
        assert packed.positions[0, start : start + count].tolist() == list(range(depth, depth + count))
    order = _packed_order(tree)
    logprobs = [tree.segments[i].logprobs[j] for i, j in order]
    assert packed.behaviour_logprobs.tolist() == pytest.approx(logprobs)
    assert packed.tokens[0, packed.written].tolist() == [tree.segments[i].tokens[j] for i, j in order]
    assert packed.advantages.tolist() == [0.0] * len(order)
    assert packed.weights.tolist() == [1.0] * len(order)


def test_an_empty_head_takes_its_predecessor_from_above():
    tree = build((2, 1.0))
    tree.segments[ROOT].tokens = [7, 8]
    tree.branch(1, 2)
    sibling = tree.grow(1)
    tree.segments[sibling].write([9], [0.0], [0.0], 0)
    packed = pack([tree])
    assert packed.tokens.tolist() == [[7, 8, 2, 2, 9]]
    assert packed.positions.tolist() == [[0, 1, 2, 3, 2]]
    assert packed.written.tolist() == [2, 3, 4]
    assert packed.previous.tolist() == [1, 2, 1]
    assert packed.layout.ancestors == [[], [0], [0]]


def test_a_policy_token_without_a_past_is_an_error():
    tree = Tree("")
    tree.segments[ROOT].write([1], [0.0], [0.0], 0)
    with pytest.raises(ValueError, match="first token of a tree must be environment text"):
        pack([tree])


def test_micro_batches_keep_order_and_size():
    assert list(micro_batches([3, 4, 10, 2, 2], 7)) == [[0, 1], [2], [3, 4]]
    assert list(micro_batches([3, 4, 10, 2, 2], 1)) == [[0], [1], [2], [3], [4]]
    assert list(micro_batches([3, 0, 4], 100)) == [[0, 2]]
    assert list(micro_batches([], 5)) == []


def test_credited_segments_are_those_with_credit_and_what_leads_to_them():
    tree = build((1, [(1, [(1, 1.0), (1, 0.0)]), (1, 0.5)]), (1, 0.5))
    # values: 2: 0.5, 1: 0.5, roots tie; 2 and 5 tie; only 3 and 4 differ
    assert credited(tree, tree_credit(tree)) == [True, True, True, True, True, False, False]
    tied = build((1, [(1, 1.0), (1, 1.0)]), (1, 1.0))
    assert not any(credited(tied, tree_credit(tied)))


def test_left_out_segments_leave_the_others_as_they_are():
    tree = build((1, [(2, [(1, 1.0), (1, 0.0)]), (3, 0.5)]), (1, 0.5))
    credit = tree_credit(tree)
    packed = pack([tree], [credit], keep=[credited(tree, credit)])
    assert [i for _, i, _ in packed.segments] == [0, 1, 2, 3, 4]
    assert packed.positions.tolist() == [[0, 1, 2, 3, 4, 5, 5]]
    assert packed.advantages.tolist() == [0.0, 0.0, 0.0, 1.0, -1.0]
    assert packed.weights.tolist() == [0.5, 0.25, 0.25, 0.125, 0.125]

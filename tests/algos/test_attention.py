"""Attention: the layout's is plain attention over each path; without a layout nothing changes."""

import pytest
import torch
from grown import random_trees
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import plain_copy

from algos.attention import (
    FlexTreeLayout,
    TreeLayout,
    causal_attention,
    lower_right_mask,
    subtree_ends,
    tree_layout,
)
from algos.packing import pack

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without")


def plain(query, key, value, scale):
    """Attention of the last tokens over a sequence, written out."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    new, total = query.shape[2], key.shape[2]
    logits = query @ key.transpose(2, 3) * scale
    future = torch.arange(total)[None] > torch.arange(total - new, total)[:, None]
    return logits.masked_fill(future, -torch.inf).softmax(-1) @ value


def drawn(heads: int, tokens: int, seed: int) -> torch.Tensor:
    return torch.randn(1, heads, tokens, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_lower_right_mask_by_hand():
    assert lower_right_mask(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]
    assert lower_right_mask(3, 3) is None
    assert lower_right_mask(1, 2).tolist() == [[True, True]]


def test_causal_attention_with_grouped_heads():
    for new in (1, 3, 6):
        query, key, value = drawn(4, new, 0), drawn(2, 6, 1), drawn(2, 6, 2)
        got = causal_attention(query, key, value, 0.3, lower_right_mask(new, 6))
        torch.testing.assert_close(got, plain(query, key, value, 0.3))


def test_tree_layout_is_attention_over_each_path():
    spans = [3, 2, 4, 1, 2]
    ancestors = [[], [0], [0], [0, 2], []]  # two trees
    query, key, value = drawn(4, 12, 0), drawn(2, 12, 1), drawn(2, 12, 2)
    got = TreeLayout(spans, ancestors).attend(0, query, key, value, 0.3)
    starts = [0, 3, 5, 9, 10]
    for i, above in enumerate(ancestors):
        own = list(range(starts[i], starts[i] + spans[i]))
        path = [t for a in above for t in range(starts[a], starts[a] + spans[a])] + own
        torch.testing.assert_close(got[:, :, own], plain(query[:, :, own], key[:, :, path], value[:, :, path], 0.3))


def test_where_subtrees_end_by_hand():
    # two trees: 0 over 1 and 2, 2 over 3; and 4
    assert subtree_ends([3, 2, 4, 1, 2], [[], [0], [0], [0, 2], []]) == [10, 5, 10, 10, 12]


def test_segments_out_of_order_are_an_error():
    with pytest.raises(ValueError, match="depth-first order"):
        subtree_ends([1, 1, 1, 1], [[], [0], [0], [0, 1]])


@torch.no_grad()
@settings(max_examples=15, deadline=None)
@given(trees=st.lists(random_trees(), min_size=1, max_size=2))
def test_flex_attention_is_attention_over_each_path(trees):
    layout = pack(trees).layout
    assert isinstance(layout, TreeLayout)
    tokens = sum(layout.spans)
    query, key, value = drawn(4, tokens, 0), drawn(2, tokens, 1), drawn(2, tokens, 2)
    flex = FlexTreeLayout(layout.spans, layout.ancestors)
    torch.testing.assert_close(flex.attend(0, query, key, value, 0.3), layout.attend(0, query, key, value, 0.3))


@torch.no_grad()
def test_flex_attention_over_several_blocks():
    """Blocks are 128 tokens wide."""
    spans, ancestors = [150, 200, 90, 130], [[], [0], [0], [0, 2]]
    query, key, value = drawn(2, 570, 0), drawn(2, 570, 1), drawn(2, 570, 2)
    flex, each = FlexTreeLayout(spans, ancestors), TreeLayout(spans, ancestors)
    torch.testing.assert_close(flex.attend(0, query, key, value, 0.3), each.attend(0, query, key, value, 0.3))


def test_a_cpu_attends_segment_by_segment():
    assert isinstance(tree_layout([2], [[]], torch.device("cpu")), TreeLayout)
    assert isinstance(tree_layout([2], [[]]), TreeLayout)


@torch.no_grad()
def test_without_a_layout_the_model_is_the_plain_one(policy):
    tokens = torch.arange(5, 25)[None]
    expected = plain_copy(policy.model)(tokens).logits
    torch.testing.assert_close(policy.model(tokens).logits, expected, atol=1e-4, rtol=1e-5)

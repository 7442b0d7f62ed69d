"""Attention: the layout's is plain attention over each path; without a layout nothing changes."""

import torch
from policies import plain_copy

from algos.attention import TreeLayout, causal_attention, lower_right_mask


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


@torch.no_grad()
def test_without_a_layout_the_model_is_the_plain_one(policy):
    tokens = torch.arange(5, 25)[None]
    expected = plain_copy(policy.model)(tokens).logits
    torch.testing.assert_close(policy.model(tokens).logits, expected, atol=1e-4, rtol=1e-5)

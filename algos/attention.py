"""Attention over flat token sequences whose structure is given by a layout object.

Invariant: a model call with a layout is one row of tokens, shape (1, tokens); which token
sees which is decided by the ``layout`` passed to the model, never by padding. Models
are loaded with ``attn_implementation=ATTENTION``; without a layout they take whole,
unpadded sequences only (transformers prepares no mask for an attention of this kind).
Load a policy's folder without it for anything else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

ATTENTION = "sandgym_layout"


class Layout(Protocol):
    """Computes attention for one layer of a flat batch."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None) -> Tensor:
        """Attention output.

        Args:
            layer: index of the layer.
            query: shape (1, heads, tokens, head size).
            key: shape (1, key-value heads, tokens, head size).
            value: like ``key``.
            scale: factor of the logits before the softmax.

        Returns:
            Shape (1, heads, tokens, head size).
        """


def layout_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, None]:
    """Attention function in the form that transformers calls."""
    layout: Layout | None = kwargs.get("layout")
    if layout is None:
        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, **kwargs)
        return output, None
    output = layout.attend(module.layer_idx, query, key, value, kwargs.get("scaling"))
    return output.transpose(1, 2), None


AttentionInterface.register(ATTENTION, layout_attention)


def causal_attention(query: Tensor, key: Tensor, value: Tensor, scale: float | None, mask: Tensor | None) -> Tensor:
    """Attention of the last tokens of a sequence over the whole of it.

    Args:
        query: shape (1, heads, new tokens, head size).
        key: shape (1, key-value heads, all tokens, head size).
        value: like ``key``.
        scale: factor of the logits.
        mask: ``lower_right_mask(new, all)``, or None when all tokens are new.
    """
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    return scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None, scale=scale)


def lower_right_mask(new: int, total: int, device: torch.device | None = None) -> Tensor | None:
    """True where token ``total - new + i`` may see token ``j``; None when plain causal masking says the same."""
    if new == total:
        return None
    return torch.ones(new, total, dtype=torch.bool, device=device).tril(total - new)


class TreeLayout:
    """Every token sees its own segment's past and the segments above; each is computed once.

    Args:
        spans: lengths of the segments in the flat sequence, in order; each at least 1.
        ancestors: for each segment, the segments on the path above it, root first.
        device: of the masks.
    """

    def __init__(self, spans: list[int], ancestors: list[list[int]], device: torch.device | None = None) -> None:
        self.spans = spans
        self.ancestors = ancestors
        self.masks = [
            lower_right_mask(span, span + sum(spans[a] for a in above), device)
            for span, above in zip(spans, ancestors, strict=True)
        ]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None) -> Tensor:
        """See ``Layout.attend``."""
        queries, keys, values = (torch.split(t, self.spans, 2) for t in (query, key, value))
        outputs = []
        for i, (own, above) in enumerate(zip(queries, self.ancestors, strict=True)):
            if above:
                path = [*above, i]
                k, v = torch.cat([keys[a] for a in path], 2), torch.cat([values[a] for a in path], 2)
            else:
                k, v = keys[i], values[i]
            outputs.append(causal_attention(own, k, v, scale, self.masks[i]))
        return torch.cat(outputs, 2)


def tree_layout(spans: list[int], ancestors: list[list[int]], device: torch.device | None = None) -> Layout:
    """The layout of packed trees that suits a device: one block-sparse kernel on CUDA, else a call a segment."""
    if device is not None and device.type == "cuda":
        return FlexTreeLayout(spans, ancestors, device)
    return TreeLayout(spans, ancestors, device)


def subtree_ends(spans: Sequence[int], ancestors: Sequence[Sequence[int]]) -> list[int]:
    """For each segment the flat index after the last token of its last descendant.

    In depth-first order a segment's descendants follow it without a gap, so that token q sees token k exactly when
    ``k <= q < end of k's segment's subtree``.

    Raises:
        ValueError: the segments are not in depth-first order.
    """
    stops = list(accumulate(spans))
    ends, descendants = list(stops), Counter(a for above in ancestors for a in above)
    for stop, above in zip(stops, ancestors, strict=True):
        for a in above:
            ends[a] = stop
    if any(bisect_right(stops, end) - i - 1 != descendants[i] for i, end in enumerate(ends)):
        raise ValueError("the segments of a tree must be in depth-first order")
    return ends


class FlexTreeLayout:
    """``TreeLayout`` as one call of flex attention a layer, whose blocks skip what no path needs.

    Compiled on CUDA. On a CPU it has no backward pass; there it was tried against ``TreeLayout``.

    Args:
        spans: lengths of the segments in the flat sequence, depth first; each at least 1.
        ancestors: for each segment, the segments on the path above it, root first.
        device: of the mask.
    """

    def __init__(self, spans: list[int], ancestors: list[list[int]], device: torch.device | None = None) -> None:
        from torch.nn.attention.flex_attention import create_block_mask

        per_segment = torch.tensor(subtree_ends(spans, ancestors), device=device)
        ends = per_segment.repeat_interleave(torch.tensor(spans, device=device))

        def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return (key <= query) & (query < ends[key])

        tokens = len(ends)
        self._mask = create_block_mask(sees, None, None, tokens, tokens, device=str(device or "cpu"))

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None) -> Tensor:
        """See ``Layout.attend``."""
        attention = _flex_attention(query.is_cuda)
        grouped = query.shape[1] != key.shape[1]
        output: Tensor = attention(query, key, value, block_mask=self._mask, scale=scale, enable_gqa=grouped)
        return output


@cache
def _flex_attention(compiled: bool) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=True) if compiled else flex_attention

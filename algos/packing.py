"""Trees as flat sequences: every token once, siblings behind one shared prefix.

Invariant: the gradient of a packed micro-batch is the sum of the gradients of its
root-to-leaf paths, with every token counted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algos.attention import TreeLayout
from algos.credit import Credit
from algos.tree import Tree


@dataclass
class Packed:
    """Several trees as one flat sequence of T tokens, P of which the policy wrote.

    Attributes:
        tokens: shape (1, T).
        positions: shape (1, T); each path counts from 0.
        layout: who sees whom.
        written: shape (P,), flat index of each policy token.
        previous: shape (P,), flat index of the token before it on its path.
        behaviour_logprobs, advantages, weights: shape (P,).
        value_targets: shape (P,) or None.
        segments: for each non-empty segment its (tree, index) and flat start.
    """

    tokens: Tensor
    positions: Tensor
    layout: TreeLayout
    written: Tensor
    previous: Tensor
    behaviour_logprobs: Tensor
    advantages: Tensor
    weights: Tensor
    value_targets: Tensor | None
    segments: list[tuple[int, int, int]]
    firsts: list[int]


def pack(trees: Sequence[Tree], credits: Sequence[Credit] | None = None, device: torch.device | None = None) -> Packed:
    """Concatenate trees; without credit, advantages are 0 and weights 1."""
    tokens: list[int] = []
    positions: list[int] = []
    spans: list[int] = []
    ancestors: list[list[int]] = []
    segments: list[tuple[int, int, int]] = []
    firsts: list[int] = []
    columns: dict[str, list[float]] = {"old": [], "advantage": [], "weight": [], "target": []}
    written: list[int] = []
    previous: list[int] = []
    for t, tree in enumerate(trees):
        slot: dict[int, int] = {}
        above: dict[int, list[int]] = {}
        ends: dict[int, tuple[int, int]] = {}
        for i in _parents_first(tree):
            segment = tree.segments[i]
            path = [] if segment.parent is None else above[segment.parent]
            last, depth = (-1, 0) if segment.parent is None else ends[segment.parent]
            start = len(tokens)
            ends[i] = (start + len(segment) - 1, depth + len(segment)) if len(segment) else (last, depth)
            above[i] = path
            if not len(segment):
                continue
            slot[i] = len(spans)
            above[i] = [*path, slot[i]]
            spans.append(len(segment))
            ancestors.append(path)
            segments.append((t, i, start))
            firsts.append(last)
            tokens += segment.tokens
            positions += range(depth, depth + len(segment))
            mine = np.flatnonzero(segment.written)
            written += (mine + start).tolist()
            previous += [start + j - 1 if j else last for j in mine.tolist()]
            columns["old"] += np.asarray(segment.logprobs)[mine].tolist()
            if credits is not None:
                credit = credits[t]
                columns["advantage"] += credit.advantages[i][mine].tolist()
                columns["weight"] += credit.weights[i][mine].tolist()
                if credit.value_targets is not None:
                    columns["target"] += credit.value_targets[i][mine].tolist()
    if -1 in previous:
        raise ValueError("the first token of a tree must be environment text")

    def column(name: str, default: float) -> Tensor:
        return torch.tensor(columns[name] or [default] * len(written), dtype=torch.float32, device=device)

    return Packed(
        tokens=torch.tensor([tokens], dtype=torch.long, device=device),
        positions=torch.tensor([positions], dtype=torch.long, device=device),
        layout=TreeLayout(spans, ancestors, device),
        written=torch.tensor(written, dtype=torch.long, device=device),
        previous=torch.tensor(previous, dtype=torch.long, device=device),
        behaviour_logprobs=column("old", 0.0),
        advantages=column("advantage", 0.0),
        weights=column("weight", 1.0),
        value_targets=column("target", 0.0) if columns["target"] else None,
        segments=segments,
        firsts=firsts,
    )


def micro_batches(trees: Sequence[Tree], max_tokens: int) -> Iterator[list[int]]:
    """Indices of trees, grouped so that each group has at most ``max_tokens`` tokens (or one tree)."""
    group: list[int] = []
    size = 0
    for i, tree in enumerate(trees):
        tokens = tree.unique_tokens()
        if group and size + tokens > max_tokens:
            yield group
            group, size = [], 0
        group.append(i)
        size += tokens
    if group:
        yield group


def _parents_first(tree: Tree) -> list[int]:
    order, stack = [], [0]
    while stack:
        i = stack.pop()
        order.append(i)
        stack.extend(reversed(tree.segments[i].children))
    return order

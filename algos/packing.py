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

from algos.attention import Layout, tree_layout
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
        segments: for each packed segment its tree, its index there and its flat start.
        firsts: for each packed segment the flat index of the token before it on its path, -1 at a root.
    """

    tokens: Tensor
    positions: Tensor
    layout: Layout
    written: Tensor
    previous: Tensor
    behaviour_logprobs: Tensor
    advantages: Tensor
    weights: Tensor
    value_targets: Tensor | None
    segments: list[tuple[int, int, int]]
    firsts: list[int]


def pack(
    trees: Sequence[Tree],
    credits: Sequence[Credit] | None = None,
    device: torch.device | None = None,
    keep: Sequence[Sequence[bool]] | None = None,
) -> Packed:
    """Concatenate trees; without credit, advantages are 0 and weights 1.

    Args:
        trees: the rollouts.
        credits: their advantages, weights and value targets.
        device: of the tensors.
        keep: for each tree the segments to pack (see ``credited``); a kept segment's
            parents must be kept.
    """
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
        for i in tree.parents_first():
            segment = tree.segments[i]
            path = [] if segment.parent is None else above[segment.parent]
            last, depth = (-1, 0) if segment.parent is None else ends[segment.parent]
            start = len(tokens)
            ends[i] = (start + len(segment) - 1, depth + len(segment)) if len(segment) else (last, depth)
            above[i] = path
            if not len(segment) or (keep is not None and not keep[t][i]):
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
        layout=tree_layout(spans, ancestors, device),
        written=torch.tensor(written, dtype=torch.long, device=device),
        previous=torch.tensor(previous, dtype=torch.long, device=device),
        behaviour_logprobs=column("old", 0.0),
        advantages=column("advantage", 0.0),
        weights=column("weight", 1.0),
        value_targets=column("target", 0.0) if columns["target"] else None,
        segments=segments,
        firsts=firsts,
    )


def credited(tree: Tree, credit: Credit) -> list[bool]:
    """Segments that hold, or lead to, a policy token of non-zero advantage and weight.

    The others contribute nothing to a policy gradient and need not be computed.
    """
    keep = [
        bool(np.any((np.asarray(segment.written, bool)) & (advantages != 0) & (weights != 0)))
        for segment, advantages, weights in zip(tree.segments, credit.advantages, credit.weights, strict=True)
    ]
    for i in reversed(tree.parents_first()):
        keep[i] = keep[i] or any(keep[child] for child in tree.segments[i].children)
    return keep


def micro_batches(sizes: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Indices of the non-empty trees, in groups of at most ``max_tokens`` tokens or of one tree.

    Args:
        sizes: tokens of each tree.
        max_tokens: of a group.
    """
    group: list[int] = []
    size = 0
    for i, tokens in enumerate(sizes):
        if not tokens:
            continue
        if group and size + tokens > max_tokens:
            yield group
            group, size = [], 0
        group.append(i)
        size += tokens
    if group:
        yield group

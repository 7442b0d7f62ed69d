"""What was spent: the columns by which runs are compared at matched compute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from algos.credit import leaf_weights
from algos.tree import Tree


@dataclass
class Ledger:
    """Running totals.

    Attributes:
        episodes: root-to-leaf returns.
        failed: leaves lost to infrastructure failures.
        stopped: leaves ended by roulette.
        env_steps: environment steps taken.
        copied_steps: environment steps that another episode had taken from the same state.
        generated_tokens: tokens that the policy sampled.
        saved_steps, saved_tokens: estimates of what the stopped leaves would have taken and generated: for each
            turn number, the means of the episodes of the same batch that went on from there.
        encoded_tokens: tokens that the engine ran through the model.
        trained_tokens: tokens in learning passes, each shared prefix counted once.
        branches: branch points.
        tied_groups: groups of siblings with equal returns, which teach nothing.
        snapshots: environment states saved or forked.
        snapshot_bytes: their pickled size.
        updates: optimizer batches.
        env_seconds: wall-clock seconds of resets, steps and forks of environments, a part of ``rollout_seconds``.
        rollout_seconds: wall-clock seconds of rollouts.
        learn_seconds: wall-clock seconds of learning.
    """

    episodes: int = 0
    failed: int = 0
    stopped: int = 0
    env_steps: int = 0
    copied_steps: int = 0
    generated_tokens: int = 0
    saved_steps: float = 0.0
    saved_tokens: float = 0.0
    encoded_tokens: int = 0
    trained_tokens: int = 0
    branches: int = 0
    tied_groups: int = 0
    snapshots: int = 0
    snapshot_bytes: int = 0
    updates: int = 0
    env_seconds: float = 0.0
    rollout_seconds: float = 0.0
    learn_seconds: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """All columns by name."""
        return asdict(self)

    @classmethod
    def from_dict(cls, columns: dict[str, float]) -> Ledger:
        """Inverse of ``to_dict``; unknown columns are an error."""
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(columns) - known)
        if unknown:
            raise ValueError(f"unknown ledger columns {unknown}")
        return cls(**columns)  # type: ignore[arg-type]


def saved_by_stopping(trees: Sequence[Tree]) -> tuple[float, float]:
    """Steps and tokens that the stopped leaves would have taken and generated; see ``Ledger.saved_steps``."""
    stopped = [o.steps for t in trees for s in t.segments if (o := s.outcome) is not None and o.stopped]
    if not stopped:
        return 0.0, 0.0
    longest = max(stopped) + 1
    weight, steps, tokens = np.zeros(longest), np.zeros(longest), np.zeros(longest)
    for tree in trees:
        for leaf, w in leaf_weights(tree).items():
            path = [tree.segments[i] for i in tree.path(leaf)]
            when = np.concatenate([np.asarray(s.steps, np.int64)[np.asarray(s.written, bool)] for s in path])
            reached = np.arange(min(longest, int(when[-1]) + 1))
            weight[reached] += w
            steps[reached] += w * (when[-1] + 1 - reached)
            tokens[reached] += w * (len(when) - np.searchsorted(when, reached, side="right"))
    means = np.stack([steps, tokens]) / np.maximum(weight, 1e-12)
    return float(means[0][stopped].sum()), float(means[1][stopped].sum())

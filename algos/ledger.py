"""What was spent: the columns by which runs are compared at matched compute."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields


@dataclass
class Ledger:
    """Running totals.

    Attributes:
        episodes: root-to-leaf returns.
        failed: leaves lost to infrastructure failures.
        env_steps: environment steps taken.
        generated_tokens: tokens that the policy sampled.
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
    env_steps: int = 0
    generated_tokens: int = 0
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

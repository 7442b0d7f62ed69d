"""Checkpoints: everything that the next update depends on, in one atomically written folder.

Invariant: a folder that carries a checkpoint's name is complete. No random state is
stored, because every draw of a run follows from its seed and the update's number.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch

from algos.ledger import Ledger
from algos.policy import Policy

PREFIX = "update-"
KEEP = 2


def save_checkpoint(folder: Path, update: int, policy: Policy, optimizer: Any, algorithm: Any, ledger: Ledger) -> Path:
    """Write ``folder/update-<n>`` and drop all but the newest few.

    Raises:
        OSError: the disk is full or read-only; the earlier checkpoints are untouched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target, partial = folder / f"{PREFIX}{update:06d}", folder / f".partial-{os.getpid()}"
    for abandoned in folder.glob(".partial-*"):  # by a process that was killed
        shutil.rmtree(abandoned, ignore_errors=True)
    try:
        policy.save(partial)
        torch.save(optimizer.state_dict(), partial / "optimizer.pt")
        state = {"update": update, "algorithm": algorithm.state_dict(), "ledger": ledger.to_dict()}
        (partial / "state.json").write_text(json.dumps(state), encoding="utf-8")
        for file in partial.iterdir():
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    for old in checkpoints(folder)[:-KEEP]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def checkpoints(folder: Path) -> list[Path]:
    """Complete checkpoints, oldest first."""
    return sorted(folder.glob(f"{PREFIX}*"))


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The numbers of a checkpoint: ``update``, ``algorithm`` and ``ledger``."""
    state: dict[str, Any] = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    return state

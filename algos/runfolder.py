"""A run's folder: what is written there, and how it is read again.

Layout: ``config.yaml`` (resolved), ``metrics.jsonl`` (one row an update),
``tensorboard/``, ``ledger.json``, ``evaluation.json``, ``start/`` (the policy before
reinforcement learning), ``checkpoints/`` and ``curve.png``.

Invariant: every file is either complete or absent, but for a last line of the metrics
that a crash cut off; ``start`` cuts metrics and evaluations back to the checkpoint that
the run goes on from. One process at a time writes (``lock``), so partial files have fixed names.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from algos.checkpoint import PARTIAL, CheckpointError, checkpoint_name, checkpoints, discard, seal
from algos.config import TrainConfig
from algos.ledger import Ledger
from algos.policy import Policy


class RunFolder:
    """Paths and writers of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.start_policy = path / "start"
        self._writer: Any = None
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, config: TrainConfig) -> RunFolder:
        """A new run.

        Raises:
            FileExistsError: there is a run already.
        """
        if (path / "config.yaml").exists():
            raise FileExistsError(f"{path} holds a run already; go on with --resume {path} or choose another folder")
        path.mkdir(parents=True, exist_ok=True)
        partial = path / f"{PARTIAL}config.yaml"
        config.save(partial)
        partial.replace(path / "config.yaml")
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> tuple[RunFolder, TrainConfig]:
        """An existing run and its configuration.

        Raises:
            FileNotFoundError: the folder holds no run.
        """
        if not (path / "config.yaml").is_file():
            raise FileNotFoundError(f"{path} is not a run folder: it has no config.yaml")
        return cls(path), TrainConfig.load(path / "config.yaml")

    def policy(self, which: str = "latest") -> Path:
        """Folder of a policy of this run: ``"start"``, ``"latest"``, ``"best"`` (see ``best``) or a checkpoint's name.

        Raises:
            FileNotFoundError: the run has no such policy; the message lists those it has.
        """
        found = {p.name: p for p in checkpoints(self.checkpoints)}
        if self.start_policy.is_dir():
            found = {"start": self.start_policy, **found}
        if which == "latest" and found:
            return list(found.values())[-1]
        if which == "best":
            which = self.best() or which
        if which not in found:
            raise FileNotFoundError(f"no policy {which!r} in {self.path}; it has: {', '.join(found) or 'none'}")
        return found[which]

    def best(self) -> str | None:
        """Name of the policy whose evaluation had the highest sampled success, the earliest of equals; None without."""
        found = {when: summary["sampled"] for when, summary in self.evaluations().items()}
        ranks = {when: (s["success"]["mean"], s["score"]["mean"]) for when, s in found.items()}
        ranks = {when: rank for when, rank in ranks.items() if not math.isnan(rank[0])}
        if not ranks:
            return None
        when = max(ranks, key=lambda when: ranks[when])
        if when == "after":
            return self.policy().name
        return "start" if when == "before" else checkpoint_name(_updates_before(when))

    def write_start_policy(self, policy: Policy) -> None:
        """Keep the policy that learning starts from.

        Raises:
            CheckpointError: the disk is full or read-only; nothing is left.
        """
        partial = self.path / f"{PARTIAL}start"
        discard([partial])  # of a process that was killed
        try:
            policy.save(partial)
            seal(partial)
            partial.rename(self.start_policy)
        except BaseException as error:
            discard([partial])
            if isinstance(error, OSError | SafetensorError):
                raise CheckpointError(f"{partial.parent} could not be written: {error}; free some space") from error
            raise

    def lock(self) -> None:
        """Keep other processes from training in this folder until ``close``, or until this process ends.

        Raises:
            BlockingIOError: another one does.
        """
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise BlockingIOError(f"another process is training in {self.path}; wait for it, or stop it") from None

    def start(self, updates: int, finished: bool) -> None:
        """Drop metrics and evaluations of updates that will be made again, and open TensorBoard.

        Args:
            updates: those that the policy has had.
            finished: whether they are all.
        """
        from torch.utils.tensorboard import SummaryWriter

        rows = [row for row in self.metrics() if row["update"] <= updates]
        self._replace("metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        evaluations = self.evaluations()
        kept = {w: s for w, s in evaluations.items() if finished or (w != "after" and _updates_before(w) <= updates)}
        if kept != evaluations:
            self._replace("evaluation.json", json.dumps(kept, indent=1) + "\n")
        self._writer = SummaryWriter(str(self.path / "tensorboard"), purge_step=updates + 1)

    def close(self) -> None:
        """Write out and close what ``lock`` and ``start`` opened; may be called at any time."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def metrics(self) -> list[dict[str, Any]]:
        """Rows of ``metrics.jsonl``; a last line that a crash cut off is ignored."""
        rows: list[dict[str, Any]] = []
        path = self.path / "metrics.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return rows

    def write_metrics(self, row: dict[str, Any]) -> None:
        """Append one update's row."""
        with (self.path / "metrics.jsonl").open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(row) + "\n")
            handle.flush()
            os.fsync(handle.fileno())  # before the checkpoint of the same update
        for name, value in row.items():
            self._writer.add_scalar(name if "/" in name else f"train/{name}", value, row["update"])
        self._writer.flush()

    def evaluations(self) -> dict[str, Any]:
        """Evaluations made so far, by when they were made."""
        path = self.path / "evaluation.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return found

    def write_evaluation(self, when: str, summary: dict[str, Any]) -> None:
        """Add an evaluation."""
        self._replace("evaluation.json", json.dumps({**self.evaluations(), when: summary}, indent=1) + "\n")

    def write_ledger(self, ledger: Ledger) -> None:
        """What the run has spent."""
        self._replace("ledger.json", json.dumps(ledger.to_dict(), indent=1) + "\n")

    def draw_curve(self) -> None:
        """``curve.png`` from the metrics and evaluations."""
        from algos.curve import draw_curve

        draw_curve(self.metrics(), self.evaluations(), self.path / "curve.png")

    def _replace(self, name: str, text: str) -> None:
        partial = self.path / f"{PARTIAL}{name}"
        partial.write_text(text, encoding="utf-8")
        partial.replace(self.path / name)


def _updates_before(when: str) -> int:
    """Updates before an evaluation that ``before`` or ``update <n>`` names."""
    return 0 if when == "before" else int(when.removeprefix("update "))

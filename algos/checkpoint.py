"""Checkpoints: everything that the next update depends on, in one atomically written folder.

Invariant: a folder that carries a checkpoint's name was once complete, and its manifest has the SHA-256 of every file
of it, so that what has been damaged since is found before it is used. No random state is stored, because every draw of
a run follows from its seed and the update's number.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from algos.ledger import Ledger
from algos.policy import Policy

PREFIX = "update-"
PARTIAL, DAMAGED = ".partial-", "damaged-"
MANIFEST, STATE = "manifest.json", "state.json"
FORMAT = 3  # 1 had no manifest, 2 another state of BPO
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

log = logging.getLogger("sandgym")


class CheckpointError(OSError):
    """A checkpoint could not be written or cannot be used; the message says what to do."""


class DamagedError(CheckpointError):
    """Files of a checkpoint are not what they were when it was written."""


def checkpoint_name(update: int) -> str:
    """Name of the folder of the checkpoint after ``update`` updates."""
    return f"{PREFIX}{update:06d}"


def save_checkpoint(
    folder: Path,
    update: int,
    policy: Policy,
    optimizer: Any,
    algorithm: Any,
    ledger: Ledger,
    keep: int = 2,
    best: str | None = None,
) -> Path:
    """Write ``folder/update-<n>`` and drop all but the newest few and the best.

    Args:
        folder: of the checkpoints.
        update: number of updates made.
        policy: written as an ordinary model folder.
        optimizer: of torch.
        algorithm: what it has learned is written.
        ledger: what has been spent.
        keep: of the newest checkpoints, this one included.
        best: name of a checkpoint that is kept, too.

    Raises:
        CheckpointError: the disk is full or read-only; the earlier checkpoints are untouched.
    """
    target, partial = folder / checkpoint_name(update), folder / f"{PARTIAL}{checkpoint_name(update)}"
    state = {"update": update, "algorithm": algorithm.state_dict(), "ledger": ledger.to_dict()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        discard(folder.glob(f"{PARTIAL}*"))  # of a process that was killed
        policy.save(partial)
        _save_optimizer(optimizer, partial / "optimizer.pt")
        (partial / STATE).write_text(json.dumps({"format": FORMAT, **state}), encoding="utf-8")
        seal(partial)
        if target.exists():
            target.rename(folder / f"{PARTIAL}old-{target.name}")
        partial.rename(target)
        _sync(folder)
    except BaseException as error:
        discard([partial])
        if isinstance(error, OSError | SafetensorError):  # the latter for writes that fail, too
            raise CheckpointError(_failed(error, target)) from error
        raise
    kept = {path.name for path in checkpoints(folder)[-keep:]} | {target.name, best}
    discard([*folder.glob(f"{PARTIAL}*"), *(path for path in checkpoints(folder) if path.name not in kept)])
    return target


def checkpoints(folder: Path) -> list[Path]:
    """Checkpoints, oldest first."""
    return sorted(folder.glob(f"{PREFIX}*"))


def read_state(checkpoint: Path) -> dict[str, Any]:
    """The numbers of a checkpoint: ``update``, ``algorithm`` and ``ledger``."""
    state: dict[str, Any] = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
    del state["format"]
    return state


def newest_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint whose files are what they were; None where there is no checkpoint at all.

    Newer ones that are damaged are set aside as ``damaged-<name>``, and a warning says so.

    Raises:
        CheckpointError: every checkpoint is damaged, or one was written by another version of this package.
    """
    reasons: dict[Path, str] = {}
    for checkpoint in reversed(checkpoints(folder)):
        try:
            verify(checkpoint)
        except DamagedError as error:
            reasons[checkpoint] = str(error)
            continue
        for damaged, reason in reasons.items():
            aside = folder / f"{DAMAGED}{damaged.name}"
            discard([aside])
            damaged.rename(aside)
            log.warning("%s; going on from %s instead; the damaged one is now %s", reason, checkpoint.name, aside)
        return checkpoint
    if reasons:
        raise CheckpointError(
            f"no checkpoint in {folder} can be used: {'; '.join(reasons.values())}. Put back a copy of one of them, or "
            f"start a new run (the settings are in {folder.parent / 'config.yaml'})"
        )
    return None


def seal(folder: Path) -> None:
    """Write the manifest of a folder's files, and make sure that all of it is on the disk."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): _sha256(path) for path in files}
    (folder / MANIFEST).write_text(json.dumps({"format": FORMAT, "sha256": digests}, indent=1), encoding="utf-8")
    for path in (*files, folder / MANIFEST, *(p for p in folder.rglob("*") if p.is_dir()), folder):
        _sync(path)


def verify(folder: Path) -> None:
    """Compare a sealed folder's files with its manifest.

    Raises:
        DamagedError: a file is missing or differs; the message names it.
        CheckpointError: the folder was written by another version of this package.
    """
    path = folder / MANIFEST
    if not path.is_file():
        if _format_of(folder / STATE) == FORMAT:
            raise DamagedError(f"{folder} is damaged: {MANIFEST} is missing")
        raise CheckpointError(
            f"{folder} has no {MANIFEST}: it was written by an earlier version of sandgym, and its run cannot be gone "
            f"on with. The policy in it is a model folder: --model {folder} starts a new run from it"
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        written, digests = manifest["format"], dict(manifest["sha256"])
    except (ValueError, KeyError, TypeError):
        raise DamagedError(f"{folder} is damaged: {MANIFEST} cannot be read") from None
    if written != FORMAT:
        raise CheckpointError(f"{folder} has format {written}, this version of sandgym reads format {FORMAT}")
    for name, digest in digests.items():
        try:
            same = _sha256(folder / name) == digest
        except OSError as error:
            raise DamagedError(f"{folder} is damaged: {name} cannot be read ({error.strerror})") from error
        if not same:
            raise DamagedError(f"{folder} is damaged: {name} does not have the SHA-256 of its manifest")


def discard(folders: Iterable[Path]) -> None:
    """Remove folders; one that is cut off half-way no longer has a checkpoint's name."""
    for folder in list(folders):
        if not folder.name.startswith(PARTIAL) and folder.exists():
            folder = folder.rename(folder.with_name(f"{PARTIAL}old-{folder.name}"))
        shutil.rmtree(folder, ignore_errors=True)


def _save_optimizer(optimizer: Any, path: Path) -> None:
    try:
        torch.save(optimizer.state_dict(), path)
    except RuntimeError as error:  # a write that failed, in torch's words
        raise OSError(f"{path.name}: {error}") from error


def _failed(error: BaseException, target: Path) -> str:
    others = [path.name for path in checkpoints(target.parent) if path != target]
    left = f"{', '.join(others)} in {target.parent} are untouched" if others else "there was no earlier one"
    place = next(path for path in target.parents if path.exists())
    return (
        f"the checkpoint {target} could not be written, {shutil.disk_usage(place).free / 1e6:.0f} MB are free there "
        f"({error}); {left}. Free some space, or make the folder writable, then go on with --resume {target.parents[1]}"
    )


def _format_of(state: Path) -> int | None:
    if not state.is_file():
        return None
    try:
        found = json.loads(state.read_text(encoding="utf-8")).get("format")
    except (OSError, ValueError, AttributeError):
        return FORMAT  # unreadable is damaged, not old
    return found if isinstance(found, int) else None


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""A policy as a plain transformers folder, an adapter merged into its base.

Invariant: a folder gets its name only after plain transformers has loaded it and it has given the policy's
logits, and others than the model that learning started from.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from algos.policy import Policy

SEQUENCES, TOKENS = 4, 64
ROUNDING = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""What a logit may be off by in a folder of each type, relative to the largest logit."""
LEARNED = 3.0  # what was learned must move some logit by so many times the rounding


class ExportError(ValueError):
    """The folder that was written is not the policy; it has been removed."""


@dataclass(frozen=True)
class Exported:
    """What was written, and how it was checked.

    Attributes:
        dtype: of the weights.
        tokens: of random sequences on which logits were compared.
        largest: the largest logit of the policy, without its sign.
        difference: the largest difference of a logit from the policy's.
        change: the largest difference of a logit from the model's before learning; None where that is not known.
    """

    dtype: str
    tokens: int
    largest: float
    difference: float
    change: float | None


def export(source: Path, start: Path | None, folder: Path, dtype: str | None = None) -> Exported:
    """Write a policy, an adapter merged, without value head and optimizer.

    Args:
        source: the policy's folder.
        start: folder of the policy that learning started from; not needed for an adapter, whose base it is.
        folder: to write; it must not be there.
        dtype: of the weights, a key of ``ROUNDING``; by default float32 for an adapter, else as in ``source``.

    Raises:
        FileExistsError: the folder is there.
        ExportError: the merged model differs from the policy by more than rounding, or has learned nothing.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} is there already; choose another folder")
    policy = Policy.load(source)
    dtype = dtype or _dtype(source)
    known = min(len(policy.tokenizer), policy.model.config.vocab_size)
    ids = torch.randint(known, (SEQUENCES, TOKENS), generator=torch.Generator().manual_seed(0))
    said = _logits(policy.model, ids)
    before = _before(policy, start, ids)
    model = policy.model.merge_and_unload(safe_merge=True) if policy.adapted else policy.model
    partial = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        model.to(getattr(torch, dtype)).save_pretrained(partial)
        policy.save_transcripts(partial)
        written = _logits(AutoModelForCausalLM.from_pretrained(partial, dtype=torch.float32).eval(), ids)
        result = Exported(
            dtype,
            ids.numel(),
            float(said.abs().max()),
            float((written - said).abs().max()),
            None if before is None else float((written - before).abs().max()),
        )
        _check(result)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return result


def _check(result: Exported) -> None:
    limit = ROUNDING[result.dtype] * max(1.0, result.largest)
    if not result.difference <= limit:
        raise ExportError(
            f"the exported model is not the policy: a logit differs by {result.difference:.2g}, more than the "
            f"{limit:.2g} that rounding to {result.dtype} explains; nothing was written"
        )
    if result.change is None:
        return
    if result.change == 0:
        raise ExportError("the exported model is the one that learning started from; nothing was written")
    if result.change < LEARNED * result.difference:
        raise ExportError(
            f"rounding to {result.dtype} loses what was learned: logits moved by {result.change:.2g} in learning and "
            f"by {result.difference:.2g} in rounding; export in float32. Nothing was written"
        )


def _before(policy: Policy, start: Path | None, ids: Tensor) -> Tensor | None:
    """Logits of the model that learning started from."""
    if policy.adapted:
        return _logits(policy.model, ids, adapter=False)
    return None if start is None else _logits(Policy.load(start).model, ids)


@torch.no_grad()
def _logits(model: Any, ids: Tensor, adapter: bool = True) -> Tensor:
    """Shape (sequences, tokens, vocabulary)."""
    with nullcontext() if adapter else model.disable_adapter():
        logits: Tensor = model(input_ids=ids, use_cache=False).logits
    return logits.float()


def _dtype(source: Path) -> str:
    """The type that keeps every weight as it is: that of a whole model's folder, float32 for a merged one."""
    config = source / "config.json"
    written = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    name = str(written.get("dtype") or written.get("torch_dtype") or "float32")
    return name if name in ROUNDING else "float32"

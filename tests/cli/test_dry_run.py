"""``sandgym train --dry-run``: says what a run would take, and starts nothing."""

import os
import re
from pathlib import Path

import pytest
from commands import SMALL, Invoke


def files() -> list[Path]:
    return sorted(Path(os.environ["SANDGYM_DATA"]).rglob("*"))


def test_a_dry_run_says_what_it_takes_and_leaves_nothing(invoke: Invoke, tmp_path: Path) -> None:
    before = files()
    result = invoke("train", *SMALL, "--updates", "7", "--set", "eval_every=3", "--set", "sft.seed=7", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "nothing is started or kept" in result.output
    for row in ("process", "weights", "optimizer and gradients", "cache", "in all"):
        assert re.search(rf"│ {row} +│.* [\d.]+ [MG]B │", result.output), row
    for part, times in (("warm start", 1), ("evaluation", 4), ("rollout", 7), ("learning", 7)):
        assert re.search(rf"│ {part} +│ +{times} │ +[\d.:]+( s)? │ +[\d:]+ │", result.output), part
    assert re.search(
        r"^memory +about [\d.]+ [MG]B in [a-z ]+, of [\d.]+ GB of this machine$", result.output, re.MULTILINE
    )
    assert re.search(r"^disk +about [\d.]+ [kM]B", result.output, re.MULTILINE)
    assert "speed: measured in one rollout of 3 tasks and one learning step" in result.output
    assert list(tmp_path.iterdir()) == []
    assert files() == before


def test_of_a_model_that_is_not_here(invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    words = ["--recipe", "1-gpu-1.5b-lora", "--env", "webshop", "--model", "nobody/new-70B", "--device", "cpu"]
    result = invoke("train", *words, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "70.00 G parameters" in result.output
    assert "too much: lower optimizer.micro_batch_tokens" in result.output
    assert "70B parameters by its name" in result.output
    assert list(tmp_path.iterdir()) == []

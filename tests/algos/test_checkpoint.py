"""Checkpoints and policy folders: complete or absent, exact, and checked before they are used."""

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from algos.bpo import BPO, BPOConfig
from algos.checkpoint import CheckpointError, checkpoints, newest_checkpoint, read_state, save_checkpoint
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.policy import Policy


def names(folder) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.fixture
def parts(policy):
    policy.add_value_head()
    learner = Learner(policy, OptimizerConfig(), 1.0, 1)
    for parameter in policy.parameters():
        parameter.grad = torch.full_like(parameter, 0.1)
    learner.optimizer.step()
    return policy, learner.optimizer, BPO(BPOConfig(initial_threshold=0.123)), Ledger(episodes=7)


def test_everything_comes_back(parts, tmp_path):
    policy, optimizer, algorithm, ledger = parts
    folder = save_checkpoint(tmp_path, 5, *parts)
    assert folder.name == "update-000005"
    state = read_state(folder)
    assert state == {"update": 5, "algorithm": algorithm.state_dict(), "ledger": ledger.to_dict()}
    loaded = Policy.load(folder)
    for mine, theirs in zip(policy.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert loaded.tokenizer.get_vocab() == policy.tokenizer.get_vocab()
    assert loaded.prompts.stop == policy.prompts.stop
    saved = torch.load(folder / "optimizer.pt", weights_only=True)
    assert saved["param_groups"] == optimizer.state_dict()["param_groups"]
    for key, moments in optimizer.state_dict()["state"].items():
        assert all(torch.equal(saved["state"][key][name], value) for name, value in moments.items())


def test_a_policy_folder_is_an_ordinary_model(policy, tmp_path):
    policy.save(tmp_path)
    tokens = torch.arange(5, 25)[None]
    with torch.no_grad():
        plain = AutoModelForCausalLM.from_pretrained(tmp_path)(tokens).logits
        torch.testing.assert_close(plain, policy.model(tokens).logits, atol=1e-4, rtol=1e-4)
    assert Policy.load(tmp_path).value_head is None


def test_only_the_newest_are_kept(parts, tmp_path):
    for update in (1, 2, 10, 9):
        save_checkpoint(tmp_path, update, *parts)
    assert names(tmp_path) == ["update-000009", "update-000010"]


def test_as_many_as_wanted_are_kept_and_the_best(parts, tmp_path):
    for update in range(1, 7):
        save_checkpoint(tmp_path, update, *parts, keep=3, best="update-000002")
    assert names(tmp_path) == ["update-000002", "update-000004", "update-000005", "update-000006"]
    save_checkpoint(tmp_path, 7, *parts, keep=1, best="start")
    assert names(tmp_path) == ["update-000007"]


def test_saving_again_replaces(parts, tmp_path):
    save_checkpoint(tmp_path, 1, *parts)
    parts[3].episodes = 8
    save_checkpoint(tmp_path, 1, *parts)
    assert read_state(checkpoints(tmp_path)[0])["ledger"]["episodes"] == 8


class Unwritable(BPO):
    def state_dict(self):
        return {"threshold": object()}


def test_a_failed_save_leaves_the_earlier_ones_and_nothing_else(parts, tmp_path):
    policy, optimizer, _, ledger = parts
    save_checkpoint(tmp_path, 1, *parts)
    with pytest.raises(TypeError):
        save_checkpoint(tmp_path, 2, policy, optimizer, Unwritable(BPOConfig()), ledger)
    assert names(tmp_path) == ["update-000001"]


def test_what_a_killed_save_left_behind_is_cleared_away(parts, tmp_path):
    for left in (".partial-update-000001", ".partial-old-update-000001"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "model.safetensors").write_bytes(b"half")
    save_checkpoint(tmp_path, 1, *parts)
    assert names(tmp_path) == ["update-000001"]
    assert checkpoints(tmp_path / "none") == []


FULL_DISK = """
import resource, sys, torch
from pathlib import Path
from algos.checkpoint import save_checkpoint
from algos.ledger import Ledger
from algos.policy import Policy
from algos.rloo import RLOO, RLOOConfig
from algos.runfolder import RunFolder
torch.set_num_threads(1)
policy = Policy.load(sys.argv[1])
optimizer = torch.optim.AdamW(policy.parameters())
for parameter in policy.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer.step()
for limit in map(int, sys.argv[3:]):  # bytes of a file at most: more is an error of the system, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        save_checkpoint(Path(sys.argv[2]), 2, policy, optimizer, RLOO(RLOOConfig()), Ledger())
    except OSError as error:
        print(type(error).__name__, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    RunFolder(Path(sys.argv[2]).parent).write_start_policy(policy)
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_full_disk_leaves_the_earlier_ones_and_says_so(parts, tmp_path):
    """Real failures of the system's writes: of the tokenizer or weights, of the optimizer's state, of a small file."""
    run = tmp_path / "run"
    first = save_checkpoint(run / "checkpoints", 1, *parts)
    sizes = {name: (first / name).stat().st_size for name in ("model.safetensors", "optimizer.pt", "config.json")}
    assert sizes["config.json"] < sizes["model.safetensors"] < sizes["optimizer.pt"]
    limits = [100, sizes["config.json"] + 2000, sizes["model.safetensors"] + 2000]
    command = [sys.executable, "-c", FULL_DISK, str(first), str(run / "checkpoints"), *map(str, limits)]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}, check=False)
    assert done.returncode == 0, done.stderr
    *said, start = done.stdout.splitlines()
    assert len(said) == len(limits)
    assert start.startswith(f"CheckpointError {run} could not be written: ")
    assert names(run) == ["checkpoints"]
    for line in said:
        assert line.startswith(f"CheckpointError the checkpoint {run / 'checkpoints' / 'update-000002'} could not be")
        assert "update-000001 in" in line
        assert line.endswith(f"untouched. Free some space, or make the folder writable, then go on with --resume {run}")
    assert names(run / "checkpoints") == ["update-000001"]
    assert newest_checkpoint(run / "checkpoints") == first


def test_the_manifest_has_the_digest_of_every_file(parts, tmp_path):
    folder = save_checkpoint(tmp_path, 1, *parts)
    manifest = json.loads((folder / "manifest.json").read_text())
    expected = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names(folder)}
    del expected["manifest.json"]
    assert manifest == {"format": 3, "sha256": expected}
    assert {"model.safetensors", "optimizer.pt", "state.json", "value_head.safetensors"} <= set(expected)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "a flipped bit of the weights": lambda folder: flip_a_bit(folder / "model.safetensors"),
    "a flipped bit of the optimizer": lambda folder: flip_a_bit(folder / "optimizer.pt"),
    "a truncated file": lambda folder: os.truncate(folder / "optimizer.pt", 100),
    "a missing file": lambda folder: (folder / "model.safetensors").unlink(),
    "an empty state": lambda folder: (folder / "state.json").write_text(""),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "half a manifest": lambda folder: os.truncate(folder / "manifest.json", 30),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_found_and_the_one_before_is_used(damage, parts, tmp_path, caplog):
    older, newer = (save_checkpoint(tmp_path, update, *parts) for update in (4, 5))
    assert newest_checkpoint(tmp_path) == newer
    DAMAGES[damage](newer)
    with caplog.at_level(logging.WARNING):
        assert newest_checkpoint(tmp_path) == older
    (record,) = caplog.records
    assert f"{newer} is damaged: " in record.message
    assert f"going on from update-000004 instead; the damaged one is now {tmp_path}" in record.message
    assert names(tmp_path) == ["damaged-update-000005", "update-000004"]
    save_checkpoint(tmp_path, 5, *parts)
    assert newest_checkpoint(tmp_path) == newer


def test_when_all_are_damaged_it_is_an_error_and_all_stay(parts, tmp_path):
    for update in (4, 5):
        flip_a_bit(save_checkpoint(tmp_path, update, *parts) / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"no checkpoint in .* can be used: .*000005 is damaged: .*000004 is dam"):
        newest_checkpoint(tmp_path)
    assert names(tmp_path) == ["update-000004", "update-000005"]
    assert newest_checkpoint(tmp_path / "none") is None


def test_checkpoints_of_other_versions_are_an_error(parts, tmp_path):
    folder = save_checkpoint(tmp_path, 5, *parts)
    shutil.copytree(folder, tmp_path / "update-000006")
    (tmp_path / "update-000006" / "manifest.json").write_text('{"format": 2, "sha256": {}}')
    with pytest.raises(CheckpointError, match="has format 2, this version of sandgym reads format 3"):
        newest_checkpoint(tmp_path)
    shutil.rmtree(tmp_path / "update-000006")
    (folder / "manifest.json").unlink()  # as the first version wrote them
    (folder / "state.json").write_text(json.dumps(read_state(folder)))
    with pytest.raises(CheckpointError, match=r"earlier version of sandgym, .*: --model .*update-000005 starts a new"):
        newest_checkpoint(tmp_path)
    assert names(tmp_path) == ["update-000005"]

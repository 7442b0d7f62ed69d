"""Checkpoints and policy folders: complete or absent, and exact."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from algos.bpo import BPO, BPOConfig
from algos.checkpoint import checkpoints, read_state, save_checkpoint
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.policy import Policy


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
    assert [p.name for p in checkpoints(tmp_path)] == ["update-000009", "update-000010"]


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
    assert [p.name for p in tmp_path.iterdir()] == ["update-000001"]


def test_what_a_killed_save_left_behind_is_cleared_away(parts, tmp_path):
    (tmp_path / ".partial-999999").mkdir()
    (tmp_path / ".partial-999999" / "model.safetensors").write_bytes(b"half")
    save_checkpoint(tmp_path, 1, *parts)
    assert [p.name for p in tmp_path.iterdir()] == ["update-000001"]
    assert checkpoints(tmp_path / "none") == []

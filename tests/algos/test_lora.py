"""Adapters: what learns, what stays, what is kept, and that a killed run goes on with the same numbers."""

import dataclasses
import importlib.util
import json
import shutil

import pytest
import torch
from letters import LettersEnv
from peft import PeftModel
from playing import RULES, play, replay
from policies import sharpened
from sizes import SMALL
from test_train import letters_config, resume, same, start
from transformers import AutoModelForCausalLM

from algos.base import Plan
from algos.checkpoint import checkpoints
from algos.config import TrainConfig
from algos.engines.base import Sampling
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.lora import LoRAConfig, fingerprint, target_names
from algos.policy import Policy
from algos.rloo import RLOO, RLOOConfig
from algos.rollout import Rollout, RolloutConfig
from algos.runfolder import RunFolder
from algos.sft import SFTConfig
from algos.tiny import build_model

IDS = torch.arange(5, 45)[None]
LINEAR = ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]


@pytest.fixture
def base(policy, tmp_path):
    """A model folder to put adapters on."""
    policy.save(tmp_path / "base")
    return tmp_path / "base"


@pytest.fixture
def adapted(base) -> Policy:
    """A policy whose adapter changes a lot."""
    policy = Policy.load(base).with_lora(LoRAConfig(rank=4), seed=1)
    torch.manual_seed(2)
    for parameter in policy.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return policy


@torch.no_grad()
def logits(model):
    return model(IDS).logits


def weights(policy: Policy, adapter: bool) -> dict[str, torch.Tensor]:
    """Copies of the adapter's weights, or of all others."""
    return {n: p.detach().clone() for n, p in policy.model.named_parameters() if ("lora_" in n) == adapter}


def test_a_fresh_adapter_changes_nothing_and_is_all_that_learns(base):
    whole, policy = Policy.load(base), Policy.load(base).with_lora(LoRAConfig(rank=4), seed=1)
    assert torch.equal(logits(whole.model), logits(policy.model))
    learning = {n for n, p in policy.model.named_parameters() if p.requires_grad}
    assert learning == set(weights(policy, adapter=True))
    # Two layers; the sum of inputs and outputs of each linear layer, times the rank.
    sizes = {"q": 32 + 32, "k": 32 + 16, "v": 32 + 16, "o": 32 + 32, "gate": 32 + 48, "up": 32 + 48, "down": 48 + 32}
    assert sum(p.numel() for p in policy.parameters()) == 2 * 4 * sum(sizes.values())
    policy.add_value_head()
    assert len(policy.parameters()) == len(learning) + 2


def test_the_seed_decides_the_first_weights(base):
    one, same_seed, other = (
        weights(Policy.load(base).with_lora(LoRAConfig(rank=4), seed), adapter=True) for seed in (1, 1, 2)
    )
    assert all(one[name].equal(same_seed[name]) for name in one)
    assert any(not one[name].equal(other[name]) for name in one)


def test_rank_0_is_the_whole_model(base):
    policy = Policy.load(base)
    assert policy.with_lora(LoRAConfig(), seed=1) is policy
    assert not policy.adapted
    assert len(policy.parameters()) == len(list(policy.model.parameters()))


def test_targets(base):
    policy = Policy.load(base)
    assert target_names(policy.model, "all-linear") == LINEAR
    assert target_names(policy.model, "v_proj, q_proj") == ["q_proj", "v_proj"]
    with pytest.raises(ValueError, match=r"no linear layers 'qproj' in the model; it has \['down_proj'"):
        policy.with_lora(LoRAConfig(rank=4, targets="qproj,v_proj"), seed=1)
    some = policy.with_lora(LoRAConfig(rank=4, targets="v_proj"), seed=1)
    assert all(".v_proj." in name for name in weights(some, adapter=True))


@pytest.mark.parametrize("settings", [{"rank": -1}, {"alpha": 0}, {"dropout": 1.0}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="lora needs rank >= 0"):
        LoRAConfig(**settings)


def test_an_adapter_folder_comes_back(adapted, tmp_path):
    adapted.add_value_head()
    torch.nn.init.normal_(adapted.value_head.weight)
    adapted.save(tmp_path / "adapter")
    assert not list((tmp_path / "adapter").glob("model*.safetensors")), "the base is not copied"
    loaded = Policy.load(tmp_path / "adapter")
    assert loaded.base == adapted.base
    for mine, theirs in zip(adapted.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(logits(adapted.model), logits(loaded.model))
    assert loaded.prompts.stop == adapted.prompts.stop


def test_an_adapter_folder_is_in_the_standard_format(adapted, base, tmp_path):
    """Both libraries load it without this package, and it does what it does here."""
    adapted.save(tmp_path / "adapter")
    expected = logits(adapted.model)
    by_peft = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), tmp_path / "adapter")
    by_transformers = AutoModelForCausalLM.from_pretrained(tmp_path / "adapter")
    for model in (by_peft, by_transformers):
        torch.testing.assert_close(logits(model), expected, atol=1e-3, rtol=1e-4)
    assert (logits(Policy.load(base).model) - expected).abs().max() > 1
    written = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert (written["peft_type"], written["r"], sorted(written["target_modules"])) == ("LORA", 4, LINEAR)
    assert written["base_model_name_or_path"] == str(base)


def test_an_adapter_that_peft_wrote_is_loaded(adapted, tmp_path):
    adapted.model.save_pretrained(tmp_path / "adapter")
    loaded = Policy.load(tmp_path / "adapter")
    assert torch.equal(logits(adapted.model), logits(loaded.model))
    assert loaded.tokenizer.get_vocab() == adapted.tokenizer.get_vocab()


def test_another_base_is_noticed(adapted, base, letters_tokenizer, tmp_path):
    adapted.save(tmp_path / "adapter")
    Policy.of(sharpened(build_model(letters_tokenizer, SMALL, 6)), letters_tokenizer).save(base)
    with pytest.raises(ValueError, match=r"is not the model that the adapter in .* was learned on: its weights"):
        Policy.load(tmp_path / "adapter")


def test_fingerprints_tell_models_apart_and_not_their_precision(policy, letters_tokenizer):
    model = policy.model.bfloat16()
    assert fingerprint(model) == fingerprint(policy.model.float())
    assert fingerprint(model) != fingerprint(build_model(letters_tokenizer, SMALL, 6))


def test_an_adapter_goes_on_learning_and_is_not_exchanged_unnoticed(adapted, tmp_path):
    adapted.save(tmp_path / "adapter")
    loaded = Policy.load(tmp_path / "adapter")
    for lora in (LoRAConfig(), LoRAConfig(rank=4), LoRAConfig(rank=4, targets=",".join(LINEAR))):
        assert loaded.with_lora(lora, seed=3) is loaded
    for lora in (LoRAConfig(rank=8), LoRAConfig(rank=4, alpha=8), LoRAConfig(rank=4, targets="v_proj")):
        with pytest.raises(ValueError, match="is an adapter already, of rank 4 and alpha 32 on down_proj"):
            loaded.with_lora(lora, seed=3)


def test_a_model_that_is_nowhere_has_no_adapter(policy):
    with pytest.raises(ValueError, match="needs a base that is kept in a folder"):
        policy.with_lora(LoRAConfig(rank=4), seed=0)


def test_without_peft_an_error_says_what_to_install(base, monkeypatch):
    policy, found = Policy.load(base), importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "peft" else found(name, *more))
    with pytest.raises(ModuleNotFoundError, match=r'peft, which is not installed: pip install "sandgym\[train\]"'):
        policy.with_lora(LoRAConfig(rank=4), seed=0)


@pytest.mark.parametrize("name", ["independent", "inside turns"])
def test_rollouts_are_played_and_scored_with_the_adapter(adapted, name):
    adapted.model.double()
    env = LettersEnv()
    for tree in play(adapted, env, Plan(3, RULES[name])):
        for leaf in tree.leaves():
            replay(adapted, env, tree, leaf)
            _rescore(adapted, tree, leaf)


@torch.no_grad()
def _rescore(policy, tree, leaf):
    """Recorded log-probs against one plain pass over the whole path."""
    path = [(i, j) for i in tree.path(leaf) for j in range(len(tree.segments[i]))]
    tokens = [tree.segments[i].tokens[j] for i, j in path]
    said = policy.model(torch.tensor([tokens])).logits[0].log_softmax(-1)
    for n, (i, j) in enumerate(path):
        if tree.segments[i].written[j]:
            assert tree.segments[i].logprobs[j] == pytest.approx(float(said[n - 1, tokens[n]]), abs=1e-6)


def test_an_update_moves_the_adapter_only(base):
    policy = Policy.load(base).with_lora(LoRAConfig(rank=4), seed=1)
    learner = Learner(policy, OptimizerConfig(lr=1e-2, weight_decay=0.1), 1.0, 2)
    held = [p for group in learner.optimizer.param_groups for p in group["params"]]
    assert {id(p) for p in held} == {id(p) for p in policy.parameters()}
    frozen, adapter = weights(policy, adapter=False), weights(policy, adapter=True)
    algorithm = RLOO(RLOOConfig(episodes=8, entropy_coefficient=0.01))
    config = RolloutConfig(max_invalid_actions=None)
    for update in range(2):
        rollout = Rollout(LettersEnv(), policy.engine(), policy.prompts, config, Ledger())
        trees = rollout.collect(["apple", "cedar"], algorithm.plan(), Sampling(1.0, 5), update)
        metrics = learner.update(trees, algorithm.credit(trees, None), algorithm.loss, update)
        assert metrics["grad_norm"] > 0
    assert all(frozen[name].equal(now) for name, now in weights(policy, adapter=False).items())
    moved = [name for name, now in weights(policy, adapter=True).items() if not adapter[name].equal(now)]
    assert len(moved) == len(adapter), "the first update moves B, the second one A, too"


def test_on_a_base_of_half_precision_the_adapter_has_full_precision(base):
    """So that steps smaller than the base's rounding are not lost."""
    half = Policy.load(base)
    half.model.bfloat16()
    policy = half.with_lora(LoRAConfig(rank=4), seed=1)
    assert {p.dtype for p in policy.parameters()} == {torch.float32}
    assert policy.model.dtype == torch.bfloat16
    learner = Learner(policy, OptimizerConfig(lr=1e-6), 1.0, 1)
    algorithm = RLOO(RLOOConfig(episodes=8, entropy_coefficient=0.01))
    before = weights(policy, adapter=True)
    trees = play(policy, LettersEnv(), algorithm.plan())
    metrics = learner.update(trees, algorithm.credit(trees, None), algorithm.loss, 0)
    assert metrics["grad_norm"] > 0
    assert metrics["kl_behaviour"] == pytest.approx(0, abs=1e-2), "the engine and the learner agree"
    assert any(not before[name].equal(now) for name, now in weights(policy, adapter=True).items())


def lora_config(base, **changes) -> TrainConfig:
    settings = {"model": str(base), "lora": LoRAConfig(rank=4, dropout=0.1), "checkpoint_every": 2}
    return letters_config(changes.pop("algo", "grpo"), **(settings | changes))


@pytest.mark.parametrize("algo", ["grpo", "ppo"])
def test_a_killed_run_goes_on_with_the_same_numbers(algo, base, tmp_path):
    """With a KL term to the adapter at the start (grpo) and with a value head (ppo); with dropout."""
    whole = start(lora_config(base, algo=algo), tmp_path / "whole")
    shutil.copytree(whole.path, tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed" / "checkpoints" / "update-000004")
    evaluation = tmp_path / "killed" / "evaluation.json"
    evaluation.write_text(json.dumps({"before": json.loads(evaluation.read_text())["before"]}))
    resumed = resume(tmp_path / "killed")
    same(resumed, whole)
    first, last = (Policy.load(p) for p in checkpoints(whole.checkpoints)[-2:])
    assert all(p.equal(weights(last, adapter=False)[n]) for n, p in weights(first, adapter=False).items())
    assert any(not p.equal(weights(last, adapter=True)[n]) for n, p in weights(first, adapter=True).items())
    if algo == "grpo":
        assert whole.metrics()[-1]["kl_reference"] > 0


def test_a_reference_shares_the_base_and_not_the_adapter(adapted, tmp_path):
    """What the learner scores for its KL term: its own copy of the adapter on one copy of the model."""
    adapted.save(tmp_path / "adapter")
    reference, whole = Policy.load(tmp_path / "adapter"), Policy.load(tmp_path / "base")
    expected = logits(reference.model)
    reference.share_base(adapted)
    mine, theirs = dict(adapted.model.named_parameters()), dict(reference.model.named_parameters())
    assert all((mine[name].data_ptr() == theirs[name].data_ptr()) == ("lora_" not in name) for name in mine)
    for parameter in adapted.parameters():
        torch.nn.init.ones_(parameter)
    assert torch.equal(logits(reference.model), expected)
    before = [p.data_ptr() for p in whole.parameters()]
    whole.share_base(adapted)
    assert [p.data_ptr() for p in whole.parameters()] == before


def test_tiny_learns_with_an_adapter_on_its_warm_start(tmp_path):
    sft = SFTConfig(demonstrations=10, steps=2, batch_tokens=200, drill_steps=1)
    config = letters_config("rloo", updates=1, warm_start=True, sft=sft, lora=LoRAConfig(rank=2))
    folder = start(config, tmp_path / "run")
    assert Policy.load(folder.policy()).adapted
    with pytest.raises(ValueError, match="leave warm_start on"):
        start(dataclasses.replace(config, warm_start=False), tmp_path / "cold")


def test_the_settings_come_back(base, tmp_path):
    config = lora_config(base)
    RunFolder.create(tmp_path / "run", config)
    assert RunFolder.open(tmp_path / "run")[1].lora == config.lora == LoRAConfig(4, 32, 0.1, "all-linear")

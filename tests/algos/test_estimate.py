"""The estimate of a run against counts by hand, real caches, optimizers, passes and checkpoints."""

import dataclasses
import json
import math

import gymnasium
import pytest
import torch
from letters import LettersEnv
from sizes import SMALL
from transformers import LlamaConfig, Qwen2Config
from trees import build

from algos.checkpoint import save_checkpoint
from algos.config import TrainConfig
from algos.credit import Credit
from algos.engines.cache import SlotCache
from algos.estimate import ModelSize, Speed, Workload, at_horizon, disk, memory, seconds
from algos.evaluate import EvaluationConfig
from algos.learner import Learner, OptimizerConfig, score
from algos.ledger import Ledger
from algos.lora import LoRAConfig
from algos.packing import pack
from algos.probe import probe
from algos.rloo import RLOO, RLOOConfig
from algos.rollout import RolloutConfig
from algos.sft import SFTConfig

LLAMA = LlamaConfig(
    vocab_size=100,
    hidden_size=8,
    intermediate_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    max_position_embeddings=64,
    tie_word_embeddings=True,
)
CONFIG = TrainConfig(
    env="tests/Letters-v0",
    algo="rloo",
    algo_options={"episodes": 3},
    updates=4,
    tasks_per_update=3,
    max_turn_tokens=6,
    eval_tasks=3,
    evaluation=EvaluationConfig(samples=2, max_turn_tokens=6),
    rollout=RolloutConfig(max_invalid_actions=None),
    sft=SFTConfig(demonstrations=10, steps=5, batch_tokens=200, drill_steps=2, drill_tokens=50),
    tiny=SMALL,
)


def size_of(policy, **changes) -> ModelSize:
    return dataclasses.replace(ModelSize.of(policy.model.config, 4, LoRAConfig()), **changes)


def test_parameters_are_counted():
    size = ModelSize.of(LLAMA, 4, LoRAConfig())
    layer = 8 * 8 + 2 * 8 * 4 + 8 * 8 + 3 * 8 * 16 + 2 * 8
    assert size.parameters == size.trainable == 100 * 8 + 2 * layer + 8
    assert (size.query, size.key, size.context, size.weights) == (8, 4, 64, 4 * size.parameters)
    adapter = ModelSize.of(LLAMA, 2, LoRAConfig(rank=2))
    each = 2 * ((8 + 8) + (8 + 4) + (8 + 4) + (8 + 8) + 3 * (8 + 16))
    assert (adapter.trainable, adapter.trainable_bytes) == (2 * each, 4)
    assert adapter.weights == 2 * adapter.parameters + 4 * adapter.trainable
    assert ModelSize.of(LLAMA, 2, LoRAConfig(rank=1, targets="q_proj")).trainable == 2 * 16


def test_a_real_model_of_half_a_billion():
    """Qwen2.5-0.5B, of which its makers say that it has 0.49 G parameters, 0.36 G of them not in embeddings."""
    shape = Qwen2Config(
        vocab_size=151_936,
        hidden_size=896,
        intermediate_size=4864,
        num_hidden_layers=24,
        num_attention_heads=14,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    size = ModelSize.of(shape, 2, LoRAConfig())
    assert size.parameters / 1e9 == pytest.approx(0.49, abs=0.005)
    assert (size.parameters - 151_936 * 896) / 1e9 == pytest.approx(0.36, abs=0.005)


def test_the_cache_is_that_of_the_engine():
    size = ModelSize.of(LLAMA, 4, LoRAConfig())
    cache = SlotCache(2, 1, 4, torch.float32, torch.device("cpu"))
    cache.reserve(3, 10)
    assert size.cache(3 * 10) == sum(t.nbytes for t in [*cache.keys, *cache.values])


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_optimizer_gradients_and_checkpoint_are_those_of_a_run(policy, tmp_path, precision):
    policy.model.to(precision)
    number = precision.itemsize
    size = dataclasses.replace(size_of(policy), bytes=number, trainable_bytes=number)
    learner = Learner(policy, OptimizerConfig(), 1.0, 1)
    for parameter in policy.parameters():
        parameter.grad = torch.ones_like(parameter)
    learner.optimizer.step()
    states = [t for state in learner.optimizer.state.values() for t in state.values() if t.dim()]
    copies = learner.optimizer.state_dict()["copies"]
    gradients = sum(p.grad.nbytes for p in policy.parameters()) + sum(copy.nbytes for copy in copies)
    kept = sum(t.nbytes for t in [*states, *copies]) + gradients
    parts = memory(size, Workload.of([build((3, 1.0), (3, 0.0))], CONFIG, None), CONFIG, 7.0, False)
    assert parts["learning"]["optimizer and gradients"] == kept
    assert parts["learning"]["weights"] == sum(p.nbytes for p in policy.parameters())
    assert {phase["process"] for phase in parts.values()} == {7.0}
    folder = save_checkpoint(tmp_path, 1, policy, learner.optimizer, RLOO(RLOOConfig()), Ledger())
    written = sum((folder / name).stat().st_size for name in ("model.safetensors", "optimizer.pt"))
    assert disk(size, CONFIG) == pytest.approx(3 * written + size.weights, rel=0.1)
    evaluated = dataclasses.replace(CONFIG, eval_every=1, keep_checkpoints=4)
    assert disk(size, evaluated) == pytest.approx(6 * written + size.weights, rel=0.1)


@pytest.mark.parametrize("shape", ["independent", "branched"])
def test_activations_are_about_what_a_backward_pass_keeps(policy, shape):
    """Counted by torch's own hooks, on a real packed pass; the estimate errs by less than half."""
    leaves = [(90, 1.0), (80, 0.0), (100, 0.5)]
    tree = build(*leaves, prompt=150) if shape == "independent" else build((60, leaves), (50, leaves), prompt=150)
    for segment in tree.segments:
        segment.tokens = [5 + i % 90 for i in range(len(segment))]
        segment.written = [w and i % 4 == 0 for i, w in enumerate(segment.written)]
    kept = {p.data_ptr(): 0 for p in policy.parameters()}

    def keep(tensor):
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes())
        held.append(tensor)
        return tensor

    held: list = []
    policy.model.train()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        score(policy, pack([tree], [Credit.zeros(tree)]), 1.0)
    work = Workload.of([tree], CONFIG, None)
    size = size_of(policy)
    expected = size.activations(tree.unique_tokens(), work.paths, work.seen)
    logits = tree.unique_tokens() * work.written * size.vocabulary * 12  # those kept: log-probs, probs, their product
    assert 0.67 < (expected + logits) / sum(kept.values()) < 1.5


def test_the_workload_of_trees_by_hand():
    """Prompt of 2; one root of 4 that forks into 3 and 1, one root of 5."""
    tree = build((4, [(3, 1.0), (1, 0.0)]), (5, 0.5))
    for leaf, taken in zip(tree.leaves(), (4, 2, 5), strict=True):
        tree.segments[leaf].outcome.steps = taken
    work = Workload.of([tree], dataclasses.replace(CONFIG, tasks_per_update=10), 8)
    assert work.live == 30
    assert (work.generated, work.trained, work.largest) == (130, 150, 15)
    assert (work.context, work.horizon) == (9, 2 + 5 / 2 * 8)
    assert work.written == 13 / 15
    assert work.an_episode == (7 + 5 + 5) / 3
    assert work.paths == (2 + 6 + 9 + 7 + 7) / 15
    assert work.seen == pytest.approx((2 * 1 + 4 * 4 + 3 * 7.5 + 1 * 6.5 + 5 * 4.5) / 15)
    limited = dataclasses.replace(CONFIG, tasks_per_update=10, rollout=RolloutConfig(max_live=4))
    assert Workload.of([tree], limited, 8).live == 4 * 3 / 2
    assert at_horizon(10, 40, 3, None) == 40


def test_seconds_by_hand():
    work = Workload(9, 50, 60, generated=300, trained=1200, largest=100, written=0.2, paths=2, seen=20, an_episode=12)
    speed = Speed(100, 400, "by hand", demonstrations=20)
    config = dataclasses.replace(CONFIG, updates=10, eval_every=4)
    assert seconds(work, speed, config, warm=True) == {
        "warm start": (1, 10 / 20 + (2 * 50 + 5 * (200 + 25)) / 400),
        "evaluation": (4, 3 * 3 * 12 / 100),
        "rollout": (10, 3.0),
        "learning": (10, 3.0),
    }
    assert seconds(work, dataclasses.replace(speed, demonstrations=math.inf), CONFIG, warm=False).keys() == {
        "evaluation",
        "rollout",
        "learning",
    }


def test_a_reference_policy_is_counted(policy):
    work = Workload.of([build((3, 1.0), (3, 0.0))], CONFIG, None)
    config = dataclasses.replace(CONFIG, algo="grpo", algo_options={"kl_coefficient": 0.1})
    parts = memory(size_of(policy), work, config, 0.0, False)
    assert parts["rollout"]["reference"] == parts["rollout"]["weights"]
    adapter = memory(size_of(policy, trainable=10), work, config, 0.0, False)
    assert adapter["rollout"]["reference"] == 10 * 4, "it shares the base"
    assert "reference" not in memory(size_of(policy), work, CONFIG, 0.0, False)["rollout"]


def test_a_probe_of_a_model_that_is_here(policy, tmp_path):
    policy.save(tmp_path / "model")
    config = dataclasses.replace(CONFIG, model=str(tmp_path / "model"))
    found = probe(config, gymnasium.make(config.env))
    assert not found.warm
    assert found.size.parameters == sum(p.numel() for p in policy.parameters())
    assert found.work.live == 9
    assert found.work.context <= found.size.context == SMALL.context
    assert 0 < found.speed.generated < math.inf
    assert 0 < found.speed.trained < math.inf
    assert found.notes[0].startswith("speed: measured in one rollout of 3 tasks and one learning step")
    assert found.notes[1].startswith("episodes: as long as those of a rollout of 3 tasks")


def test_a_probe_of_a_fresh_tiny_goes_by_the_demonstrator():
    found = probe(CONFIG, gymnasium.make(CONFIG.env))
    assert found.warm
    assert found.notes[1] == "episodes: as long as 12 of the demonstrator's, since the policy is not fitted yet"
    assert found.work.generated == CONFIG.tasks_per_update * 3 * found.work.an_episode
    assert math.isfinite(found.speed.demonstrations)


def test_a_model_that_is_not_here_goes_by_its_name_and_says_so(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    config = dataclasses.replace(CONFIG, model="nobody/nothing-1.5B-Instruct", lora=LoRAConfig(rank=8))
    found = probe(config, gymnasium.make(config.env))
    assert found.size.parameters == 1.5e9
    assert found.size.layers == 28
    assert 0 < found.size.trainable < 2e7
    notes = json.dumps(found.notes)
    for said in (
        "not measured, but computed from 1.5 G parameters",
        "4 characters a token",
        "1.5B parameters by its na",
    ):
        assert said in notes
    with pytest.raises(ValueError, match="nothing is known of the model nobody/nothing: it is not on this machine"):
        probe(dataclasses.replace(config, model="nobody/nothing"), gymnasium.make(config.env))


def test_an_environment_without_an_expert_needs_the_model(monkeypatch):
    def none(self, **settings):
        raise gymnasium.error.Error("LettersEnv has no expert")

    monkeypatch.setattr(LettersEnv, "expert", none)
    with pytest.raises(gymnasium.error.Error, match="no expert"):
        probe(dataclasses.replace(CONFIG, model="nobody/nothing-1B"), gymnasium.make(CONFIG.env))

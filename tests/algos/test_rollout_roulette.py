"""Recorded values, roulettes and copied steps in rollouts of a real policy."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from playing import ALL, RULES, ForcedRule, play, rescore

from algos.base import Plan
from algos.bpo import BPO, BPOConfig
from algos.engines.base import Request, Sampling
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.rollout import RolloutConfig

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.fixture
def valued(policy):
    policy.add_value_head()
    with torch.no_grad():
        policy.value_head.weight.normal_(0.0, 0.3, generator=torch.Generator().manual_seed(0))
    return policy


@dataclass(frozen=True)
class Half:
    """Every second episode stops before every turn but the first."""

    def spin(self, value: float, survival: float) -> float:
        return 0.5


@pytest.mark.parametrize("name", RULES)
def test_recorded_values_are_the_learners(valued, letters, name):
    trees = play(valued, letters, Plan(3, RULES[name]))
    learner = Learner(valued, OptimizerConfig(), 1.0, 1)
    for tree, values in zip(trees, learner.values(trees), strict=True):
        for segment, expected in zip(tree.segments, values, strict=True):
            written = np.asarray(segment.written, bool)
            assert np.asarray(segment.values)[written] == pytest.approx(np.asarray(expected)[:-1][written], abs=1e-4)
            assert not np.asarray(segment.values)[~written].any()


def test_roulettes_stand_between_turns_and_stop_what_they_stop(valued, letters):
    ledger = Ledger()
    trees = play(valued, letters, Plan(4, ForcedRule(3, {1: 1}), Half()), ledger=ledger)
    rescore(valued, trees, 1.0)
    stopped = went_on = 0
    for tree in trees:
        for segment in tree.segments:
            if segment.survival == 1.0:
                continue
            above = tree.segments[segment.parent]
            assert segment.survival == 0.5
            assert not above.written[-1], "the observation has been read"
            assert above.children == [tree.segments.index(segment)]
            if segment.outcome is not None and segment.outcome.stopped:
                stopped += 1
                assert segment.tokens == []
                assert segment.outcome.return_ == segment.expected
            else:
                went_on += 1
                leaf = segment if len(segment) else tree.segments[segment.children[0]]
                paid = sum(sum(tree.segments[i].rewards) for i in tree.path(segment.parent))
                assert segment.expected == pytest.approx(paid + leaf.values[0])
    assert stopped == ledger.stopped > 0
    assert went_on > 0
    assert ledger.episodes + ledger.stopped == sum(len(t.leaves()) for t in trees)
    assert ledger.generated_tokens == sum(sum(s.written) for t in trees for s in t.segments)
    assert ledger.saved_steps >= ledger.stopped
    assert ledger.saved_tokens > 0


def test_a_gate_needs_a_value_head(policy):
    engine = policy.engine()
    with pytest.raises(ValueError, match="no value head"):
        engine.generate([Request(engine.open(), [1], 0, 3, gate=lambda value: True)], Sampling(), frozenset())


def test_a_closed_gate_changes_nothing_for_the_others(valued):
    def generate(gates):
        engine = valued.engine()
        requests = [Request(engine.open(), [1, 2, n], n, 6, gate) for n, gate in enumerate(gates)]
        return engine.generate(requests, Sampling(1.0, 6), frozenset())

    free = generate([None] * 4)
    gated = generate([None, lambda value: False, lambda value: True, lambda value: False])
    assert [c.tokens for c in gated] == [free[0].tokens, [], free[2].tokens, []]
    assert generate([lambda value: False] * 2)[1].tokens == []


@pytest.mark.parametrize("name", ["independent", "inside turns", "posthoc"])
def test_copied_steps_change_nothing_but_the_number_of_steps(policy, letters, name, monkeypatch):
    class FewWords(type(policy.prompts.transcript())):
        def action(self, tokens):
            return "ad"[tokens[0] % 2]

    monkeypatch.setattr(type(policy.prompts), "transcript", lambda self: FewWords(self, {}, {}))
    monkeypatch.setattr(
        FewWords, "fork", lambda self: FewWords(self._prompts, dict(self._names), dict(self._identifiers))
    )
    copied, plain = Ledger(), Ledger()
    plan = Plan(4, RULES[name])
    one = play(policy, letters, plan, ledger=copied)
    other = play(
        policy, letters, plan, ledger=plain, config=RolloutConfig(0.5, max_invalid_actions=None, copy_steps=False)
    )
    assert one == other
    assert copied.copied_steps > 0
    assert plain.copied_steps == 0
    assert copied.env_steps + copied.copied_steps == plain.env_steps


def test_bpo_with_everything_learns_from_rollouts(valued, letters):
    """Three batches: plan, rollout, credit, learning; finite credit, value targets, and a state that can be saved."""
    config = BPOConfig(
        value_head=True,
        selection="influence",
        baseline="shrunk",
        roulette=0.8,
        openness=1.0,
        shares="leaves",
        allocate=True,
        budget=150,
    )
    algorithm = BPO(config)
    for seed in range(3):
        trees = play(valued, letters, algorithm.plan(), seed=seed, config=ALL)
        credits = algorithm.credit(trees)
        for tree, credit in zip(trees, credits, strict=True):
            for n in range(len(tree.segments)):
                assert np.isfinite(credit.advantages[n] * credit.weights[n]).all()
                assert np.isfinite(credit.value_targets[n]).all()
        metrics = algorithm.learn_from(trees)
    assert set(metrics) == {"branches_per_root", "threshold", "trust_roots", "trust_siblings"}
    other = BPO(config)
    other.load_state_dict(algorithm.state_dict())
    assert other.plan() == algorithm.plan()

"""The lab: exact gradients, tapes, the tabular environment and engine, and its statistics."""

import dataclasses
import json

import numpy as np
import pytest

from algos.engines.base import Request, Sampling
from algos.lab.engine import StatesFormat, TabularEngine
from algos.lab.env import TASK, TabularEnv
from algos.lab.estimate import LabConfig, Measurement, measure, ratio, run_lab, summarise
from algos.lab.exact import every_run, row_values, true_gradient
from algos.lab.methods import METHODS
from algos.lab.play import Player, ValueTable
from algos.lab.problems import FAMILIES, Problem, chain, two_steps, words
from algos.lab.report import draw, markdown, rows
from algos.rloo import RLOO, RLOOConfig
from sandgym.checker import check_snapshottable_env


@pytest.mark.parametrize("name", FAMILIES)
def test_exact_gradients_are_derivatives_of_the_exact_value(name):
    problem = FAMILIES[name]()
    direction = np.random.default_rng(0).standard_normal(problem.logits.shape)

    def value(step: float) -> float:
        moved = dataclasses.replace(problem, logits=problem.logits + step * direction)
        return row_values(moved)[0][0]

    slope = (value(1e-5) - value(-1e-5)) / 2e-5
    assert (true_gradient(problem).reshape(direction.shape) * direction).sum() == pytest.approx(slope, abs=1e-8)


def test_a_chain_by_hand():
    """Two steps, both decisive, without bias in expectation: success is the product of the right tokens' chances."""
    problem = chain("chain", 2, (0, 1), 0.5, choices=2)
    values, after = row_values(problem)
    first, second = problem.probs[0, 0], problem.probs[2, 0]
    assert values[0] == pytest.approx(first * second)
    assert after[0].tolist() == pytest.approx([second, 0.0])
    assert true_gradient(problem)[0, 0] == pytest.approx(first * (1 - first) * second)
    assert true_gradient(problem)[3] == pytest.approx([0.0, 0.0]), "what is lost cannot be won"
    assert true_gradient(two_steps(0.35))[0, 1] == pytest.approx(0.2275)


def test_the_success_of_the_designs_chains():
    """0.07 to 0.43 over the families; these seeds."""
    chances = {name: row_values(FAMILIES[name]())[0][0] for name in ("sparse", "spread", "often", "late")}
    assert all(0.07 <= chance <= 0.43 for chance in chances.values())
    assert chances["sparse"] < chances["late"] < chances["often"]


def test_transitions_must_go_on():
    with pytest.raises(ValueError, match="a higher state"):
        Problem("loop", np.zeros((1, 1, 2)), np.array([[0, 0]]), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="every action"):
        Problem("short", np.zeros((1, 1, 2)), np.array([[-1]]), np.zeros((1, 1)))


def test_every_run_takes_every_combination_of_possible_outcomes_once():
    def program(tape):
        first = tape.choose([0.25, 0.75])
        return (first, tape.choose([0.5, 0.0, 0.5])) if first else (first,)

    assert list(every_run(program)) == [(0.25, (0,)), (0.375, (1, 0)), (0.375, (1, 2))]


def test_the_environment_keeps_the_contract():
    check_snapshottable_env(TabularEnv(FAMILIES["sparse"]()), actions=["0", "1", "3"])


def test_forks_of_a_noisy_environment_part_and_copies_of_steps_are_not_made():
    env = TabularEnv(FAMILIES["noisy"]())
    env.reset(seed=1, options={"task": TASK})
    paid = []
    for fork in env.fork(3):
        total, over = 0.0, False
        while not over:
            _, reward, over, _, _ = fork.step("0")
            total += reward
        paid.append(total)
    assert len(set(paid)) == 3
    assert np.ptp(paid) < 3.0
    player = Player(FAMILIES["noisy"](), RLOO(RLOOConfig(4)))
    player.batch(10, 0)
    assert player.ledger.copied_steps == 0
    calm = Player(FAMILIES["often"](), RLOO(RLOOConfig(4)))
    calm.batch(10, 0)
    assert calm.ledger.copied_steps > 0
    assert calm.ledger.copied_steps + calm.ledger.env_steps == calm.ledger.generated_tokens == 400


def test_the_engine_samples_its_table():
    problem = words("words", 3, (0,), 1.0)
    engine = TabularEngine(problem, row_values(problem)[0])
    requests = []
    for seed in range(4000):
        sequence = engine.open()
        requests.append(Request(sequence, StatesFormat(problem).opening("", "2"), seed, 2))
    found = engine.generate(requests, Sampling(1.0, 2), frozenset())
    first = np.bincount([c.tokens[0] for c in found], minlength=4) / len(found)
    assert first == pytest.approx(problem.probs[problem.row(2, ())], abs=0.03)
    one = found[0]
    below = problem.row(2, one.tokens[:1])
    assert one.logprobs[1] == pytest.approx(np.log(problem.probs[below, one.tokens[1]]))
    assert one.values[1] == row_values(problem)[0][below]
    assert one.entropies[0] == pytest.approx(problem.entropies[problem.row(2, ())])
    assert (
        engine.generate([Request(engine.open(), [6], 0, 2, gate=lambda v: False)], Sampling(), frozenset())[0].tokens
        == []
    )


def test_values_are_learned_from_trees():
    problem = FAMILIES["often"]()
    player = Player(problem, METHODS["bpo"].make(problem))
    exact = row_values(problem)[0]
    before = np.abs(player.values() - exact).mean()
    player.learn(12, 12, 3)
    assert np.abs(player.values() - exact).mean() < 0.5 * before
    assert player.values()[0] == pytest.approx(exact[0], abs=0.1)
    assert ValueTable(problem).values().tolist() == [0.0] * len(exact)


# Statistics.


def test_statistics_by_hand():
    """Two replicates of gradients along the truth, twice too long on average."""
    problem = two_steps(0.5)
    truth = true_gradient(problem).ravel()
    gradients = [np.outer([1.0, 3.0], truth), np.outer([2.0, 2.0], truth)]
    found = summarise(problem, "m", gradients, [10.0, 20.0], None)
    length = truth @ truth
    assert found.tokens == 15.0
    assert found.variance == pytest.approx(length * (2.0 + 0.0) / 2)
    assert found.cost == pytest.approx(length * (20.0 + 0.0) / 2)
    assert found.bias == pytest.approx(1.0)
    assert found.bias_error == pytest.approx(2.5758 * np.std([1, 3, 2, 2], ddof=1) / 2, rel=1e-4)
    assert found.stray == pytest.approx(1.0 - np.var([1, 3, 2, 2], ddof=1) / 4)
    assert found.snr == pytest.approx(1000 * (4 - np.var([1, 3, 2, 2], ddof=1) / 4) / 10)
    assert not found.unbiased


def test_a_small_lab_runs_and_reports(tmp_path):
    told = []
    config = LabConfig(replicates=2, trees=60, batches=3)
    found = run_lab(["two-steps"], ["rloo", "grpo", "bpo", "paper"], config, lambda what, n: told.append(n))
    assert sum(told) == 4 * 2 * (60 + 3 * 12)
    rloo, grpo, bpo, paper = found
    assert rloo.unbiased
    assert bpo.unbiased
    assert not grpo.unbiased, "an eighth too short"
    assert grpo.bias == pytest.approx(-0.125, abs=grpo.bias_error)
    assert ratio(grpo, rloo)[0] == pytest.approx((7 / 8) ** 2, abs=0.2)
    assert paper.variance < rloo.variance
    assert measure(FAMILIES["two-steps"](), METHODS["rloo"], config) == rloo, "the seed decides everything"
    table = rows(found)
    assert json.loads(json.dumps(table))[2]["of_rloo"][0] == ratio(bpo, rloo)[0]
    assert markdown(found).count("\n") == 5
    draw(found, tmp_path / "lab.png")
    assert (tmp_path / "lab.png").read_bytes()[:4] == b"\x89PNG"
    assert isinstance(rloo, Measurement)

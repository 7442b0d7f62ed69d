"""Roulettes, shares and shrinkage in trees: by hand, and properties of random trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import build, constant

from algos.allocation import Allocation, Allocator
from algos.baselines import RunningBaseline
from algos.branching import ThresholdRule
from algos.credit import (
    SIBLINGS,
    Baseline,
    Shrinkage,
    alive,
    leaf_weights,
    living_children,
    paid_before,
    sibling_credit,
    tree_credit,
    tree_values,
)
from algos.ledger import saved_by_stopping
from algos.roulette import WeightWindow
from algos.spread import EDGES, Spread, SpreadTable, return_moments
from algos.tree import ROOT, Outcome, Tree


def values(tree):
    return tree_values(tree, living_children(tree, alive(tree)))


def spun(first: float | None, survival: float = 0.25, expected: float = 0.2) -> Tree:
    """Two roots; behind the first one's two tokens is a roulette: it went on to a return, or was stopped (None)."""
    tree = build((2, 0.0), (1, 0.6))
    child = tree.roulette(1, survival, expected)
    tree.segments[1].outcome = None
    if first is None:
        tree.segments[child].outcome = Outcome(expected, steps=1, stopped=True)
    else:
        tree.segments[child].write([2], [-1.0], [0.5], 1)
        tree.segments[child].outcome = Outcome(first)
    return tree


def test_a_roulette_by_hand():
    went_on = spun(1.0)
    # seen from above: 0.2 + (1 - 0.2) / 0.25 = 3.4
    assert values(went_on).tolist() == pytest.approx([2.0, 3.4, 0.6, 1.0])
    credit = tree_credit(went_on)
    assert constant(credit.advantages) == pytest.approx([0.0, 2.8, 0.6 - 3.4, 0.4])
    assert constant(credit.weights) == pytest.approx([1.0, 0.5, 0.5, 2.0])
    stopped = spun(None)
    assert values(stopped).tolist() == pytest.approx([0.4, 0.2, 0.6, 0.2])
    assert constant(tree_credit(stopped).advantages[:3]) == pytest.approx([0.0, -0.4, 0.4])


def test_stopped_leaves_are_no_outcomes_and_survivors_stand_for_them():
    assert leaf_weights(spun(1.0)) == pytest.approx({2: 0.5, 3: 2.0})
    assert leaf_weights(spun(None)) == pytest.approx({2: 0.5})
    assert [o.return_ for o in spun(None).outcomes()] == [0.6]


@given(st.floats(0.05, 0.95), st.floats(-2, 2), st.floats(-2, 2))
def test_a_roulette_changes_no_expectation(survival, expected, value):
    """Over both of its outcomes, the value above it, the weight below it and the moments are those without it."""
    went_on, stopped = spun(value, survival, expected), spun(None, survival, expected)
    plain = build((3, value), (1, 0.6))

    def mean(of):
        return survival * of(went_on) + (1 - survival) * of(stopped)

    assert mean(lambda t: values(t)[1]) == pytest.approx(value, abs=1e-9)
    assert mean(lambda t: values(t)[ROOT]) == pytest.approx(values(plain)[ROOT], abs=1e-9)
    assert mean(lambda t: sum(leaf_weights(t).values())) == pytest.approx(1.0)
    assert mean(lambda t: return_moments(t)[ROOT]) == pytest.approx(return_moments(plain)[ROOT], abs=1e-9)


nodes = st.recursive(
    st.tuples(st.integers(1, 3), st.floats(-1, 1)),
    lambda inner: st.tuples(st.integers(1, 3), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)


@given(st.lists(nodes, min_size=1, max_size=3), st.data())
def test_values_are_means_over_leaves_whatever_the_shares(roots, data):
    tree = build(*roots)
    for segment in tree.segments[1:]:
        segment.share = data.draw(st.floats(0.1, 3.0))
    weights = leaf_weights(tree)
    assert sum(weights.values()) == pytest.approx(1.0)
    mean = sum(w * tree.segments[i].outcome.return_ for i, w in weights.items())
    assert values(tree)[ROOT] == pytest.approx(mean, abs=1e-9)
    assert return_moments(tree)[ROOT][:2] == pytest.approx([1.0, mean], abs=1e-9)


@given(st.lists(nodes, min_size=2, max_size=3), st.floats(-3, 3))
def test_advantages_do_not_depend_on_where_returns_begin(roots, shift):
    tree, moved = build(*roots), build(*roots)
    for segment in moved.segments:
        if segment.outcome is not None:
            segment.outcome.return_ += shift
    for one, other in zip(tree_credit(tree).advantages, tree_credit(moved).advantages, strict=True):
        assert other == pytest.approx(one, abs=1e-9)


def test_unequal_shares_by_hand():
    tree = build((1, [(1, 1.0), (1, 0.0), (1, 0.4)]), (1, 0.0))
    tree.segments[2].share = 2.0
    # V(1) = (2 * 1 + 0 + 0.4) / 4; the others of the first sibling are 0 and 0.4, of the second 1 (twice) and 0.4
    assert values(tree)[1] == pytest.approx(0.6)
    credit = tree_credit(tree)
    assert constant(credit.advantages)[2:5] == pytest.approx([1 - 0.2, 0 - 2.4 / 3, 0.4 - 2 / 3])
    assert constant(credit.weights)[2:5] == pytest.approx([0.25, 0.125, 0.125])


def recorded() -> Tree:
    """Two roots of two tokens each; the first pays 0.5 after its first token. Predictions differ at every token."""
    tree = Tree("")
    tree.segments[ROOT].read([1], 0)
    for predicted, rewards in (([0.4, 0.1], [0.5, 0.5]), ([0.4, 0.3], [0.0, 0.2])):
        segment = tree.segments[tree.grow(ROOT)]
        for step, (value, reward) in enumerate(zip(predicted, rewards, strict=True)):
            segment.write([2], [-1.0], [0.5], step, [value])
            segment.pay(reward)
        segment.outcome = Outcome(sum(rewards))
    return tree


def test_shrunk_baselines_by_hand():
    tree = recorded()
    assert [p.tolist() for p in paid_before(tree)] == [[0.0], [0.0, 0.5], [0.0, 0.0]]
    children = living_children(tree, alive(tree))
    alone = sibling_credit(tree, children, Baseline(None, Shrinkage(0.0, 1.0), Shrinkage(0.0, 1.0), 0.0))
    # return less what was paid and predicted: 1 - 0.4, 1 - (0.5 + 0.1); 0.2 - 0.4, 0.2 - 0.3
    assert [a.tolist() for a in alone.advantages[1:]] == [pytest.approx([0.6, 0.4]), pytest.approx([-0.2, -0.1])]
    # error 0.1 and noise 0.3: a quarter of what the other root differs from the prediction at the prompt
    quarter = sibling_credit(tree, children, Baseline(None, Shrinkage(0.1, 0.3), Shrinkage(0.0, 1.0), 0.0))
    assert quarter.advantages[1].tolist() == pytest.approx([0.6 + 0.05, 0.4 + 0.05])  # the other has 0.2, not 0.4
    assert quarter.advantages[2].tolist() == pytest.approx([-0.2 - 0.15, -0.1 - 0.15])
    assert sibling_credit(tree, children, SIBLINGS).advantages[1].tolist() == pytest.approx([0.8, 0.8])


def test_trust_is_measured_in_earlier_batches():
    running = RunningBaseline("shrunk", recorded=True)
    assert running.baseline() == SIBLINGS
    running.learn_from([recorded()])
    # roots 1.0 and 0.2: variance 0.32, mean 0.6, predicted 0.4: squared error 0.04 - 0.32 / 2, below nothing
    assert running.baseline().root == Shrinkage(0.0, pytest.approx(0.32))
    other = RunningBaseline("shrunk", recorded=True)
    other.load_state_dict(running.state_dict())
    assert other.baseline() == running.baseline()
    means = RunningBaseline("value", recorded=False)
    means.learn_from([recorded(), recorded()])
    assert means.baseline().constant == pytest.approx(0.6)


# Spread, roulette, allocation.


def test_spread_measures_squared_errors_by_bins_and_calls_the_unknown_open():
    spread = Spread()
    assert set(spread.table().variances) == {0.25}
    spread.learn_from([recorded()] * 400)
    table = spread.table()
    # predicted 0.4 at the prompt: errors 0.6 and -0.2, mean square 0.2; 400 trees of weight 1 beside one coin
    assert table(0.4) == pytest.approx((400 * 0.2 + 0.25) / 401)
    assert table(0.95) == pytest.approx(0.25)
    assert table(0.1) == pytest.approx(0.25), "the second tokens are of the same turns"
    assert table.typical == pytest.approx(0.2)


def test_the_window_stops_what_is_decided_and_never_falls_below_its_floor():
    variances = [0.16] * (len(EDGES) + 1)
    variances[0], variances[1] = 0.0, 0.01
    window = WeightWindow(floor=0.1, openness=1.0, spread=SpreadTable(tuple(variances), 0.16))
    assert window.spin(0.5, 1.0) == 1.0
    assert window.spin(0.005, 1.0) == pytest.approx(0.25)  # square root of 0.01 / 0.16
    assert window.spin(0.005, 0.25) == 1.0, "it has survived that already"
    assert window.spin(0.0, 1.0) == pytest.approx(0.1)
    assert window.spin(0.0, 0.25) == pytest.approx(0.4), "the product stays at the floor"
    assert window.spin(0.0, 0.1) == 1.0


def test_a_backbone_weighs_what_it_may_still_become():
    rule = ThresholdRule(children=3, threshold=0.0, max_branches=3, later=(1.5, 0.5, 0.0))
    assert [rule.share(n) for n in range(3)] == [4.0, 2.0, 1.0]
    assert ThresholdRule(3, 0.0, 3).share(0) == 1.0


def test_allocation_by_hand():
    start = Allocation(3, 1.0, 2, 3)
    allocator, unbudgeted = Allocator(start, budget=100), Allocator(start)
    assert allocator.allocation() == start
    # prefix of 4 tokens of 0.5 nats, branch of two leaves of 1 token each with returns 1 and 0; nothing is predicted
    for each in (allocator, unbudgeted):
        each.learn_from([build((4, [(1, 1.0), (1, 0.0)]), (5, 1.0))], SIBLINGS)
    # noise 0.5: shared = 2 * 0.25 - 2 * 0.5 / 2 < 0, so as many leaves as allowed: (9 - 1) / 2 branches of 3
    assert allocator.allocation() == Allocation(8, 4.0, 5, 3)  # 100 / (5 + 8 * 1)
    assert unbudgeted.allocation() == Allocation(2, 4.0, 5, 3)  # 3 * (5 + 2 * 1) / (5 + 8 * 1), and two at least
    other = Allocator(start, budget=100)
    other.load_state_dict(allocator.state_dict())
    assert other.allocation() == allocator.allocation()
    settled = Allocator(start, budget=100)
    settled.learn_from([build((4, [(4, 1.0), (4, 0.9)]), (8, 1.0))], SIBLINGS)
    # noise 0.005; shared = 2 * 0.95 ** 2 - 2 * 0.005 / 2 = 1.8; own = 2 * (1 + 0.81) / 2 + 2 * 0.005 = 1.82
    leaves = np.sqrt(1.82 * 4 / (1.8 * 4))
    assert leaves < 1.2
    assert settled.allocation() == Allocation(11, pytest.approx(0.2), 2, 2)  # 100 / (8 + 0.2 * 4)


def test_what_stopping_saves_is_what_others_went_on_to_do():
    tree = build((1, 0.0), (1, 0.0))
    for root, steps in ((1, 3), (2, 1)):
        for step in range(1, steps):
            tree.segments[root].write([2, 2], [0.0, 0.0], [0.0, 0.0], step)
    stopped = tree.grow(ROOT)
    tree.segments[stopped].outcome = Outcome(0.5, steps=1, stopped=True)
    # only the first root has a turn 1: from there it took 2 more steps; and 2 more tokens after that turn
    assert saved_by_stopping([tree]) == (2.0, 2.0)

"""Credit: hand-worked trees, and exact expectations over every tree."""

from dataclasses import replace

import numpy as np
import pytest
from trees import FAILED, Table, build, constant

from algos.bpo import BPO
from algos.branching import PosthocRule, ThresholdRule
from algos.credit import (
    alive,
    gae,
    group_credit,
    leaf_weights,
    living_children,
    prefix_explained_share,
    tied_groups,
    tree_credit,
    tree_values,
)
from algos.lab.methods import MEAN

NESTED = ((2, [(3, [(1, 1.0), (2, 0.0)]), (2, FAILED), (1, 0.25)]), (4, 0.5))
"""Two roots; the first branches into a backbone that branches again, a failed leaf and a leaf.

Segments: 0 prompt, 1 first root, 2 backbone, 3 and 4 its children, 5 failed, 6 leaf, 7 second root.
"""


def bpo(**settings) -> BPO:
    return BPO(replace(MEAN, **settings))


def values(tree):
    return tree_values(tree, living_children(tree, alive(tree))).tolist()


# Hand-worked trees.


def test_an_unbranched_group_of_four_is_leave_one_out():
    tree = build((1, 1.0), (2, 0.0), (3, 0.5), (1, 0.1))
    credit = tree_credit(tree)
    assert values(tree) == pytest.approx([0.4, 1.0, 0.0, 0.5, 0.1])
    # 1 - (0 + 0.5 + 0.1) / 3, 0 - (1 + 0.5 + 0.1) / 3, 0.5 - (1 + 0 + 0.1) / 3, 0.1 - (1 + 0 + 0.5) / 3
    assert constant(credit.advantages) == pytest.approx([0.0, 0.8, -1.6 / 3, 0.4 / 3, -0.4])
    assert constant(credit.weights) == [1.0, 0.25, 0.25, 0.25, 0.25]


def test_two_roots_with_one_branch_of_three_each():
    tree = build((2, [(1, 1.0), (2, 0.0), (3, 0.5)]), (1, [(2, 0.0), (1, 0.0), (1, 0.3)]))
    credit = tree_credit(tree)
    assert values(tree) == pytest.approx([0.3, 0.5, 1.0, 0.0, 0.5, 0.1, 0.0, 0.0, 0.3])
    expected = [0.0, 0.4, 0.75, -0.75, 0.0, -0.4, -0.15, -0.15, 0.3]
    assert constant(credit.advantages) == pytest.approx(expected)
    assert constant(credit.weights) == pytest.approx([1.0, 0.5, 1 / 6, 1 / 6, 1 / 6, 0.5, 1 / 6, 1 / 6, 1 / 6])


def test_nested_branches_with_a_failed_leaf():
    tree = build(*NESTED)
    credit = tree_credit(tree)
    # V(2) = (1 + 0) / 2; V(1) = (0.5 + 0.25) / 2, the failed child is left out; V(7) = 0.5
    assert values(tree)[:5] == pytest.approx([0.4375, 0.375, 0.5, 1.0, 0.0])
    assert np.isnan(values(tree)[5])
    assert values(tree)[6:] == [0.25, 0.5]
    assert constant(credit.advantages) == pytest.approx([0.0, -0.125, 0.25, 1.0, -1.0, 0.0, -0.25, 0.125])
    assert constant(credit.weights) == pytest.approx([1.0, 0.5, 0.25, 0.125, 0.125, 0.0, 0.25, 0.5])


def test_a_branch_whose_siblings_failed_keeps_its_parents_advantage():
    tree = build((1, [(1, 1.0), (1, FAILED)]), (1, 0.0))
    credit = tree_credit(tree)
    assert constant(credit.advantages) == [0.0, 1.0, 1.0, 0.0, -1.0]
    assert constant(credit.weights) == [1.0, 0.5, 0.5, 0.0, 0.5]


def test_a_root_whose_leaves_all_failed_leaves_the_group():
    tree = build((1, [(1, FAILED), (1, FAILED)]), (1, 1.0), (1, 0.5))
    credit = tree_credit(tree)
    assert constant(credit.advantages) == [0.0, 0.0, 0.0, 0.0, 0.5, -0.5]
    assert constant(credit.weights) == [1.0, 0.0, 0.0, 0.0, 0.5, 0.5]


def test_a_group_of_one_gives_zero():
    assert constant(tree_credit(build((2, 1.0))).advantages) == [0.0, 0.0]
    assert constant(tree_credit(build((2, 1.0), (1, FAILED))).advantages) == [0.0, 0.0, 0.0]
    assert constant(group_credit(build((2, 1.0)), "std").advantages) == [0.0, 0.0]


def test_a_baseline_serves_an_episode_that_is_alone():
    assert constant(tree_credit(build((2, 1.0)), baseline=0.3).advantages) == pytest.approx([0.0, 0.7])
    alone = build((2, [(1, 1.0), (1, 0.0)]))
    assert constant(tree_credit(alone, baseline=0.2).advantages) == pytest.approx([0.0, 0.3, 1.0, -1.0])
    together = build((1, 1.0), (1, 0.0))
    assert constant(tree_credit(together, baseline=0.2).advantages) == [0.0, 1.0, -1.0]


def test_equal_returns_give_zero_and_are_counted():
    tree = build((1, [(1, 0.5), (1, 0.5)]), (1, 0.5), (1, [(1, 1.0), (1, 0.0)]))
    # the roots are all worth 0.5, the first branch ties, the second does not
    assert constant(tree_credit(tree).advantages) == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0]
    assert tied_groups(tree) == 2
    assert tied_groups(build((1, 1.0), (1, FAILED))) == 0
    assert tied_groups(build((1, 1.0), (1, 1.0), (1, FAILED))) == 1


def test_everything_failed_gives_no_credit():
    tree = build((1, FAILED), (2, [(1, FAILED), (1, FAILED)]))
    for credit in (tree_credit(tree), group_credit(tree, "std")):
        assert not any(a.any() for a in credit.advantages)
    assert leaf_weights(tree) == {}
    assert tied_groups(tree) == 0


def test_leaf_weights_are_products_and_sum_to_one():
    assert leaf_weights(build(*NESTED)) == pytest.approx({3: 0.125, 4: 0.125, 6: 0.25, 7: 0.5})
    shape = (1, [(1, [(1, [(1, 1.0), (1, 0.0), (1, 0.0)]), (1, FAILED)]), (1, 0.0)])
    assert sum(leaf_weights(build(shape, (1, 0.0), (1, 1.0))).values()) == pytest.approx(1.0)


def test_prefix_explained_share_by_hand():
    # Branches: variances 0.5 (1 and 0) and 0 (0.5 twice), mean 0.25. Roots by their first leaves: 1 and 0.5, 0.125.
    assert prefix_explained_share([build((1, [(1, 1.0), (1, 0.0)]), (1, [(1, 0.5), (1, 0.5)]))]) == 0.0
    # Branches: 0.005 and 0, mean 0.0025. Roots: 1 and 0, variance 0.5.
    tree = build((1, [(1, 1.0), (1, 0.9)]), (1, [(1, 0.0), (1, 0.0)]))
    assert prefix_explained_share([tree]) == pytest.approx(1 - 0.0025 / 0.5)
    # A second task doubles the number of root variances: (0.5 + 0) / 2.
    assert prefix_explained_share([tree, build((1, 0.2), (1, 0.2))]) == pytest.approx(1 - 0.0025 / 0.25)
    assert prefix_explained_share([build((1, 1.0), (1, 0.0))]) is None
    assert prefix_explained_share([]) is None


# The paper's local rules.


def test_local_rules_on_a_hand_worked_tree():
    shape = ((2, [(1, 1.0), (1, 0.0), (1, 0.5)]), (1, 0.5))
    none = bpo(prefix_credit="none").credit([build(*shape)])[0]
    assert constant(none.advantages) == [0.0, 0.0, 0.75, -0.75, 0.0, 0.0]
    # the first root ends one step before the branch: 0.9 * (1 - (0 + 0.5) / 2)
    local = bpo(prefix_credit="lambda", lam=0.9).credit([build(*shape)])[0]
    assert constant(local.advantages) == pytest.approx([0.0, 0.675, 0.75, -0.75, 0.0, 0.0])
    assert constant(local.weights) == constant(none.weights) == pytest.approx([1, 0.5, 1 / 6, 1 / 6, 1 / 6, 0.5])


def test_lambda_decays_per_step_and_not_per_token():
    tree = build((2, [(1, 1.0), (1, 0.0)]), (1, 0.5))
    tree.segments[1].read([1], 1)
    tree.segments[1].write([2], [0.0], [0.0], 1)
    for child in (2, 3):
        tree.segments[child].steps = [2]
    credit = bpo(prefix_credit="lambda", lam=0.5).credit([tree])[0]
    assert credit.advantages[1].tolist() == [0.25, 0.25, 0.5, 0.5]


def test_without_the_backbone_only_fresh_siblings_count():
    tree = build((2, [(1, 1.0), (1, 0.0), (1, 0.5)]), (1, 0.5))
    credit = bpo(include_backbone=False).credit([tree])[0]
    # V(1) = (0 + 0.5) / 2, siblings 3 and 4 against each other
    assert constant(credit.advantages) == [0.0, -0.25, 0.0, -0.5, 0.5, 0.25]
    assert constant(credit.weights) == [1.0, 0.5, 0.0, 0.25, 0.25, 0.5]


def test_without_the_backbone_a_failed_backbone_costs_no_sibling():
    tree = build((2, [(1, FAILED), (1, 0.0), (1, 0.5)]), (1, 0.5))
    credit = bpo(include_backbone=False).credit([tree])[0]
    assert constant(credit.advantages) == [0.0, -0.25, 0.0, -0.5, 0.5, 0.25]
    assert constant(credit.weights) == [1.0, 0.5, 0.0, 0.25, 0.25, 0.5]


# GRPO and RLOO.


def test_grpo_by_hand():
    tree = build((1, 1.0), (1, 0.0), (1, FAILED), (1, 0.5))
    # mean 0.5, population standard deviation sqrt((0.25 + 0.25 + 0) / 3)
    deviation = np.sqrt(0.5 / 3)
    scaled = group_credit(tree, "std")
    assert constant(scaled.advantages) == pytest.approx([0, 0.5 / deviation, -0.5 / deviation, 0, 0], rel=1e-5)
    assert constant(scaled.weights) == pytest.approx([0, 1 / 3, 1 / 3, 0, 1 / 3])
    plain = group_credit(tree, "none")
    assert constant(plain.advantages) == [0.0, 0.5, -0.5, 0.0, 0.0]
    tied = group_credit(build((1, 0.5), (1, 0.5)), "std")
    assert constant(tied.advantages) == [0.0, 0.0, 0.0]


# GAE.


def test_gae_by_hand():
    rewards, state_values = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 0.5])
    # gamma 0.5, lambda 0.5; deltas: 0 + 0.5 - 0.5, 1 + 0.25 - 1, 2 + 0.5 * 4 - 0.5
    advantages, targets = gae(rewards, state_values, 4.0, 0.5, 0.5)
    assert advantages.tolist() == [0.28125, 1.125, 3.5]
    assert targets.tolist() == [0.78125, 2.125, 4.0]
    terminated, _ = gae(rewards, state_values, 0.0, 0.5, 0.5)
    assert terminated.tolist() == [0.15625, 0.625, 1.5]


def test_gae_with_lambda_one_is_the_return_less_the_value():
    advantages, targets = gae(np.array([1.0, 2.0, 3.0]), np.array([0.3, 0.2, 0.1]), 0.0, 1.0, 1.0)
    assert targets.tolist() == pytest.approx([6.0, 5.0, 3.0])
    assert advantages.tolist() == pytest.approx([5.7, 4.8, 2.9])


# Exact expectations.


def first_action_pays(p: float) -> Table:
    """Two steps of two actions: the return is the first action, the second does nothing."""
    logits = {(): np.log([1 - p, p]), (0,): np.zeros(2), (1,): np.zeros(2)}
    return Table(logits, {(a, b): float(a) for a in (0, 1) for b in (0, 1)}, 2, 2)


SECOND_STEP = ThresholdRule(children=3, threshold=0.69, max_branches=1)  # only the coin of step 2 has ln 2 nats


@pytest.mark.parametrize("p", [0.2, 0.35, 0.9])
def test_two_step_example_tree_credit_is_exact(p):
    table = first_action_pays(p)
    gradient = table.expected(2, SECOND_STEP, lambda tree: bpo().credit([tree])[0])
    assert gradient[1] == pytest.approx(p * (1 - p), abs=1e-10)
    assert gradient[2:] == pytest.approx(np.zeros(4), abs=1e-10)


@pytest.mark.parametrize("rule", ["none", "lambda"])
def test_two_step_example_local_credit_is_zero(rule):
    """Every sibling ties, so the shared prefix gets nothing."""
    credit = bpo(prefix_credit=rule)
    gradient = first_action_pays(0.35).expected(2, SECOND_STEP, lambda tree: credit.credit([tree])[0])
    assert gradient == pytest.approx(np.zeros(6), abs=1e-15)


def test_lambda_credit_of_the_prefix_is_zero_in_expectation_whatever_the_return():
    """Backbone and siblings are exchangeable, so lambda * (V_0 - mean of the others) has mean 0."""
    table = first_action_pays(0.35)
    table.returns = {(0, 0): 0.0, (0, 1): 0.1, (1, 0): 0.3, (1, 1): 1.0}
    credit = bpo(prefix_credit="lambda")
    gradient = table.expected(2, SECOND_STEP, lambda tree: credit.credit([tree])[0])
    assert table.true_gradient()[1] == pytest.approx(0.35 * 0.65 * 0.6)  # values 0.65 and 0.05 after the first action
    assert gradient[1] == pytest.approx(0.0, abs=1e-12)
    assert gradient[2:] == pytest.approx(table.true_gradient()[2:], abs=1e-10)


@pytest.mark.parametrize(
    ("steps", "actions", "rule", "seed", "points"),
    [
        (2, 2, ThresholdRule(2, 0.0, 2), 0, {(0, 1)}),
        (2, 3, ThresholdRule(2, 0.8, 1), 1, {(0,)}),
        (3, 2, ThresholdRule(2, 0.5, 1), 11, {(), (1,), (2,)}),
        (3, 2, ThresholdRule(2, 0.6, 1), 6, {(), (1,), (2,)}),
        (3, 2, ThresholdRule(2, 0.5, 2), 11, {(), (1,), (2,), (1, 2)}),
        (2, 2, ThresholdRule(3, 0.5, 1), 5, {(0,)}),
    ],
)
def test_threshold_branching_gives_the_true_gradient(steps, actions, rule, seed, points):
    """``points``: the sets of branch times that occur; which one does is decided by the past."""
    table = Table.random(steps, actions, seed)
    assert {tuple(t for t, _ in branches) for _, _, branches in table.rollouts(rule)} == points
    gradient = table.expected(2, rule, lambda tree: bpo().credit([tree])[0])
    assert gradient == pytest.approx(table.true_gradient(), abs=1e-10)


def test_one_root_with_a_baseline_and_nested_branches_gives_the_true_gradient():
    table = Table.random(3, 2, 6)
    gradient = table.expected(1, ThresholdRule(2, 0.0, 3), lambda tree: tree_credit(tree, baseline=0.4))
    assert gradient == pytest.approx(table.true_gradient(), abs=1e-10)


@pytest.mark.parametrize(("steps", "actions", "episodes"), [(2, 2, 3), (3, 2, 2), (2, 3, 3)])
def test_rloo_gives_the_true_gradient(steps, actions, episodes):
    table = Table.random(steps, actions, 7)
    assert table.expected(episodes, None, tree_credit) == pytest.approx(table.true_gradient(), abs=1e-10)


def test_posthoc_selection_is_biased():
    """The branch goes where the past turned out uncertain, so the first action is judged by what it led to.

    The second step has more entropy than the first after action 0 and less after action 1; K = 2 and the return is
    the first action. After action 1 (probability p) the branch is at step 1 and gives (1 - p) / 2; after action 0 it
    is at step 2, ties, and the prefix gets -p (0 - E[V]), where E[V] = p (1 + p) / 2 is the other root's mean value.
    """
    p = 0.4
    logits = {(): np.log([1 - p, p]), (0,): np.zeros(2), (1,): np.array([0.0, 3.0])}
    table = Table(logits, {(a, b): float(a) for a in (0, 1) for b in (0, 1)}, 2, 2)
    gradient = table.expected(2, PosthocRule(2, 1), lambda tree: bpo().credit([tree])[0])
    assert p * (1 - p) == pytest.approx(0.24)
    assert gradient[1] == pytest.approx(0.1872, abs=1e-10)  # 0.4 * 0.3 + 0.6 * 0.4 * 0.28
    causal = table.expected(2, ThresholdRule(2, 0.69, 1), lambda tree: bpo().credit([tree])[0])
    assert causal[1] == pytest.approx(0.24, abs=1e-10)


def test_without_the_backbone_causal_selection_stays_exact_and_posthoc_does_not():
    """Fresh siblings estimate p (1 - p) at their branch, but how often there is one still depends on the future.

    The example above with K = 3: after action 1 the two fresh siblings give p (1 - p); after action 0 the prefix gets
    -p (0 - E[V]) with E[V] = p * p, since a root is now worth its fresh siblings' mean.
    """
    p = 0.4
    logits = {(): np.log([1 - p, p]), (0,): np.zeros(2), (1,): np.array([0.0, 3.0])}
    table = Table(logits, {(a, b): float(a) for a in (0, 1) for b in (0, 1)}, 2, 2)
    algorithm = bpo(include_backbone=False)
    causal = table.expected(2, ThresholdRule(3, 0.69, 1), lambda tree: algorithm.credit([tree])[0])
    assert causal == pytest.approx(table.true_gradient(), abs=1e-10)
    posthoc = table.expected(2, PosthocRule(3, 1), lambda tree: algorithm.credit([tree])[0])
    assert posthoc[1] == pytest.approx(0.1344, abs=1e-10)  # 0.4 * 0.24 + 0.6 * 0.4 * 0.16


def test_without_the_backbone_nested_branches_stay_exact():
    """Later branches lie on the backbone, which has no credit: they are wasted, but nothing is biased."""
    table = Table.random(2, 2, 1)
    algorithm = bpo(include_backbone=False)
    gradient = table.expected(1, ThresholdRule(3, 0.0, 2), lambda tree: algorithm.credit([tree])[0])
    assert gradient == pytest.approx(table.true_gradient(), abs=1e-10)

"""The four algorithms: plans, credits, settings, what they learn between batches."""

from dataclasses import replace

import numpy as np
import pytest
from trees import FAILED, build, constant

from algos.base import Turn
from algos.bpo import BPO, BPOConfig
from algos.branching import PosthocRule, ThresholdRule
from algos.grpo import GRPO, GRPOConfig
from algos.lab.methods import MEAN
from algos.ppo import PPO, PPOConfig
from algos.registry import ALGORITHMS
from algos.rloo import RLOO, RLOOConfig
from algos.roulette import WeightWindow
from algos.spread import SpreadTable
from algos.tree import ROOT, Outcome, Tree


def test_the_registry_names_all_four():
    assert {name: kind.__name__ for name, kind in ALGORITHMS.items()} == {
        "bpo": "BPO",
        "grpo": "GRPO",
        "ppo": "PPO",
        "rloo": "RLOO",
    }
    for kind in ALGORITHMS.values():
        algorithm = kind(kind.Config())
        assert algorithm.needs_values == (kind is PPO)
        assert algorithm.plan().roots >= 1
        assert (algorithm.plan().rule is None) == (kind is not BPO)


def test_rloo_is_leave_one_out():
    algorithm = RLOO(RLOOConfig(episodes=3))
    assert algorithm.plan().roots == 3
    credit = algorithm.credit([build((2, 1.0), (1, 0.0), (1, 0.5))])[0]
    assert constant(credit.advantages) == [0.0, 0.75, -0.75, 0.0]
    assert constant(credit.weights) == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])
    assert algorithm.loss.clip_low is None
    assert (algorithm.epochs, algorithm.minibatches) == (1, 1)


@pytest.mark.parametrize(("scale", "expected"), [("std", [0.0, 1.0, -1.0]), ("none", [0.0, 0.5, -0.5])])
def test_grpo_by_hand(scale, expected):
    algorithm = GRPO(GRPOConfig(episodes=2, scale=scale, kl_coefficient=0.1, minibatches=2))
    credit = algorithm.credit([build((2, 1.0), (1, 0.0))])[0]
    assert constant(credit.advantages) == pytest.approx(expected, rel=1e-5)
    assert (algorithm.loss.clip_low, algorithm.loss.clip_high, algorithm.loss.kl_coefficient) == (0.2, 0.2, 0.1)
    assert algorithm.minibatches == 2


# PPO.


def ppo(**settings) -> PPO:
    return PPO(PPOConfig(**{"whiten": False, "gamma": 0.5, "lam": 0.5} | settings))


def episode(texts: list[int], truncated: bool = False, failed: bool = False) -> Tree:
    """One episode of three policy tokens that pay 0, 1 and 2, with so many environment tokens after each."""
    tree = Tree("")
    tree.segments[ROOT].read([1], 0)
    segment = tree.segments[tree.grow(ROOT)]
    for step, (text, reward) in enumerate(zip(texts, (0.0, 1.0, 2.0), strict=True)):
        segment.write([2], [0.0], [0.0], step)
        segment.pay(reward)
        segment.read([3] * text, step + 1)
    segment.outcome = Outcome(return_=3.0, truncated=truncated, failed=failed)
    return tree


def values_of(tree: Tree, at_tokens=(0.5, 1.0, 0.5), last: float = 4.0, elsewhere: float = -50.0):
    """Values before the policy's tokens as given, something absurd everywhere else."""
    segment = tree.segments[1]
    before = np.full(len(segment) + 1, elsewhere)
    before[:-1][np.asarray(segment.written)] = at_tokens
    before[-1] = last
    return [np.full(2, elsewhere), before]


@pytest.mark.parametrize("texts", [[0, 0, 1], [3, 1, 2], [1, 7, 5]])
def test_gae_ignores_inserted_environment_text(texts):
    """The numbers of ``test_gae_by_hand``, wherever and however much the environment says."""
    tree = episode(texts, truncated=True)
    credit = ppo().credit([tree], [values_of(tree)])[0]
    written = np.asarray(tree.segments[1].written)
    assert credit.advantages[1][written].tolist() == [0.28125, 1.125, 3.5]
    assert credit.value_targets[1][written].tolist() == [0.78125, 2.125, 4.0]
    assert not credit.advantages[1][~written].any()
    assert constant(credit.weights) == [0.0, 1.0]


def test_truncated_is_bootstrapped_and_terminated_is_not():
    for truncated, expected in ((True, [0.28125, 1.125, 3.5]), (False, [0.15625, 0.625, 1.5])):
        tree = episode([1, 1, 1], truncated=truncated)
        credit = ppo().credit([tree], [values_of(tree)])[0]
        assert credit.advantages[1][np.asarray(tree.segments[1].written)].tolist() == expected


def test_ppo_shares_a_tree_among_its_episodes():
    tree = build((2, 1.0), (3, 0.0), (1, FAILED), (1, 0.0))
    credit = ppo().credit([tree], [[np.zeros(len(s) + 1) for s in tree.segments]])[0]
    assert constant(credit.weights) == pytest.approx([0.0, 1 / 3, 1 / 3, 0.0, 1 / 3])


def test_whitened_advantages_have_mean_0_and_deviation_1_over_what_counts():
    trees = [episode([1, 2, 0]), episode([0, 0, 0]), episode([0, 1, 0], failed=True)]
    values = [values_of(t, at_tokens=(0.1 * n, 0.2, 0.3)) for n, t in enumerate(trees)]
    credits = ppo(whiten=True).credit(trees, values)
    counted = np.concatenate([
        credit.advantages[1][np.asarray(tree.segments[1].written)]
        for tree, credit in zip(trees[:2], credits[:2], strict=True)
    ])  # fmt: skip
    assert counted.mean() == pytest.approx(0.0, abs=1e-9)
    assert counted.std() == pytest.approx(1.0)
    assert not credits[2].weights[1].any()


def test_ppo_needs_values():
    with pytest.raises(ValueError, match="needs a value"):
        ppo().credit([episode([0, 0, 0])])


# BPO.


def test_bpo_plans():
    causal = BPO(replace(MEAN, roots=3, children=4, max_branches=5, initial_threshold=0.9)).plan()
    assert (causal.roots, causal.rule, causal.roulette) == (3, ThresholdRule(4, 0.9, 5), None)
    paper = BPO(replace(MEAN, selection="posthoc", branches=2.0, max_branches=3)).plan()
    assert paper.rule == PosthocRule(3, 2)
    default = BPO(BPOConfig()).plan()
    assert (default.rule.measure, default.rule.threshold) == ("influence", pytest.approx(0.7 / 4))
    assert default.roulette == WeightWindow(pytest.approx(0.1), 1.0, SpreadTable((0.25,) * 16, 0.25))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"selection": "random"}, "unknown selection 'random'; known: 'threshold', 'influence'"),
        ({"prefix_credit": "all"}, "unknown prefix_credit 'all'"),
        ({"children": 1}, "children >= 2"),
        ({"roots": 1}, "roots >= 2"),
        ({"prefix_credit": "none", "include_backbone": False}, "among the siblings"),
        ({"value_head": False}, "set value_head=true, or roulette=0 and selection=threshold"),
        ({"selection": "posthoc"}, "needs a causal selection and prefix_credit 'tree'; set roulette=0"),
        ({"selection": "posthoc", "roulette": 0.0}, "set allocate=false"),
        ({"branches": 0.0}, "branches > 0"),
        ({"allocate": False, "budget": 100}, "a budget needs allocate=true"),
    ],
)
def test_bad_settings_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        BPOConfig(**settings)


def test_a_bad_scale_is_an_error():
    with pytest.raises(ValueError, match="unknown scale 'max'"):
        GRPO(GRPOConfig(scale="max"))


def test_the_threshold_rule_takes_the_first_crossing_and_keeps_to_its_cap():
    rule = ThresholdRule(children=2, threshold=0.5, max_branches=2)
    assert rule.choose(Turn(0, [0.1, 0.5, 0.9], 0)) == 1
    assert rule.choose(Turn(0, [0.1, 0.4], 0)) is None
    assert rule.choose(Turn(0, [0.9], 2)) is None
    assert rule.choose_finished([Turn(0, [0.9], 0)]) == []


def test_the_posthoc_rule_takes_the_highest_peaks_in_order_of_time():
    rule = PosthocRule(children=2, branches=2)
    turns = [Turn(0, [0.1, 0.7], 0), Turn(1, [0.2], 0), Turn(2, [0.9, 0.3], 0), Turn(3, [0.7], 0)]
    assert rule.choose_finished(turns) == [(0, 1), (2, 0)]
    assert rule.choose(turns[0]) is None


def backbone(entropies: list[list[float]], branch: bool) -> Tree:
    """One root whose turns have these entropies; it branches once, at the last turn, or not."""
    tree = Tree("")
    tree.segments[ROOT].read([1], 0)
    leaf = tree.grow(ROOT)
    for step, turn in enumerate(entropies):
        tree.segments[leaf].write([2] * len(turn), [0.0] * len(turn), turn, step)
    tree.segments[leaf].outcome = Outcome(return_=0.0)
    if branch:
        head, _ = tree.branch(leaf, tree.path_length(leaf) - len(entropies[-1]))
        sibling = tree.grow(head)
        tree.segments[sibling].write([2], [0.0], [9.0], len(entropies) - 1)
        tree.segments[sibling].outcome = Outcome(return_=1.0)
    return tree


def test_the_threshold_moves_to_the_budget():
    algorithm = BPO(replace(MEAN, branches=1.0, initial_threshold=0.8))
    trees = [backbone([[0.1, 0.2], [0.6]], True), backbone([[1.0], [0.4]], False)]
    metrics = algorithm.learn_from(trees)
    assert metrics["branches_per_root"] == 0.5
    # Turns peak at 0.2 and 0.6, at 1.0 and 0.4; two crossings on two backbones are those of 1.0 and 0.6.
    assert metrics["threshold"] == pytest.approx(0.5)
    assert algorithm.plan().rule.threshold == pytest.approx(0.5)
    more = [backbone([[0.9, 0.2], [0.8]], False), backbone([[0.3], [0.7]], False)]
    # Three tenths of the way to the middle of 0.8 and 0.7.
    assert algorithm.learn_from(more)["threshold"] == pytest.approx(0.575)
    other = BPO(replace(MEAN, branches=1.0, initial_threshold=0.8))
    other.load_state_dict(algorithm.state_dict())
    assert other.learn_from(trees) == algorithm.learn_from(trees)


def test_scores_are_judged_by_the_spread_that_the_next_batch_uses():
    """Values of 0 that came true: the batch itself says that little is open, so that all scores fall."""
    algorithm = BPO(BPOConfig())
    algorithm.learn_from([backbone([[0.9], [0.6], [0.3]], False)] * 2)
    rule = algorithm.plan().rule
    assert rule.spread(0.0) < 0.1
    assert rule.choose(Turn(0, [0.9], 0, [0.0])) == 0


def test_equal_scores_are_crossed_from_above():
    """All turns peak at 0.5, below a first batch of 0.9; a threshold that only came nearer would never be crossed."""
    algorithm = BPO(replace(MEAN, branches=1.0))
    algorithm.learn_from([backbone([[0.9], [0.9]], False)])
    assert algorithm.learn_from([backbone([[0.5], [0.5]], False)])["threshold"] == 0.5


def test_a_backbone_cannot_branch_more_often_than_it_may():
    """Three turns of the first backbone are above all of the second's, but only one of them may branch."""
    algorithm = BPO(replace(MEAN, branches=1.0, max_branches=1))
    trees = [backbone([[0.9], [0.8], [0.7]], False), backbone([[0.3], [0.1]], False)]
    assert algorithm.learn_from(trees)["threshold"] == pytest.approx(0.3)


def test_a_backbone_is_expected_to_branch_again_as_often_as_backbones_did():
    """The threshold is 0.75; of four backbones two cross it once, one twice and one never."""
    algorithm = BPO(replace(MEAN, branches=1.0, shares="leaves"))
    peaks = [[[0.9], [0.1]], [[0.2], [0.9]], [[0.9], [0.8]], [[0.7], [0.7]]]
    assert algorithm.learn_from([backbone(turns, False) for turns in peaks])["threshold"] == pytest.approx(0.75)
    rule = algorithm.plan().rule
    assert rule.later == (1 / 4, 0.0)  # one more after three first ones, and one backbone of none
    assert rule.share(0) == 1 + 2 / 4
    assert BPO(replace(MEAN, branches=1.0)).plan().rule.later == ()


def test_a_steady_policy_reaches_the_budget():
    """Turns of one token with entropies uniform in [0, 1]: branching ends near the wanted number a backbone."""
    rng = np.random.default_rng(0)
    algorithm = BPO(replace(MEAN, branches=1.0, max_branches=3, initial_threshold=0.99))
    realised = []
    for _ in range(60):
        rule = algorithm.plan().rule
        trees = []
        for _ in range(40):
            tree = Tree("")
            tree.segments[ROOT].read([1], 0)
            leaf, branches = tree.grow(ROOT), 0
            entropies = rng.random(6)
            for step, h in enumerate(entropies):
                tree.segments[leaf].write([2], [0.0], [float(h)], step)
            tree.segments[leaf].outcome = Outcome(return_=0.0)
            for step, h in enumerate(entropies):
                if rule.choose(Turn(step, [float(h)], branches)) is not None:
                    _, leaf = tree.branch(leaf, 1 + step)
                    branches += 1
            trees.append(tree)
        realised.append(algorithm.learn_from(trees)["branches_per_root"])
    assert np.mean(realised[-50:]) == pytest.approx(1.0, abs=0.05)
    assert np.std(realised[-50:]) < 0.2  # that of 40 backbones' own chance, with that of the last threshold


def test_nothing_to_learn_from_changes_nothing():
    algorithm = BPO(BPOConfig())
    state = algorithm.state_dict()
    assert algorithm.learn_from([]) == {}
    assert algorithm.learn_from([Tree("")]) == {}
    assert algorithm.state_dict() == state

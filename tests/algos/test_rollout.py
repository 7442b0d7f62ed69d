"""Rollouts: what is recorded is what was played, and branches share their past."""

import hashlib
import threading
from typing import ClassVar

import numpy as np
import pytest
from letters import LettersEnv
from playing import RULES, ForcedRule, play, replay, rescore, turns

from algos.base import Plan
from algos.branching import PosthocRule, ThresholdRule
from algos.demonstrations import demonstrate
from algos.engines.base import Sampling
from algos.ledger import Ledger
from algos.rollout import RolloutConfig
from algos.seeds import derive_seed
from algos.tree import ROOT, Tree

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.mark.parametrize("name", RULES)
def test_letters_trees_are_what_was_played(policy, letters, name):
    trees = play(policy, letters, Plan(3, RULES[name]))
    rescore(policy, trees, 1.0)
    for tree in trees:
        assert len(tree.segments[ROOT].children) == 3
        for leaf in tree.leaves():
            replay(policy, letters, tree, leaf)
    branched = sum(len(s.children) > 1 for t in trees for s in t.segments[1:])
    assert (branched > 0) == (name != "independent")


class WaitingEnv(LettersEnv):
    """Says that its steps wait for other processes, and remembers who stepped it."""

    metadata = {**LettersEnv.metadata, "runs_processes": True}  # noqa: RUF012
    steppers: ClassVar[set[int]] = set()

    def step(self, action):
        self.steppers.add(threading.get_ident())
        return super().step(action)


@pytest.mark.parametrize("name", RULES)
def test_environments_that_run_processes_are_stepped_from_threads(policy, letters, monkeypatch, name):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    WaitingEnv.steppers.clear()
    assert play(policy, WaitingEnv(), Plan(3, RULES[name])) == play(policy, letters, Plan(3, RULES[name]))
    assert WaitingEnv.steppers
    assert threading.get_ident() not in WaitingEnv.steppers


def test_demonstrations_of_environments_that_run_processes_are_played_in_threads(letters, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    WaitingEnv.steppers.clear()
    expected = demonstrate(letters, letters.task_ids, 12, 0.0, 0)
    assert demonstrate(WaitingEnv(), letters.task_ids, 12, 0.0, 0) == expected
    assert threading.get_ident() not in WaitingEnv.steppers


@pytest.mark.parametrize("name", ["inside turns", "threshold", "posthoc"])
def test_webshop_trees_are_what_was_played(shop_policy, shop, name):
    tasks = shop.unwrapped.task_ids[:2]
    config = RolloutConfig(0.5, max_invalid_actions=2)
    trees = play(shop_policy, shop, Plan(2, RULES[name]), tasks, config=config, sampling=Sampling(0.7, 8))
    rescore(shop_policy, trees, 0.7)
    for tree in trees:
        for leaf in tree.leaves():
            replay(shop_policy, shop, tree, leaf, config)


def test_what_an_expert_says_in_tokens_is_what_the_shop_hears(shop_policy, shop):
    for task in shop.unwrapped.task_ids[:8]:
        observation, _ = shop.reset(options={"task": task})
        transcript = shop_policy.prompts.transcript()
        transcript.opening("", observation)
        expert = shop.expert()
        over = False
        while not over:
            action = expert.act()
            said = transcript.action(transcript.encode_action(action))
            observation, _, terminated, truncated, info = shop.step(said)
            transcript.following(observation, True)
            assert info["action_valid"], (action, said)
            over = terminated or truncated


@pytest.mark.parametrize(("step", "token"), [(0, 0), (0, 2), (2, 1), (3, 0)])
def test_siblings_share_the_forced_prefix_and_part_there(policy, letters, step, token):
    trees = play(policy, letters, Plan(2, ForcedRule(4, {step: token})))
    found = 0
    for tree in trees:
        for head in range(1, len(tree.segments)):
            group = tree.segments[head].children
            if not group:
                continue
            found += 1
            assert len(group) == 4
            shared = [t for i in tree.path(head) for s, w, t in _columns(tree, i) if w and s == step]
            assert len(shared) == token
            for child in group:
                segment = tree.segments[child]
                assert segment.written[0]
                assert segment.steps[0] == step
    assert found
    many = play(policy, letters, Plan(6, ForcedRule(4, {step: token})))
    parted = [{tuple(t.segments[c].tokens) for c in s.children} for t in many for s in t.segments[1:] if s.children]
    assert any(len(different) > 1 for different in parted), "siblings draw with seeds of their own"


def _columns(tree, i):
    segment = tree.segments[i]
    return zip(segment.steps, segment.written, segment.tokens, strict=True)


def test_only_backbones_branch_and_never_more_than_the_cap(policy, letters):
    for cap in (1, 2):
        for tree in play(policy, letters, Plan(3, ThresholdRule(2, 0.0, cap))):
            for root in tree.segments[ROOT].children:
                depth, index = 0, root
                while tree.segments[index].children:
                    first, *others = tree.segments[index].children
                    assert all(not tree.segments[o].children for o in others)
                    depth, index = depth + 1, first
                assert depth <= cap
            assert len(tree.leaves()) <= 3 * (1 + cap)


def test_a_threshold_branches_at_the_first_crossing(policy, letters):
    threshold = 1.0
    for tree in play(policy, letters, Plan(3, ThresholdRule(2, threshold, 1)), ("apple", "brook", "ember")):
        for root in tree.segments[ROOT].children:
            segment = tree.segments[root]
            before = [h for h, w in zip(segment.entropies, segment.written, strict=True) if w]
            if segment.children:
                assert all(h < threshold for h in before)
                assert all(tree.segments[c].entropies[0] >= threshold for c in segment.children)
            else:
                assert all(h < threshold for h in before)


def test_posthoc_branches_at_the_highest_entropy_of_the_finished_backbone(policy, letters):
    for tree in play(policy, letters, Plan(3, PosthocRule(2, 1))):
        for root in tree.segments[ROOT].children:
            backbone, siblings = tree.segments[root].children
            highest = max(tree.segments[root].entropies + tree.segments[backbone].entropies)
            assert tree.segments[backbone].entropies[0] == highest
            assert tree.segments[siblings].entropies[0] == pytest.approx(highest, abs=1e-5)


def test_backbones_do_not_depend_on_branching(policy, letters):
    """A causal branch adds siblings and leaves the backbone's own draws alone."""
    plain = play(policy, letters, Plan(3))
    branched = play(policy, letters, Plan(3, RULES["inside turns"]))
    for before, after in zip(plain, branched, strict=True):
        for one, other in zip(before.segments[ROOT].children, after.segments[ROOT].children, strict=True):
            leaf = other
            while after.segments[leaf].children:
                leaf = after.segments[leaf].children[0]
            tokens = [t for i in after.path(leaf)[1:] for t in after.segments[i].tokens]
            assert tokens == before.segments[one].tokens


@pytest.mark.parametrize("name", ["threshold", "posthoc"])
def test_the_same_seed_gives_identical_trees(policy, letters, name):
    plan = Plan(2, RULES[name])
    one, two = play(policy, letters, plan, seed=5), play(policy, letters, plan, seed=5)
    assert one == two
    assert play(policy, letters, plan, seed=6) != one


class RandomStartEnv(LettersEnv):
    """An episode begins with a random part of its pay."""

    def _begin(self, task: int, rng_key: tuple[int, int]) -> int:
        return int(np.random.default_rng(rng_key).integers(4))


def test_the_seed_decides_what_is_random_in_the_environment(policy):
    one, two = (play(policy, RandomStartEnv(), Plan(1), LettersEnv().task_ids, seed=5) for _ in range(2))
    assert one == two
    assert len({tuple(t.segments[ROOT].tokens[-6:]) for t in one}) > 1


def test_fewer_live_episodes_give_the_same_tokens(policy, letters):
    tasks = letters.task_ids
    many = play(policy, letters, Plan(2, RULES["inside turns"]), tasks)
    few = play(
        policy,
        letters,
        Plan(2, RULES["inside turns"]),
        tasks,
        config=RolloutConfig(0.5, max_invalid_actions=None, max_live=2),
    )
    for one, other in zip(many, few, strict=True):
        paths = [
            sorted([t for i in tree.path(leaf) for t in tree.segments[i].tokens] for leaf in tree.leaves())
            for tree in (one, other)
        ]
        assert paths[0] == paths[1]


@pytest.mark.parametrize("name", RULES)
def test_the_ledger_counts_what_the_trees_hold(policy, letters, name):
    ledger = Ledger()
    plan = Plan(3, RULES[name])
    trees = play(policy, letters, plan, ledger=ledger)
    siblings = (plan.rule.children - 1) if plan.rule else 0
    branches = sum(len(s.children) > 1 for t in trees for s in t.segments[1:])
    leaves = [(t, i) for t in trees for i in t.leaves()]
    assert ledger.episodes == len(leaves)
    assert ledger.failed == 0
    assert ledger.branches == branches
    assert ledger.generated_tokens == sum(sum(s.written) for t in trees for s in t.segments)
    assert ledger.env_steps == sum(_ended_turns(t, i) for t in trees for i in range(len(t.segments)))
    marks = sum(len(turns(t, _backbone(t, r))) for t in trees for r in t.segments[ROOT].children)
    taken = marks if name == "posthoc" else branches * siblings
    assert ledger.snapshots == 3 * len(trees) + taken
    assert ledger.snapshot_bytes > 100 * ledger.snapshots
    prompts = sum(len(t.segments[ROOT]) - 1 for t in trees)
    assert ledger.encoded_tokens == prompts + sum(_encoded(t, leaf) for t, leaf in leaves)


def _backbone(tree: Tree, index: int) -> int:
    while tree.segments[index].children:
        index = tree.segments[index].children[0]
    return index


def _ended_turns(tree: Tree, index: int) -> int:
    """Actions that end in a segment: the policy's last token before text, or before the end."""
    segment = tree.segments[index]
    if not len(segment):
        return 0
    goes_on = segment.written[-1] and bool(segment.children)
    last = goes_on and tree.segments[segment.children[0]].written[0]
    following = [*segment.written[1:], last]
    return sum(written and not after for written, after in zip(segment.written, following, strict=True))


def _encoded(tree: Tree, leaf: int) -> int:
    """Tokens that a leaf's sequence encoded after its fork: all but the last sampled one."""
    top = leaf
    while tree.segments[top].parent != ROOT and tree.segments[tree.segments[top].parent].children[0] == top:
        top = tree.segments[top].parent
    forked = tree.path_length(tree.segments[top].parent) - 1
    tokens = [w for i in tree.path(leaf) for w in tree.segments[i].written]
    last = max(n for n, written in enumerate(tokens) if written)
    return last - forked


def test_derived_seeds_are_fixed_and_different():
    """BLAKE2b-64 of the parts' repr, the lowest bit dropped."""
    expected = int.from_bytes(hashlib.blake2b(b"(1, 'a')", digest_size=8).digest(), "little") >> 1
    assert derive_seed(1, "a") == expected
    seeds = {derive_seed(a, b) for a in range(40) for b in range(40)}
    assert len(seeds) == 1600
    assert all(0 <= s < 2**63 for s in seeds)

"""Rollouts: what is recorded is what was played, branches share their past, failures are not zeros."""

import hashlib
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from letters import BrokenLettersEnv, LettersEnv
from policies import entropy, plain_copy, plain_logprobs

from algos.base import Plan, Turn
from algos.branching import PosthocRule, ThresholdRule
from algos.engines.base import Sampling
from algos.ledger import Ledger
from algos.rollout import Rollout, RolloutConfig
from algos.seeds import derive_seed
from algos.tree import ROOT, Tree
from sandgym.core import SandboxError

ALL = RolloutConfig(success_weight=0.5, max_invalid_actions=None)


@pytest.fixture(autouse=True)
def double_precision(policy, shop_policy):
    """So that differences are mistakes and not rounding, which the sharpened weights amplify."""
    policy.model.double()
    shop_policy.model.double()


@dataclass(frozen=True)
class ForcedRule:
    """Branches at given tokens of given steps."""

    children: int
    at: dict[int, int]
    retrospective: bool = False

    def choose(self, turn: Turn) -> int | None:
        token = self.at.get(turn.step)
        return token if token is not None and token < len(turn.entropies) else None

    def choose_finished(self, turns):
        return []


def play(policy, env, plan, tasks=("apple", "cedar"), seed=0, config=ALL, sampling=None, ledger=None) -> list[Tree]:
    ledger = ledger if ledger is not None else Ledger()
    rollout = Rollout(env, policy.engine(), policy.prompts, config, ledger)
    return rollout.collect(list(tasks), plan, sampling or Sampling(1.0, 5), seed)


def turns(tree: Tree, leaf: int) -> list[list[int]]:
    """The action tokens of each step on the path to a leaf."""
    actions: dict[int, list[int]] = {}
    for i in tree.path(leaf):
        segment = tree.segments[i]
        for token, written, step in zip(segment.tokens, segment.written, segment.steps, strict=True):
            if written:
                actions.setdefault(step, []).append(token)
    assert list(actions) == list(range(len(actions)))
    return list(actions.values())


def replay(policy, env, tree: Tree, leaf: int, config=ALL) -> None:
    """Play a leaf's actions from the reset and compare everything that was recorded."""
    outcome = tree.segments[leaf].outcome
    observation, info = env.reset(options={"task": tree.task_id})
    transcript = policy.prompts.transcript()
    expected = transcript.opening(env.unwrapped.instructions, observation)
    total, over, invalid, truncated = 0.0, False, 0, False
    actions = turns(tree, leaf)
    for n, tokens in enumerate(actions):
        assert not over
        observation, reward, terminated, truncated, info = env.step(transcript.action(tokens))
        invalid += not info["action_valid"]
        over = terminated or truncated or invalid == config.max_invalid_actions
        total += (1 - config.success_weight) * reward
        expected += tokens
        following = transcript.following(observation, tokens[-1] in policy.prompts.stop)
        if n < len(actions) - 1 or (truncated and not terminated and invalid != config.max_invalid_actions):
            expected += following
    total += config.success_weight * info["success"]
    assert outcome.return_ == pytest.approx(total)
    assert (outcome.score, outcome.success, outcome.steps) == (info["score"], info["success"], info["step"])
    assert over
    assert [t for i in tree.path(leaf) for t in tree.segments[i].tokens] == expected, "append-only, never re-tokenized"
    assert sum(r for i in tree.path(leaf) for r in tree.segments[i].rewards) == pytest.approx(total)


@torch.no_grad()
def rescore(policy, trees: list[Tree], temperature: float) -> None:
    """Every recorded log-prob and entropy against plain transformers on the whole path."""
    plain = plain_copy(policy.model)
    for tree in trees:
        for leaf in tree.leaves():
            path = [(i, j) for i in tree.path(leaf) for j in range(len(tree.segments[i]))]
            tokens = [tree.segments[i].tokens[j] for i, j in path]
            logprobs = plain_logprobs(plain, tokens, temperature)
            entropies = entropy(logprobs)
            for n, (i, j) in enumerate(path):
                segment = tree.segments[i]
                said = float(logprobs[n - 1, tokens[n]]), float(entropies[n - 1])
                expected = said if segment.written[j] else (0.0, 0.0)
                assert (segment.logprobs[j], segment.entropies[j]) == pytest.approx(expected, abs=1e-4)


RULES = {
    "independent": None,
    "start of turns": ForcedRule(3, {0: 0, 2: 0}),
    "inside turns": ForcedRule(2, {0: 2, 1: 1, 3: 1}),
    "threshold": ThresholdRule(3, 1.0, 2),
    "posthoc": PosthocRule(3, 2),
}


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
    few = play(policy, letters, Plan(2, RULES["inside turns"]), tasks, config=RolloutConfig(0.5, None, max_live=2))
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


def test_a_broken_sandbox_gives_failed_leaves_and_not_zeros(policy):
    ledger = Ledger()
    tasks = ("apple", "delta", "cedar", "ember")
    trees = play(policy, BrokenLettersEnv(), Plan(4, RULES["inside turns"]), tasks, ledger=ledger)
    assert trees[1].leaves() == []
    assert trees[1].info["failure"] == "no delta today"
    leaves = [(t, i) for t in trees for i in t.leaves()]
    failed = [(t, i) for t, i in leaves if t.segments[i].outcome.failed]
    assert 0 < len(failed) < len(leaves)
    for tree, leaf in leaves:
        said = [policy.prompts.transcript().action(tokens) for tokens in turns(tree, leaf)]
        assert not any("m" in action for action in said[:-1])
        assert ("m" in said[-1]) == tree.segments[leaf].outcome.failed
    assert ledger.failed == len(failed) + 4
    assert ledger.episodes == len(leaves) - len(failed)


class BrokenForksEnv(BrokenLettersEnv):
    """Forks once, at the reset, and never again."""

    def step(self, action: str):
        return super(BrokenLettersEnv, self).step(action)

    def fork(self, k: int):
        if self.snapshot().state.step:
            raise SandboxError("no disk space for a fork")
        return super().fork(k)


def test_a_failed_fork_costs_the_branch_and_not_the_run(policy):
    env = BrokenForksEnv()
    for rule in (ForcedRule(3, {1: 0}), PosthocRule(3, 1)):
        ledger = Ledger()
        trees = play(policy, env, Plan(2, rule), ("apple",), ledger=ledger)
        assert [o.failed for o in trees[0].outcomes()] == [False, False]
        assert ledger.branches == 0


class CountedEnv(LettersEnv):
    """Counts the forks that are open; after ``crash_at`` steps of all forks together something goes wrong."""

    crash_at: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.forks: dict[int, CountedEnv] = {}
        self.steps: list[str] = []

    def fork(self, k: int):
        forks = super().fork(k)
        self.forks |= {id(fork): fork for fork in forks}  # one dictionary for all: a fork shares it
        return forks

    def step(self, action: str):
        self.steps.append(action)
        if len(self.steps) == self.crash_at:
            raise RuntimeError("a bug, not an infrastructure failure")
        return super().step(action)

    def close(self) -> None:
        del self.forks[id(self)]


@pytest.mark.parametrize("name", ["inside turns", "posthoc"])
def test_every_fork_is_closed_once(policy, name):
    env = CountedEnv()
    play(policy, env, Plan(3, RULES[name]))
    assert len(env.steps) > 6
    assert env.forks == {}


@pytest.mark.parametrize("crash_at", [1, 9, 20])
def test_an_exception_closes_the_forks_that_are_live(policy, crash_at):
    env = CountedEnv()
    env.crash_at = crash_at
    with pytest.raises(RuntimeError, match="a bug"):
        play(policy, env, Plan(3, RULES["inside turns"]))
    assert env.forks == {}


def test_a_prompt_that_is_too_long_leaves_no_fork_open(policy):
    env, engine = CountedEnv(), policy.engine()
    engine.context = 5
    with pytest.raises(ValueError, match="leaves no room"):
        Rollout(env, engine, policy.prompts, ALL, Ledger()).collect(["apple"], Plan(2), Sampling(1.0, 5), 0)
    assert env.forks == {}


def test_invalid_actions_end_an_episode_with_what_it_has(policy, letters):
    config = RolloutConfig(0.5, max_invalid_actions=1)
    trees = play(policy, letters, Plan(8), config=config)
    given_up = 0
    for tree in trees:
        for leaf in tree.leaves():
            replay(policy, letters, tree, leaf, config)
            said = [policy.prompts.transcript().action(t) for t in turns(tree, leaf)]
            assert all(action[:1].isalpha() for action in said[:-1])
            if not said[-1][:1].isalpha():
                given_up += 1
                assert not tree.segments[leaf].outcome.truncated
                assert tree.segments[leaf].written[-1], "nothing to bootstrap from"
    assert given_up


def test_siblings_inherit_the_invalid_actions_before_them(policy, letters):
    config = RolloutConfig(0.5, max_invalid_actions=2)
    trees = play(policy, letters, Plan(6, ForcedRule(3, {1: 0, 2: 0})), config=config)
    for tree in trees:
        for leaf in tree.leaves():
            replay(policy, letters, tree, leaf, config)


def test_a_full_context_truncates(policy, letters):
    """The next turn might not fit, so the episode ends; its return is what it has."""
    engine = policy.engine()
    engine.context = 60
    rollout = Rollout(letters, engine, policy.prompts, ALL, Ledger())
    trees = rollout.collect(["apple", "cedar"], Plan(4), Sampling(1.0, 5), 0)
    full = [t.segments[i] for t in trees for i in t.leaves() if t.segments[i].outcome.steps < 5]
    full = [s for s in full if s.outcome.truncated]
    assert full
    assert all(segment.written[-1] for segment in full)
    assert all(t.path_length(i) <= 60 for t in trees for i in t.leaves())


def test_a_prompt_that_leaves_no_room_for_an_action_is_an_error(policy, letters):
    engine = policy.engine()
    prompt = len(policy.prompts.transcript().opening("", letters.reset(options={"task": "apple"})[0]))
    rollout = Rollout(letters, engine, policy.prompts, ALL, Ledger())
    engine.context = prompt + 5
    assert len(rollout.collect(["apple"], Plan(1), Sampling(1.0, 5), 0)[0].leaves()) == 1
    engine.context = prompt + 4
    with pytest.raises(ValueError, match=rf"'apple' has {prompt} tokens, which leaves no room for an action of 5"):
        rollout.collect(["apple"], Plan(1), Sampling(1.0, 5), 0)


def test_truncated_episodes_hold_the_state_to_bootstrap_from(policy, letters):
    segments = [t.segments[i] for t in play(policy, letters, Plan(6)) for i in t.leaves()]
    truncated = [s for s in segments if s.outcome.truncated]
    terminated = [s for s in segments if not s.outcome.truncated]
    assert truncated
    assert terminated
    assert all(not s.written[-1] and s.outcome.steps == 5 for s in truncated)
    assert all(s.written[-1] for s in terminated)


def test_progress_counts_ended_episodes(policy, letters):
    reported: list[int] = []
    ledger = Ledger()
    rollout = Rollout(letters, policy.engine(), policy.prompts, ALL, ledger)
    rollout.collect(["apple", "cedar"], Plan(2, RULES["posthoc"]), Sampling(1.0, 5), 0, progress=reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == ledger.episodes


def test_derived_seeds_are_fixed_and_different():
    """BLAKE2b-64 of the parts' repr, the lowest bit dropped."""
    expected = int.from_bytes(hashlib.blake2b(b"(1, 'a')", digest_size=8).digest(), "little") >> 1
    assert derive_seed(1, "a") == expected
    seeds = {derive_seed(a, b) for a in range(40) for b in range(40)}
    assert len(seeds) == 1600
    assert all(0 <= s < 2**63 for s in seeds)

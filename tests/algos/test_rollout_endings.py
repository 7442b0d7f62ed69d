"""How episodes of a rollout end: failures are not zeros, forks are closed, limits truncate."""

import pytest
from letters import BrokenLettersEnv, LettersEnv
from playing import ALL, RULES, ForcedRule, play, replay, turns

from algos.base import Plan
from algos.branching import PosthocRule
from algos.engines.base import Sampling
from algos.ledger import Ledger
from algos.rollout import Rollout, RolloutConfig
from sandgym.core import SandboxError

pytestmark = pytest.mark.usefixtures("double_precision")


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

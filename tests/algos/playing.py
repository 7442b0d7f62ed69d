"""Rollouts to be looked at, and what says that they are right."""

from dataclasses import dataclass

import pytest
import torch
from policies import entropy, plain_copy, plain_logprobs

from algos.base import Turn
from algos.branching import PosthocRule, ThresholdRule
from algos.engines.base import Sampling
from algos.ledger import Ledger
from algos.rollout import Rollout, RolloutConfig
from algos.tree import Tree

ALL = RolloutConfig(success_weight=0.5, max_invalid_actions=None)


@dataclass(frozen=True)
class ForcedRule:
    """Branches at given tokens of given steps."""

    children: int
    at: dict[int, int]
    retrospective: bool = False

    def share(self, branches: int) -> float:
        return 1.0

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

"""Siblings remember the names that their past gave to identifiers."""

from collections.abc import Sequence
from typing import Any

import pytest
from sizes import SMALL

from algos.base import Plan
from algos.branching import PosthocRule, ThresholdRule
from algos.engines.base import Completion, Request, Sampling
from algos.ledger import Ledger
from algos.prompts import NAMES, format_for
from algos.rollout import Rollout, RolloutConfig
from algos.tiny import build_tokenizer
from sandgym.memory import InMemoryEnv, Outcome

CODES = ("AB12CD34", "EF56GH78", "IJ90KL12", "MN34OP56")


class CodesEnv(InMemoryEnv):
    """Shows another code at each step; three times the first one has to be said."""

    def __init__(self) -> None:
        super().__init__("codes", 5)

    @property
    def task_ids(self) -> Sequence[str]:
        return ("codes",)

    def task_index(self, task_id: str) -> int:
        return {"codes": 0}[task_id]

    def _begin(self, task: int, rng_key: tuple[int, int]) -> tuple[str, ...]:
        return ()

    def _advance(self, task: int, state: tuple[str, ...], action: str) -> tuple[tuple[str, ...], Outcome]:
        state = (*state, action)
        right = sum(said == CODES[0] for said in state) / 3
        return state, Outcome(0.0, len(state) == 3, right == 1, right)

    def _observe(self, task: int, state: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
        return f"code {CODES[len(state)]} now", {}


class FirstName:
    """An engine that always says the first name; each token has one nat of entropy."""

    context = 512

    def __init__(self, name: int, end: int) -> None:
        self.said = [name, end]
        self.encoded_tokens = 0
        self.lengths: list[int] = []

    def open(self) -> int:
        self.lengths.append(0)
        return len(self.lengths) - 1

    def close(self, sequence: int) -> None:
        self.lengths[sequence] = 0

    def length(self, sequence: int) -> int:
        return self.lengths[sequence]

    def encode(self, sequence: int, tokens: Sequence[int]) -> None:
        self.lengths[sequence] += len(tokens)

    def fork(self, sequence: int, length: int) -> int:
        self.lengths.append(length)
        return len(self.lengths) - 1

    def generate(self, requests: Sequence[Request], sampling: Sampling, stop: frozenset[int]) -> list[Completion]:
        for request in requests:
            self.lengths[request.sequence] += len(request.tokens) + 1
        return [Completion(list(self.said), [-1.0, -1.0], [1.0, 1.0]) for _ in requests]

    def reset(self) -> None:
        self.lengths = []


@pytest.mark.parametrize("rule", [ThresholdRule(3, 0.5, 2), PosthocRule(3, 2)])
def test_a_name_means_the_same_on_every_branch(rule: ThresholdRule | PosthocRule) -> None:
    tokenizer = build_tokenizer(["code now"] * 20, SMALL, lowercase=False)
    prompts = format_for(tokenizer)
    name, (end,) = tokenizer.convert_tokens_to_ids(NAMES[0]), prompts.stop
    rollout = Rollout(CodesEnv(), FirstName(name, end), prompts, RolloutConfig(), Ledger())
    (tree,) = rollout.collect(["codes"], Plan(2, rule), Sampling(1.0, 4), 0)
    assert len(tree.leaves()) == 10  # two backbones, each with two branches of two siblings more
    assert [outcome.score for outcome in tree.outcomes()] == [1.0] * 10

"""What is trained is what was sampled: ids of a rollout reach the learner as they are, whatever text they spell.

The tokenizers here drift on purpose: nearly every text has several token sequences, and a random policy writes
others than the tokenizer would.
"""

import numpy as np
import pytest
import torch
from chats import CHATML, THINKING, chat_tokenizer
from letters import LettersEnv
from playing import ALL, RULES, play, replay, turns
from policies import sharpened
from sizes import SMALL

from algos.base import Plan
from algos.demonstrations import as_tree, demonstrate
from algos.engines.base import Completion, Sampling
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.packing import pack
from algos.policy import Policy
from algos.prompts import PromptConfig
from algos.rloo import RLOO, RLOOConfig
from algos.rollout import Rollout, RolloutConfig
from algos.tiny import build_model

CHAT = Sampling(1.0, 8)


def chat_policy(template: str, **settings) -> Policy:
    tokenizer = chat_tokenizer(template)
    return Policy.of(sharpened(build_model(tokenizer, SMALL, 5)), tokenizer, PromptConfig(**settings))


class Recording:
    """An engine that keeps what it returned, by the tokens of the whole sequence before."""

    def __init__(self, engine) -> None:
        self._engine = engine
        self._seen: dict[int, list[int]] = {}
        self.said: list[tuple[list[int], list[int]]] = []

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def encode(self, sequence, tokens) -> None:
        self._seen.setdefault(sequence, []).extend(tokens)
        self._engine.encode(sequence, tokens)

    def fork(self, sequence, length) -> int:
        child = self._engine.fork(sequence, length)
        self._seen[child] = self._seen[sequence][:length]
        return child

    def generate(self, requests, sampling, stop) -> list[Completion]:
        completions = self._engine.generate(requests, sampling, stop)
        for request, completion in zip(requests, completions, strict=True):
            seen = self._seen[request.sequence]
            seen.extend(request.tokens)
            self.said.append((list(seen), list(completion.tokens)))
            seen.extend(completion.tokens[:-1])
        return completions


@pytest.mark.parametrize("template", [CHATML, THINKING, None])
@pytest.mark.parametrize("name", ["independent", "inside turns"])
def test_the_ids_of_the_rollout_are_the_ids_trained(template, name):
    policy = chat_policy(template)
    policy.model.double()
    env, engine = LettersEnv(), Recording(policy.engine())
    rollout = Rollout(env, engine, policy.prompts, ALL, Ledger())
    trees = rollout.collect(["apple", "cedar"], Plan(3, RULES[name]), CHAT, 0)
    drifted = 0
    for tree in trees:
        for leaf in tree.leaves():
            replay(policy, env, tree, leaf)  # the transcript again, from the environment's texts
            path = [t for i in tree.path(leaf) for t in tree.segments[i].tokens]
            text = policy.tokenizer.decode(path)
            drifted += policy.tokenizer.encode(text, add_special_tokens=False) != path
    assert drifted, "re-tokenizing would change ids"
    _sampled_are_trained(policy, trees, engine)


def _sampled_are_trained(policy, trees, engine) -> None:
    """Each of the policy's tokens in the learner's batch, after each of its pasts, is one that the engine returned."""
    packed = pack(trees)
    flat = packed.tokens[0].tolist()
    written = set(packed.written.tolist())
    returned = {(tuple(past), tuple(tokens)) for past, tokens in engine.said}
    starts = {(t, i): start for t, i, start in packed.segments}
    checked = 0
    for t, tree in enumerate(trees):
        for leaf in tree.leaves():
            places = [starts[t, i] + j for i in tree.path(leaf) for j in range(len(tree.segments[i]))]
            assert [flat[p] for p in places] == [x for i in tree.path(leaf) for x in tree.segments[i].tokens]
            n = 0
            while n < len(places):
                if places[n] not in written:
                    n += 1
                    continue
                end = next((m for m in range(n, len(places)) if places[m] not in written), len(places))
                past, said = [flat[p] for p in places[:n]], [flat[p] for p in places[n:end]]
                # A branch inside a turn was forced up to its token: its past has the turn's first tokens.
                cuts = range(len(said))
                assert any((tuple(past + said[:c]), tuple(said[c:])) in returned for c in cuts)
                checked += 1
                n = end
    assert checked >= len(trees) * 3


@pytest.mark.parametrize("template", [CHATML, THINKING])
def test_demonstrations_are_written_as_rollouts_are(template):
    """A model that said what the demonstrator says would give the demonstration's tokens."""
    policy, env = chat_policy(template), LettersEnv()
    demonstration = demonstrate(env, ["apple"], 1, 0.0, 0)[0]
    segment = as_tree(demonstration, policy.prompts).segments[0]
    transcript = policy.prompts.transcript()
    observation, _ = env.reset(options={"task": "apple"})
    expected = transcript.opening(env.instructions, observation)
    for action in demonstration.actions:
        said = transcript.encode_action(action)
        assert transcript.action(said) == action
        observation, *_ = env.step(transcript.action(said))
        expected = expected + said + transcript.following(observation, said[-1] in policy.prompts.stop)
    assert segment.tokens == expected[: len(segment.tokens)]


def test_an_invalid_format_costs_a_step_and_is_not_understood():
    """Random answers have no tags, so every action is empty; the environment counts its steps and pays nothing."""
    policy = chat_policy(CHATML, action="tag")
    for tree in play(policy, LettersEnv(), Plan(3), sampling=CHAT):
        for leaf in tree.leaves():
            outcome = tree.segments[leaf].outcome
            assert len(turns(tree, leaf)) == outcome.steps == 5
            assert (outcome.return_, outcome.score, outcome.truncated) == (0.0, 0.0, True)


def test_the_penalty_is_in_the_return_and_nowhere_else(policy, letters):
    """The same episodes with and without: each action that was not understood costs a tenth where it was made."""
    policy.model.double()
    with_penalty = RolloutConfig(0.5, max_invalid_actions=None, invalid_penalty=0.1)
    free, fined = (play(policy, letters, Plan(6), config=config) for config in (ALL, with_penalty))
    invalid = 0
    for tree, other in zip(free, fined, strict=True):
        assert [s.tokens for s in tree.segments] == [s.tokens for s in other.segments]
        for leaf in tree.leaves():
            said = [policy.prompts.transcript().action(tokens) for tokens in turns(tree, leaf)]
            wrong = [not action[:1].isalpha() for action in said]
            invalid += sum(wrong)
            one, two = tree.segments[leaf].outcome, other.segments[leaf].outcome
            assert two.return_ == pytest.approx(one.return_ - 0.1 * sum(wrong))
            assert (two.score, two.success, two.steps) == (one.score, one.success, one.steps)
            lost = np.array(tree.segments[leaf].rewards) - np.array(other.segments[leaf].rewards)
            assert sorted(lost[lost != 0]) == pytest.approx([0.1] * sum(wrong))
    assert invalid


def test_learning_changes_the_likelihood_of_the_ids_that_were_sampled():
    """The advantage's gradient is that of the sampled ids' log-probs, worked out plainly from the whole paths."""
    policy = chat_policy(CHATML)
    policy.model.double()
    trees = play(policy, LettersEnv(), Plan(2), tasks=("apple",), sampling=CHAT)
    (tree,) = trees
    algorithm = RLOO(RLOOConfig(episodes=2))
    for n, leaf in enumerate(tree.leaves()):  # the random policy earns nothing: pay one of the two
        tree.segments[leaf].outcome.return_ = float(n)
        tree.segments[leaf].rewards[-1] += float(n)
    policy.model.zero_grad()
    Learner(policy, OptimizerConfig(), 1.0, 1).accumulate_gradient(trees, algorithm.credit(trees, None), algorithm.loss)
    mine = policy.model.get_input_embeddings().weight.grad.clone()
    policy.model.zero_grad()
    total = 0.0
    for n, leaf in enumerate(tree.leaves()):
        tokens = [t for i in tree.path(leaf) for t in tree.segments[i].tokens]
        wrote = [w for i in tree.path(leaf) for w in tree.segments[i].written]
        logprobs = policy.model(torch.tensor([tokens])).logits[0].log_softmax(-1)
        chosen = sum(logprobs[j - 1, tokens[j]] for j in range(1, len(tokens)) if wrote[j])
        total = total + (1.0 if n else -1.0) * chosen  # returns 0 and 1, each less the other
    total.backward()
    theirs = policy.model.get_input_embeddings().weight.grad
    cosine = torch.nn.functional.cosine_similarity(mine.flatten(), -theirs.flatten(), dim=0)
    assert float(cosine) > 1 - 1e-9

"""One gradient step on packed trees is that on their unpacked paths, and every token is trained once.

The reference runs every root-to-leaf path by itself through plain transformers (SDPA, causal mask). A token that n
paths share is in n of these sequences. The causal mask hides from it all that comes after, so its log-prob, entropy,
value and their gradients are the same in each of them. Let w be the token's weight and f its loss, with gradient g.
In the reference it stands n times with weight w / n, which adds n * (w / n) * f = w * f to the loss and w * g to the
gradient: what it adds once with weight w in the packed tree. That holds for each term (surrogate, KL, entropy, value
error), since each is the weight times a function of this token's own numbers.
"""

import copy
import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from grown import copies_of, paths_of, random_trees
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from policies import plain_copy

from algos.base import Algorithm
from algos.bpo import BPO, BPOConfig
from algos.credit import Credit
from algos.grpo import GRPO, GRPOConfig
from algos.lab.methods import MEAN, SIBLINGS
from algos.learner import Learner, OptimizerConfig
from algos.lora import Base, LoRAConfig, adapted
from algos.losses import LossConfig
from algos.policy import Policy
from algos.ppo import PPO, PPOConfig
from algos.rloo import RLOO, RLOOConfig
from algos.tree import Tree

TEMPERATURE = 0.8
INDEPENDENT = {"branches": 0, "failures": 0.2, "min_roots": 2}
FORKED = {"branches": 2, "failures": 0.2, "min_roots": 2}
STOPPED = {**FORKED, "roulette": 0.5, "shares": True}

CASES = {
    "ppo": (lambda: PPO(PPOConfig()), INDEPENDENT),
    "ppo, every term": (lambda: PPO(PPOConfig(kl_coefficient=0.1, entropy_coefficient=0.02)), INDEPENDENT),
    "rloo": (lambda: RLOO(RLOOConfig()), INDEPENDENT),
    "rloo, entropy": (lambda: RLOO(RLOOConfig(entropy_coefficient=0.02)), INDEPENDENT),
    "grpo": (lambda: GRPO(GRPOConfig()), INDEPENDENT),
    "grpo, every term": (
        lambda: GRPO(GRPOConfig(scale="none", kl_coefficient=0.1, entropy_coefficient=0.02)),
        INDEPENDENT,
    ),
    "bpo": (lambda: BPO(BPOConfig()), STOPPED),
    "bpo, no roulette": (lambda: BPO(BPOConfig(roulette=0.0)), FORKED),
    "bpo, siblings": (lambda: BPO(SIBLINGS), FORKED),
    "bpo, mean of earlier batches": (
        lambda: BPO(dataclasses.replace(MEAN, baseline="value", entropy_coefficient=0.02)),
        FORKED,
    ),
    "bpo, the paper's prefixes": (lambda: BPO(dataclasses.replace(SIBLINGS, prefix_credit="lambda")), FORKED),
    "bpo, backbones left out": (lambda: BPO(dataclasses.replace(SIBLINGS, include_backbone=False)), FORKED),
}
SOME = settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def with_lora(model, seed: int):
    """LoRA on every projection, with both of its matrices away from zero."""
    wrapped = adapted(model, LoRAConfig(rank=3, alpha=6), Base("none"), "none", seed).to(model.dtype)
    torch.manual_seed(seed)
    for name, parameter in wrapped.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    return wrapped


def learning(policy: Policy, algorithm: Algorithm, lora: bool) -> Policy:
    """The policy as the algorithm trains it."""
    model = with_lora(copy.deepcopy(policy.model), 3) if lora else policy.model
    mine = Policy(model, policy.tokenizer, policy.prompts)
    if algorithm.needs_values or algorithm.records_values:
        mine.add_value_head()
        torch.nn.init.normal_(mine.value_head.weight, generator=torch.Generator().manual_seed(0))
    return mine


def per_token(batch: dict[str, torch.Tensor | float], loss: LossConfig) -> torch.Tensor:
    """One token's loss before its weight; the formulas of the papers, written out for numbers."""
    ratio = (batch["logprob"] - batch["behaviour"]).exp()
    surrogate = ratio * batch["advantage"]
    if loss.clip_low is not None:
        inside = ratio.clamp(1 - loss.clip_low, 1 + loss.clip_high)
        surrogate = torch.minimum(surrogate, inside * batch["advantage"])
    total = -surrogate - loss.entropy_coefficient * batch["entropy"]
    if loss.kl_coefficient:
        log_ratio = batch["reference"] - batch["logprob"]
        total = total + loss.kl_coefficient * (log_ratio.exp() - log_ratio - 1)
    if "value" in batch:
        total = total + 0.5 * loss.value_coefficient * (batch["value"] - batch["target"]) ** 2
    return total


def unpacked_loss(
    model, head, reference, trees: Sequence[Tree], credits: Sequence[Credit], loss: LossConfig
) -> tuple[torch.Tensor, float]:
    """Sum over paths, each by itself, and of its terms' sizes; see the module's docstring for the weights."""
    total, size = torch.zeros((), dtype=torch.float64), 0.0
    for tree, credit in zip(trees, credits, strict=True):
        copies = copies_of(tree)
        for path in paths_of(tree):
            ids = torch.tensor([[tree.segments[i].tokens[j] for i, j in path]])
            output = model(ids, output_hidden_states=True)
            said = (output.logits[0].float() / TEMPERATURE).log_softmax(-1)
            values = head(output.hidden_states[-1][0].float())[:, 0] if head is not None else None
            with torch.no_grad():
                before = (reference(ids).logits[0].float() / TEMPERATURE).log_softmax(-1)
            for n, (i, j) in enumerate(path):
                if not tree.segments[i].written[j]:
                    continue
                row = {
                    "logprob": said[n - 1, ids[0, n]],
                    "entropy": -(said[n - 1].exp() @ said[n - 1]),
                    "reference": before[n - 1, ids[0, n]],
                    "behaviour": tree.segments[i].logprobs[j],
                    "advantage": credit.advantages[i][j],
                }
                if values is not None and credit.value_targets is not None:
                    row |= {"value": values[n - 1], "target": credit.value_targets[i][j]}
                term = credit.weights[i][j] / copies[i, j] * per_token(row, loss)
                total, size = total + term, size + abs(term.item())
    divisor = len(trees) * loss.tokens_per_episode
    return total / divisor, size / divisor


def expected_tokens(trees: Sequence[Tree], credits: Sequence[Credit], loss: LossConfig) -> int:
    """Unique tokens; where nothing but advantages teaches, those of segments with credit and of what leads to them."""
    if loss.only_advantages and all(credit.value_targets is None for credit in credits):
        count = 0
        for tree, credit in zip(trees, credits, strict=True):
            needed: set[int] = set()
            for path in paths_of(tree):
                taught = [
                    i
                    for i, j in path
                    if tree.segments[i].written[j] and credit.advantages[i][j] and credit.weights[i][j]
                ]
                needed |= set(tree.path(taught[-1])) if taught else set()
            count += sum(len(tree.segments[i]) for i in needed)
        return count
    return sum(len(copies_of(tree)) for tree in trees)


@torch.no_grad()
def make_stale(model, trees: Sequence[Tree], seed: int) -> None:
    """Behaviour log-probs near the policy's own, so that some ratios are clipped and others are not."""
    rng = np.random.default_rng(seed)
    for tree in trees:
        for path in paths_of(tree):
            ids = torch.tensor([[tree.segments[i].tokens[j] for i, j in path]])
            said = (model(ids).logits[0] / TEMPERATURE).log_softmax(-1)
            for n, (i, j) in enumerate(path):
                if tree.segments[i].written[j]:
                    tree.segments[i].logprobs[j] = float(said[n - 1, ids[0, n]] + rng.normal(0, 0.2))


def gradients(*modules) -> dict[str, torch.Tensor]:
    return {
        f"{n}.{name}": parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
        for n, module in enumerate(modules)
        if module is not None
        for name, parameter in module.named_parameters()
        if parameter.requires_grad
    }


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
@pytest.mark.parametrize("case", list(CASES))
def test_loss_gradients_and_tokens_are_those_of_the_unpacked_paths(policy, case, lora):
    policy.model.double()
    make, shape = CASES[case]
    other = copy.deepcopy(policy)
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.add_(0.01 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    taught = []

    @SOME
    @given(trees=st.lists(random_trees(**shape), min_size=1, max_size=3), seed=st.integers(0, 99))
    def check(trees, seed):
        algorithm = make()
        mine = learning(policy, algorithm, lora)
        model, head = plain_copy(policy.model, "sdpa"), copy.deepcopy(mine.value_head)
        model = with_lora(model, 3) if lora else model
        make_stale(model, trees, seed)
        learner = Learner(mine, OptimizerConfig(micro_batch_tokens=25), TEMPERATURE, 1)
        algorithm.learn_from(trees)  # baselines of earlier batches
        credits = algorithm.credit(trees, learner.values(trees) if algorithm.needs_values else None)
        mine.model.zero_grad()
        sums = learner.accumulate_gradient(trees, credits, algorithm.loss, other)
        loss, size = unpacked_loss(model, head, plain_copy(other.model, "sdpa"), trees, credits, algorithm.loss)
        loss.backward()

        assert sums.get("trained_tokens", 0) == expected_tokens(trees, credits, algorithm.loss)
        assert sums.get("loss", 0.0) == pytest.approx(loss.item(), rel=1e-5, abs=3e-6 * size)  # float32 sums cancel
        packed, expected = gradients(mine.model, mine.value_head), gradients(model, head)
        assert packed.keys() == expected.keys()
        whole = sum(float(g.norm()) for g in expected.values())
        for name, gradient in expected.items():
            error = float((packed[name] - gradient).norm())
            assert error <= 1e-5 * float(gradient.norm()) + 1e-9 * whole, (name, error, float(gradient.norm()))
        taught.append(whole > 0)

    check()
    assert any(taught)

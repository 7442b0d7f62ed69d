"""Learning from packed trees beside learning from their unpacked paths: does time follow tokens?

    python benchmarks/packing.py [--env webshop --env alfworld] [--tasks 2] [--repeats 5]

The same learner takes the gradient of the same BPO trees twice: packed, where a shared prefix is run once, and with
every root-to-leaf path as a sequence of its own, where the weight of a token that n paths share is divided by n. Both
give the same gradient (the largest difference is in the results). Packed and unpacked alternate; times are
processor seconds of one process. Without a warm-started ``tiny`` in the data root the policy is a random one. Writes
``benchmarks/results/packing.json`` and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from starting import Start, start

from algos.bpo import BPO
from algos.credit import Credit
from algos.engines.base import Sampling
from algos.lab.methods import MEAN
from algos.learner import Learner
from algos.ledger import Ledger
from algos.losses import LossConfig
from algos.rollout import Rollout
from algos.tree import Tree
from cli.environments import environment_id

RESULTS = Path(__file__).parent / "results" / "packing.json"
ENTROPY = 0.01  # a term that every written token has, so that no segment is left out
BRANCHING = dataclasses.replace(MEAN, branches=2.0, max_branches=3, initial_threshold=0.3)


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", action="append", help="short name; may be repeated (default: webshop, alfworld)")
    parser.add_argument("--tasks", type=int, default=2, help="trees (default: 2)")
    parser.add_argument("--repeats", type=int, default=5, help="of each kind (default: 5)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = arguments.env or ["webshop", "alfworld"]
    rows = kept(RESULTS, "env", names)
    for name in names:
        begun = start(environment_id(name))
        trees = grow(begun, arguments.tasks)
        for every_token in (True, False):
            rows.append({"env": name, "warm": begun.warm, **measure(begun, trees, every_token, arguments.repeats)})
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


def kept(path: Path, key: str, measured: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of an earlier run that this one does not measure again."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return [row for row in rows if row[key] not in measured]


def grow(begun: Start, tasks: int) -> list[Tree]:
    """BPO's trees of the first tasks."""
    config = begun.config
    rollout = Rollout(begun.env, begun.policy.engine(), begun.policy.prompts, config.rollout, Ledger())
    sampling = Sampling(config.temperature, config.max_turn_tokens)
    names = list(begun.env.unwrapped.task_ids[:tasks])
    return rollout.collect(names, BPO(BRANCHING).plan(), sampling, 0)


def separated(tree: Tree, credit: Credit) -> list[tuple[Tree, Credit]]:
    """Each root-to-leaf path as a tree of its own; a shared token's weight is divided among its copies."""
    paths = [tree.path(leaf) for leaf in tree.leaves()]
    copies = Counter(index for path in paths for index in path)
    alone = []
    for path in paths:
        chain = Tree(tree.task_id, tree.policy_version, [])
        for n, index in enumerate(path):
            segment = tree.segments[index]
            columns = ("tokens", "written", "logprobs", "entropies", "values", "rewards", "steps", "outcome")
            link = type(segment)(n - 1 if n else None, **{name: getattr(segment, name) for name in columns})
            link.children = [n + 1] if n + 1 < len(path) else []
            chain.segments.append(link)
        targets = credit.value_targets
        theirs = Credit(
            [credit.advantages[i] for i in path],
            [credit.weights[i] / copies[i] for i in path],
            [targets[i] for i in path] if targets is not None else None,
        )
        alone.append((chain, theirs))
    return alone


def unpack(trees: Sequence[Tree], credits: Sequence[Credit]) -> tuple[list[Tree], list[Credit]]:
    """All paths of all trees, weighted so that a learner's loss and gradient are those of the trees."""
    pairs = [pair for tree, credit in zip(trees, credits, strict=True) for pair in separated(tree, credit)]
    for _, credit in pairs:  # a loss is divided by the number of trees
        credit.weights = [weights * len(pairs) / len(trees) for weights in credit.weights]
    return [tree for tree, _ in pairs], [credit for _, credit in pairs]


def alternate(jobs: Sequence[Callable[[], Any]], repeats: int, clock: Callable[[], float]) -> list[list[float]]:
    """Times of each job, run in turn and in the opposite order every second time; one untimed round before."""
    times: list[list[float]] = [[] for _ in jobs]
    for n in range(repeats + 1):
        for index in range(len(jobs))[:: 1 if n % 2 else -1]:
            began = clock()
            jobs[index]()
            if n:
                times[index].append(clock() - began)
    return times


def measure(begun: Start, trees: list[Tree], every_token: bool, repeats: int) -> dict[str, Any]:
    """Both ways to the same gradient.

    Args:
        begun: the policy and its settings.
        trees: to learn from.
        every_token: whether all tokens teach something, or only those with an advantage.
        repeats: of each way.
    """
    loss = LossConfig(entropy_coefficient=ENTROPY if every_token else 0.0)
    credits = BPO(BRANCHING).credit(trees)
    paths, path_credits = unpack(trees, credits)
    learner = Learner(begun.policy, begun.config.optimizer, begun.config.temperature, 1)
    tokens, gradients = [0.0, 0.0], [np.zeros(0), np.zeros(0)]

    def job(kind: int, some: list[Tree], their: list[Credit]) -> None:
        begun.policy.model.zero_grad()
        tokens[kind] = learner.accumulate_gradient(some, their, loss)["trained_tokens"]
        gradients[kind] = torch.cat([p.grad.flatten() for p in begun.policy.model.parameters()]).numpy()

    packed, unpacked = alternate(
        [lambda: job(0, trees, credits), lambda: job(1, paths, path_credits)], repeats, time.process_time
    )
    ratios = np.array(unpacked) / np.array(packed)
    token_ratio = tokens[1] / tokens[0]
    return {
        "tokens": "every" if every_token else "credited",
        "trees": len(trees),
        "leaves": len(paths),
        "segments": sum(len(tree.segments) for tree in trees),
        "unique_tokens": int(tokens[0]),
        "path_tokens": int(tokens[1]),
        "token_ratio": token_ratio,
        "packed_seconds": packed,
        "unpacked_seconds": unpacked,
        "time_ratio": float(np.median(ratios)),
        "time_ratio_range": [float(ratios.min()), float(ratios.max())],
        "share_of_token_ratio": float(np.median(ratios)) / token_ratio,
        "gradient_difference": float(
            np.linalg.norm(gradients[1] - gradients[0]) / np.linalg.norm(gradients[1])
        ),  # relative, in float32
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One line a measurement."""
    lines = [
        "| environment | tokens | leaves | unique | on paths | token ratio | time ratio | share | gradients |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        low, high = row["time_ratio_range"]
        lines.append(
            f"| {row['env']}{'' if row['warm'] else ' (random policy)'} | {row['tokens']} | {row['leaves']} "
            f"| {row['unique_tokens']} | {row['path_tokens']} | {row['token_ratio']:.2f} "
            f"| {row['time_ratio']:.2f} ({low:.2f} to {high:.2f}) | {100 * row['share_of_token_ratio']:.0f} % "
            f"| {row['gradient_difference']:.1e} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()

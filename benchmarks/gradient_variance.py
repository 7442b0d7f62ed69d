"""Variance and signal of every algorithm's policy gradient on the real environments, at matched tokens.

    python benchmarks/gradient_variance.py --run RUN --stage weak=FOLDER --stage middle=FOLDER --stage good=FOLDER

A stage is a policy's folder, for instance ``runs/RUN/start``, or ``runs/RUN/checkpoints/update-25`` of a run that was
made with ``--set updates=25``. At each stage the policy is held fixed. An algorithm first learns its thresholds,
baselines and value head from ``--batches`` batches; then ``--samples`` batches of ``--tasks`` tasks each are played
with seeds of their own, and each gives one gradient of the policy's own parameters, of the terms with advantages
alone. Matched tokens means that a variance is multiplied by the tokens that a sample generated.

With g a sample and n of them: |E g|^2 is estimated by the mean of the products of different samples, the variance by
the mean of |g|^2 less that, the signal-to-noise ratio is |E g|^2 / (variance x tokens); intervals are 95 % bootstrap
ones over samples. RLOO's expectation is the true gradient; ``cosine`` is that of the angle to it, where the samples
tell. GRPO and PPO divide their advantages by a deviation, so that their gradients are longer: compare their
signal-to-noise ratios only.

How much of RLOO's variance is that between the expected gradients of different tasks, which no way of playing a task
can lower, is measured by a second gradient of the same tasks for every sample: the mean product of the two, less that
of gradients of different tasks, over the variance.

What is measured is kept after every method, so that a run that was stopped goes on where it was; the angle is then
known only for methods that were measured together with RLOO. Writes
``benchmarks/results/gradient_variance_ENV.json`` and ``docs/gradient_variance.png`` and prints a Markdown table.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

from algos.base import Algorithm
from algos.bpo import BPO
from algos.config import TrainConfig
from algos.credit import Credit, alive
from algos.engines.base import Sampling
from algos.grpo import GRPO, GRPOConfig
from algos.lab.methods import DEFAULT, MEAN, SIBLINGS
from algos.learner import Learner
from algos.ledger import Ledger
from algos.packing import micro_batches, pack
from algos.policy import Policy
from algos.ppo import PPO, PPOConfig
from algos.rloo import RLOO, RLOOConfig
from algos.rollout import Rollout
from algos.seeds import derive_seed
from algos.tree import Tree
from cli.environments import short_name

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
EPISODES = 8
EARLIER = 1_000_000
"""Number of the first batch that is learned from; samples count from 0."""
RIDGE = 1e-4
DRAWS = 500
METHODS: dict[str, Callable[[], Algorithm]] = {
    "rloo": lambda: RLOO(RLOOConfig(EPISODES)),
    "grpo": lambda: GRPO(GRPOConfig(EPISODES)),
    "ppo": lambda: PPO(PPOConfig(EPISODES)),
    "bpo-sibling": lambda: BPO(SIBLINGS),
    "bpo-mean": lambda: BPO(MEAN),
    "bpo": lambda: BPO(DEFAULT),
}
"""By name; those of BPO are those of ``sandgym lab``."""


class Player:
    """A fixed policy, and an algorithm that learns its own numbers only."""

    def __init__(self, config: TrainConfig, folder: str, algorithm: Algorithm, seed: int) -> None:
        self.config, self.algorithm, self.seed = config, algorithm, seed
        self.env = gymnasium.make(config.env, **config.training_arguments())
        self.policy = Policy.load(folder)
        self.policy.value_head = None
        if algorithm.needs_values or algorithm.records_values:
            self.policy.add_value_head()
        self.learner = Learner(self.policy, config.optimizer, config.temperature, 1)
        self.ledger = Ledger()
        size = self.policy.model.config.hidden_size + 1
        self._moments, self._targets = torch.zeros(size, size).double(), torch.zeros(size).double()

    def batch(self, number: int, tasks: int, again: bool = False) -> list[Tree]:
        """Trees of randomly drawn tasks; played ``again``, the same tasks, but not the same trees."""
        names = self.env.unwrapped.task_ids  # type: ignore[attr-defined]
        chosen = np.random.default_rng((self.seed, number)).choice(len(names), tasks, replace=False)
        rollout = Rollout(
            self.env, self.policy.engine(), self.policy.prompts, self.config.rollout, self.ledger  # type: ignore[arg-type]
        )  # fmt: skip
        sampling = Sampling(self.config.temperature, self.config.max_turn_tokens)
        seed = derive_seed(self.seed, "again" if again else "rollout", number)
        trees = rollout.collect([names[int(i)] for i in chosen], self.algorithm.plan(), sampling, seed)
        return [tree for tree in trees if any(alive(tree))]

    def learn(self, number: int, tasks: int) -> None:
        """One batch for thresholds, baselines and the value head; the trunk stays as it is."""
        trees = self.batch(number, tasks)
        if self.policy.value_head is not None:
            self._fit_head(trees)
        self.algorithm.learn_from(trees)

    @torch.no_grad()
    def _fit_head(self, trees: list[Tree]) -> None:
        """Set the value head to the ridge regression on all targets so far."""
        credits = self._credits(trees)
        for group in micro_batches([t.unique_tokens() for t in trees], self.config.optimizer.micro_batch_tokens):
            packed = pack([trees[i] for i in group], [credits[i] for i in group])
            output = self.policy.model.get_decoder()(
                input_ids=packed.tokens, position_ids=packed.positions, layout=packed.layout, use_cache=False
            )
            features = output.last_hidden_state[0, packed.previous].double()
            features = torch.cat([features, torch.ones(len(features), 1)], 1)
            assert packed.value_targets is not None
            weighted = features * packed.weights[:, None].double()
            self._moments += weighted.T @ features
            self._targets += weighted.T @ packed.value_targets.double()
        head = self.policy.value_head
        assert head is not None
        ridge = RIDGE * self._moments.trace() / len(self._moments)
        solved = torch.linalg.solve(self._moments + ridge * torch.eye(len(self._moments)), self._targets).float()
        head.weight[0], head.bias[0] = solved[:-1], solved[-1]

    def gradient(self, number: int, tasks: int, again: bool = False) -> tuple[np.ndarray, int]:
        """A sample, as a vector, and the tokens that it took."""
        before = self.ledger.generated_tokens
        trees = self.batch(number, tasks, again)
        loss = dataclasses.replace(
            self.algorithm.loss, value_coefficient=0.0, entropy_coefficient=0.0, kl_coefficient=0.0
        )
        self._gradient(trees, loss)
        parts = [p.grad for p in self.policy.model.parameters() if p.requires_grad]
        vector = torch.cat([g.flatten() for g in parts if g is not None]).numpy()
        return vector * len(trees) / tasks, self.ledger.generated_tokens - before

    def _gradient(self, trees: list[Tree], loss: Any) -> None:
        self.policy.model.zero_grad(set_to_none=False)
        self.learner.accumulate_gradient(trees, self._credits(trees), loss)

    def _credits(self, trees: list[Tree]) -> list[Credit]:
        values = self.learner.values(trees) if self.algorithm.needs_values else None
        return self.algorithm.credit(trees, values)


def statistics(products: np.ndarray, along: np.ndarray, tokens: np.ndarray, reference: float) -> dict[str, Any]:
    """Point estimates and intervals.

    Args:
        products: shape (n, n), inner products of the samples.
        along: shape (n,), products of each with the reference's mean, an independent estimate of the true gradient.
        tokens: shape (n,), generated for each.
        reference: squared length of the true gradient.
    """

    def estimate(weights: np.ndarray) -> dict[str, float]:
        n = weights.sum()
        square = float(weights @ np.diag(products)) / n
        pairs = n**2 - float((weights**2).sum())  # of different samples, however often each was drawn
        signal = float(weights @ products @ weights - (weights**2) @ np.diag(products)) / pairs
        cost = float(weights @ tokens) / n
        noise = (square - signal) * cost
        length = max(signal, 0.0) ** 0.5 * max(reference, 0.0) ** 0.5
        return {
            "tokens": cost,
            "variance": square - signal,
            "cost": noise,
            "signal": signal,
            "snr": 1000.0 * signal / noise,
            "cosine": float(weights @ along) / n / length if length else float("nan"),
        }

    rng = np.random.default_rng(0)
    n = len(tokens)
    draws = [estimate(rng.multinomial(n, np.full(n, 1 / n)).astype(float)) for _ in range(DRAWS)]
    found: dict[str, Any] = dict(estimate(np.ones(n)))
    for name in ("cost", "snr"):
        found[f"{name}_draws"] = [float(f"{draw[name]:.4g}") for draw in draws]
    return found


def measure(player: Player, arguments: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Samples, shape (n, parameters), and tokens, shape (n,)."""
    for number in range(arguments.batches):
        player.learn(EARLIER + number, arguments.batch_tasks)
    found = [player.gradient(number, arguments.tasks) for number in range(arguments.samples)]
    return np.array([g for g, _ in found]), np.array([t for _, t in found], float)


def between_tasks(player: Player, arguments: argparse.Namespace) -> dict[str, Any]:
    """Share of the variance that lies between tasks, with draws of a bootstrap over samples."""
    both = [
        [player.gradient(n, arguments.tasks, again)[0] for n in range(arguments.samples)] for again in (False, True)
    ]
    one, other = (np.array(each, np.float64) for each in both)
    squares = ((one**2).sum(1) + (other**2).sum(1)) / 2
    products = one @ other.T
    same = np.diag(products)

    def share(weights: np.ndarray) -> float:
        n = weights.sum()
        different = weights @ products @ weights - (weights**2) @ same
        different /= n**2 - (weights**2).sum()
        return float((weights @ same / n - different) / (weights @ squares / n - different))

    rng = np.random.default_rng(0)
    n = len(one)
    draws = [share(rng.multinomial(n, np.full(n, 1 / n)).astype(float)) for _ in range(DRAWS)]
    return {"share": share(np.ones(n)), "interval": np.percentile(draws, [2.5, 97.5]).tolist()}


def stage(
    config: TrainConfig,
    name: str,
    folder: str,
    arguments: argparse.Namespace,
    known: dict[str, Any],
    between: dict[str, Any],
    keep: Callable[[], None],
) -> None:
    """Measure every method at one stage, RLOO first, and add the rows to ``known``; and what lies between tasks."""
    if name not in between:
        player = Player(config, folder, METHODS["rloo"](), derive_seed(arguments.seed, name, "between"))
        between[name] = between_tasks(player, arguments)
        keep()
        print(f"{name}: {between[name]['share']:.0%} of RLOO's variance between tasks", file=sys.stderr, flush=True)
    wanted = [m for m in METHODS if f"{name}/{m}" not in known]
    if not wanted:
        return
    mean, square = None, 0.0
    for method in wanted:
        started = time.perf_counter()
        player = Player(config, folder, METHODS[method](), derive_seed(arguments.seed, name, method))
        vectors, tokens = measure(player, arguments)
        products = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
        if method == "rloo":
            n = len(vectors)
            mean, square = vectors.mean(0), float(products.sum() - np.trace(products)) / (n * (n - 1))
        along = np.full(len(vectors), np.nan) if mean is None else vectors @ mean
        row = statistics(products, along, tokens, square)
        if method == "rloo":
            row["cosine"] = 1.0
        row |= {"stage": name, "method": method, "seconds": time.perf_counter() - started}
        known[f"{name}/{method}"] = row
        keep()
        print(f"{name} {method}: {row['seconds']:.0f} s, SNR {row['snr']:.4f}", file=sys.stderr, flush=True)


def table(known: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows with the ratio of variances to RLOO's at the same stage, and the signal-to-noise ratio, with intervals."""
    rows = []
    stages, methods = list(dict.fromkeys(row["stage"] for row in known.values())), list(METHODS)
    for row in sorted(known.values(), key=lambda row: (stages.index(row["stage"]), methods.index(row["method"]))):
        rloo = known[f"{row['stage']}/rloo"]
        shown = {name: value for name, value in row.items() if not name.endswith("_draws")}
        ratios = np.array(row["cost_draws"]) / np.array(rloo["cost_draws"])
        shown["cost"] = (row["cost"] / rloo["cost"], *np.percentile(ratios, [2.5, 97.5]))
        shown["snr"] = (row["snr"], *np.percentile(row["snr_draws"], [2.5, 97.5]))
        rows.append(shown)
    return rows


def markdown(rows: list[dict[str, Any]]) -> str:
    """A Markdown table."""
    lines = [
        "| stage | method | tokens | variance x tokens / RLOO's | SNR of 1,000 tokens, x 100 | cosine |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        measured = (row["cost"], [100 * value for value in row["snr"]])
        ratios = [f"{value:.2f} [{low:.2f}, {high:.2f}]" for value, low, high in measured]
        told = row["snr"][1] > 0 and not np.isnan(row["cosine"])
        cosine = f"{row['cosine']:.2f}" if told else "not told"
        cells = [row["stage"], f"`{row['method']}`", f"{row['tokens']:.0f}", *ratios, cosine]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(found: dict[str, list[dict[str, Any]]], target: Path) -> None:
    """A panel an environment and quantity, a group of bars a stage."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = {"cost": "variance x tokens, RLOO = 1", "snr": "signal-to-noise ratio of 1,000 tokens"}
    figure, grid = plt.subplots(
        len(found), len(titles), figsize=(10, 3.4 * len(found)), layout="constrained", squeeze=False
    )
    width = 0.8 / len(METHODS)
    for line, (env, rows) in zip(grid, found.items(), strict=True):
        stages = list(dict.fromkeys(row["stage"] for row in rows))
        for axes, (column, title) in zip(line, titles.items(), strict=True):
            for n, method in enumerate(METHODS):
                mine = {row["stage"]: row[column] for row in rows if row["method"] == method}
                at = np.array([k for k, name in enumerate(stages) if name in mine])
                values = np.array([mine[name] for name in stages if name in mine]).reshape(-1, 3)
                error = np.abs(values[:, 1:].T - values[:, 0])
                left = at + (n - (len(METHODS) - 1) / 2) * width
                axes.bar(left, values[:, 0], width, yerr=error, label=method, capsize=1.5)
            axes.set_xticks(range(len(stages)), stages)
            axes.set(title=f"{env}: {title}")
            if column == "cost":
                axes.set_yscale("log")
            axes.axhline(1.0 if column == "cost" else 0.0, color="black", linewidth=1)
    grid[-1][0].legend(fontsize=8, ncols=len(METHODS), loc="upper left", bbox_to_anchor=(0, -0.1))
    figure.savefig(target, dpi=110)
    plt.close(figure)


def main() -> None:
    """Measure, write, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of a run, whose settings are used")
    parser.add_argument("--stage", action="append", default=[], metavar="NAME=FOLDER", help="may be repeated")
    parser.add_argument("--samples", type=int, default=64, help="independent gradients (default: 64)")
    parser.add_argument("--tasks", type=int, default=2, help="of a sample (default: 2)")
    parser.add_argument("--batches", type=int, default=10, help="learned from before, (default: 10)")
    parser.add_argument("--batch-tasks", type=int, default=8, help="tasks of such a batch (default: 8)")
    parser.add_argument("--seed", type=int, default=0, help="of every draw (default: 0)")
    arguments = parser.parse_args()
    config = TrainConfig.load(arguments.run / "config.yaml")
    path = RESULTS / f"gradient_variance_{short_name(config.env)}.json"
    settings = {name: getattr(arguments, name) for name in ("samples", "tasks", "batches", "batch_tasks", "seed")}
    kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    known, between = kept.get("rows", {}), kept.get("between_tasks", {})

    def keep() -> None:
        kept = {"settings": settings, "between_tasks": between, "rows": known}
        path.write_text(json.dumps(kept) + "\n", encoding="utf-8")

    for name, _, folder in (text.partition("=") for text in arguments.stage):
        stage(config, name, folder, arguments, known, between, keep)
    found = {}
    for file in sorted(RESULTS.glob("gradient_variance_*.json")):
        rows = table(json.loads(file.read_text(encoding="utf-8"))["rows"])
        found[file.stem.removeprefix("gradient_variance_")] = rows
    draw(found, ROOT / "docs/gradient_variance.png")
    print(markdown(found[short_name(config.env)]))
    for name, each in between.items():
        low, high = each["interval"]
        print(f"{name}: {each['share']:.2f} [{low:.2f}, {high:.2f}] of RLOO's variance lies between tasks")


if __name__ == "__main__":
    main()

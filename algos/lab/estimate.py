"""How good a gradient estimator is: bias, variance and signal-to-noise ratio at matched tokens.

Invariant: a measurement is the mean over independent replicates; in each the algorithm
first learns from batches of its own, then is frozen, and the trees that are measured are
independent given what it has learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from algos.credit import Floats, prefix_explained_share
from algos.lab.exact import row_values, true_gradient
from algos.lab.methods import METHODS, Method
from algos.lab.play import Player, tree_gradient
from algos.lab.problems import FAMILIES, Problem
from algos.seeds import derive_seed

LEVEL = 0.99
"""Of the intervals of biases; those of ratios are 95 %."""
CHUNK = 16


@dataclass(frozen=True)
class LabConfig:
    """How much is sampled.

    Attributes:
        replicates: independent repetitions, learning included.
        trees: measured in each.
        batches: learned from before.
        batch_trees: trees of a batch.
        seed: of everything.
    """

    replicates: int = 4
    trees: int = 400
    batches: int = 20
    batch_trees: int = 12
    seed: int = 0


@dataclass(frozen=True)
class Measurement:
    """An estimator on a problem.

    Attributes:
        problem, method: names.
        tokens: generated a tree.
        variance: trace of the covariance of a tree's gradient.
        cost: variance times tokens, the variance at matched tokens.
        cost_error: its standard error over replicates.
        bias: of the gradient's length along the true one, relative.
        bias_error: half of its interval at ``LEVEL``.
        stray: squared length of everything that is biased, relative to the true gradient's, less what chance gives.
        stray_error: half of its interval at ``LEVEL`` if there is no bias.
        snr: squared length of the expected gradient over the variance, a thousand tokens.
        eta: share of the return's variance that is settled before a branch, or None.
    """

    problem: str
    method: str
    tokens: float
    variance: float
    cost: float
    cost_error: float
    bias: float
    bias_error: float
    stray: float
    stray_error: float
    snr: float
    eta: float | None

    @property
    def unbiased(self) -> bool:
        """Whether both intervals of the bias contain 0."""
        return abs(self.bias) <= self.bias_error and self.stray <= self.stray_error

    def to_dict(self) -> dict[str, Any]:
        """All columns by name."""
        return asdict(self)


def measure(
    problem: Problem, method: Method, config: LabConfig, progress: Callable[[int], None] | None = None
) -> Measurement:
    """Measure an estimator.

    Args:
        problem: what is played.
        method: who plays.
        config: how much.
        progress: called with the number of trees played since the last call.
    """
    tell = progress or (lambda n: None)
    values = row_values(problem)[0] if method.exact_values else None
    gradients: list[Floats] = []
    tokens: list[float] = []
    shares: list[float] = []
    for replicate in range(config.replicates):
        seed = derive_seed(config.seed, problem.name, replicate)
        player = Player(problem, method.make(problem), values)
        for n in range(config.batches):
            player.learn(1, config.batch_trees, derive_seed(seed, "learn", n))
            tell(config.batch_trees)
        before, found = player.ledger.generated_tokens, []
        for start in range(0, config.trees, CHUNK):
            count = min(CHUNK, config.trees - start)
            trees, credits = player.batch(count, derive_seed(seed, "measure", start))
            found += [tree_gradient(problem, t, c).ravel() for t, c in zip(trees, credits, strict=True)]
            share = prefix_explained_share(trees)
            shares += [share] if share is not None else []
            tell(count)
        gradients.append(np.array(found))
        tokens.append((player.ledger.generated_tokens - before) / config.trees)
    eta = float(np.mean(shares)) if shares else None
    return summarise(problem, method.name, gradients, tokens, eta)


def summarise(
    problem: Problem, method: str, gradients: list[Floats], tokens: list[float], eta: float | None
) -> Measurement:
    """Statistics of gradients, one array of shape (trees, parameters) and a mean number of tokens a replicate."""
    truth = true_gradient(problem).ravel()
    length = float(truth @ truth)
    everything = np.concatenate(gradients)
    mean, count = everything.mean(axis=0), len(everything)
    variances = np.array([g.var(axis=0, ddof=1).sum() for g in gradients])
    costs = variances * np.array(tokens)
    along = everything @ truth / length
    normal = float(stats.norm.ppf(0.5 + LEVEL / 2))
    error = mean - truth
    covariance = np.cov(everything.T)
    chance = float(np.trace(covariance)) / count
    spread = float(np.sqrt(2.0 * (covariance**2).sum())) / count
    expected = float(mean @ mean) - chance
    return Measurement(
        problem=problem.name,
        method=method,
        tokens=float(np.mean(tokens)),
        variance=float(variances.mean()),
        cost=float(costs.mean()),
        cost_error=float(costs.std(ddof=1) / np.sqrt(len(costs))) if len(costs) > 1 else float("nan"),
        bias=float(along.mean() - 1.0),
        bias_error=float(normal * along.std(ddof=1) / np.sqrt(count)),
        stray=(float(error @ error) - chance) / length,
        stray_error=normal * spread / length,
        snr=1000.0 * max(expected, 0.0) / float(costs.mean()) if costs.any() else 0.0,
        eta=eta,
    )


def ratio(one: Measurement, other: Measurement) -> tuple[float, float, float]:
    """Ratio of the variances at matched tokens, with a 95 % interval from the replicates' standard errors."""
    quotient = one.cost / other.cost
    if not quotient:
        return 0.0, 0.0, 0.0
    relative = float(np.hypot(one.cost_error / one.cost, other.cost_error / other.cost))
    width = float(np.exp(1.96 * relative))
    return quotient, quotient / width, quotient * width


def run_lab(
    families: list[str], methods: list[str], config: LabConfig, progress: Callable[[str, int], None] | None = None
) -> list[Measurement]:
    """Measure every method on every family.

    Args:
        families: names in ``problems.FAMILIES``.
        methods: names in ``methods.METHODS``.
        config: how much.
        progress: called with what is measured and the number of trees played since the last call.
    """
    found = []
    for family in families:
        problem = FAMILIES[family]()
        for name in methods:
            tell = (lambda n, what=f"{family}: {name}": progress(what, n)) if progress is not None else None
            found.append(measure(problem, METHODS[name], config, tell))
    return found

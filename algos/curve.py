"""The picture of a run: success and score over updates, what the policy is unsure of, where it branches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np


def draw_curve(rows: Sequence[dict[str, Any]], evaluations: dict[str, Any], path: Path) -> None:
    """Draw ``metrics.jsonl`` rows and evaluations to a PNG file."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    updates = np.array([row["update"] for row in rows if "success" in row])
    for name, colour in (("success", "tab:blue"), ("score", "tab:green")):
        values = np.array([row[name] for row in rows if name in row])
        left.plot(updates, values, color=colour, alpha=0.25, linewidth=1)
        left.plot(updates, _smooth(values), color=colour, label=f"{name}, training episodes (smoothed)")
    last = max([row["update"] for row in rows], default=0)
    for when, marker in (("before", "o"), ("after", "s")):
        for kind, face, aside in (("sampled", "tab:red", -0.008), ("greedy", "white", 0.008)):
            if when in evaluations:
                success = evaluations[when][kind]["success"]
                error = [[success["mean"] - success["low"]], [success["high"] - success["mean"]]]
                left.errorbar(
                    last * ((when == "after") + aside), success["mean"], error, fmt=marker, color="tab:red",
                    markerfacecolor=face, capsize=3, label=f"success {when}, {kind}",
                )  # fmt: skip
    left.set(xlabel="update", ylim=(0, 1), title="Success and score")
    left.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    entropy = np.array([row["behaviour_entropy"] for row in rows if "behaviour_entropy" in row])
    right.plot(updates, entropy, color="tab:purple", label="entropy per token (nats)")
    branches = [(row["update"], row["branches_per_root"]) for row in rows if "branches_per_root" in row]
    if branches:
        right.plot(*np.array(branches).T, color="tab:orange", label="branches per backbone")
    shares = [(row["update"], row["prefix_explained"]) for row in rows if "prefix_explained" in row]
    if shares:
        right.plot(*np.array(shares).T, color="tab:grey", label="return variance settled before the branch")
    right.set(xlabel="update", title="Decisions")
    right.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _smooth(values: np.ndarray[Any, Any], window: int = 7) -> np.ndarray[Any, Any]:
    if len(values) < 2:
        return values
    padded = np.pad(values, (window // 2, window - 1 - window // 2), mode="edge")
    return np.convolve(padded, np.ones(window) / window, mode="valid")

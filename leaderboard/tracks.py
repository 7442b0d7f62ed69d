"""Tracks: what a method may spend to be ranked among others.

Invariant: a budget bounds what the harness counted in training; the counts are the authors' own and
cannot be replayed, and the pages say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from leaderboard.schema import Submission

BUDGETS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "sandgym/WebShop-v0": {"env_steps": 60_000, "generated_tokens": 450_000, "trained_tokens": 5_000_000},
        "sandgym/ALFWorld-v0": {"env_steps": 180_000, "generated_tokens": 900_000, "trained_tokens": 5_000_000},
    }
)
"""Of one run in track ``fixed-budget``, by environment: columns of ``algos.ledger.Ledger``."""


def problem(submission: Submission) -> str | None:
    """Why a submission is not in the track that it names, if so."""
    if submission.track != "fixed-budget":
        return None
    budget = BUDGETS.get(submission.panel.env_id)
    if budget is None:
        return f"there is no track fixed-budget for {submission.panel.env_id}; choose track open"
    spent = submission.compute.training
    for column, most in budget.items():
        if column not in spent:
            return f"track fixed-budget needs compute.training.{column}; choose track open if it is not known"
        if spent[column] > most * len(submission.runs):
            return (
                f"compute.training.{column} is {spent[column]:,.0f}, over the budget of {most:,.0f} a run; "
                "choose track open"
            )
    return None

"""Goals: what a shopper is told to buy, in the order that fixes every task's index.

Invariant: for the same products and the same prices and generator, the list equals the
original's element by element: built in catalogue order, then shuffled with seed 233.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sandgym.core import SandboxError
from sandgym.webshop.products import Product

PRICE_LIMITS = tuple(10.0 * i for i in range(1, 100))
NO_LIMIT = 1_000_000
SHUFFLE_SEED = 233
TEST_GOALS, DEV_GOALS = 500, 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """What the shopper wants; field names are the original's.

    Attributes:
        asin: the product that the goal was made from.
        category: its department.
        query: its search phrase.
        name: its title.
        product_category: its path of categories.
        instruction_text: what the agent reads.
        attributes: phrases that the purchase must carry.
        price_upper: the most it may cost (dollars); 1000000 where there is no limit.
        goal_options: name to value (synthetic goals) or values (human goals).
        weight: relative probability of a reset that names no task.
    """

    asin: str
    category: str
    query: str
    name: str
    product_category: str
    instruction_text: str
    attributes: tuple[str, ...]
    price_upper: float
    goal_options: dict[str, str] | tuple[str, ...]
    weight: float

    @property
    def kind(self) -> str:
        """``"synthetic"`` or ``"human"``."""
        return "synthetic" if isinstance(self.goal_options, dict) else "human"


def synthetic_goals(priced: Iterable[tuple[Product, float]], rng: random.Random) -> list[Goal]:
    """Goals of all combinations of options of products with an instruction, shuffled.

    Args:
        priced: products of the catalogue and their prices, in order.
        rng: draws one price limit for each product that has an instruction.

    Raises:
        SandboxError: an instruction has no attributes.
    """
    goals: list[Goal] = []
    counts: Counter[str] = Counter()
    for product, price in priced:
        if product.instruction is None:
            continue
        if not product.instruction_attributes:
            raise SandboxError(f"the instruction of product {product.asin!r} has no instruction_attributes")
        limit, suffix = _price_limit(price, rng)
        names = sorted(product.options)
        before = len(goals)
        for values in itertools.product(*(product.options[name] for name in names)):
            options = dict(zip(names, values, strict=True))
            asked = ", and ".join(f"{name}: {value}" for name, value in options.items())
            text = product.instruction + (f" with {asked}" if asked else "") + suffix
            goals.append(_goal(product, text, product.instruction_attributes, limit, options))
        for attribute in product.instruction_attributes:
            counts[attribute] += len(goals) - before
    weighted = [dataclasses.replace(goal, weight=_rarity(goal.attributes, counts)) for goal in goals]
    return _shuffled(weighted)


def human_goals(
    priced: Iterable[tuple[Product, float]], instructions: Mapping[str, Sequence[Mapping[str, Any]]], rng: random.Random
) -> list[Goal]:
    """Goals of instructions written by people, shuffled; those without attributes left out.

    Args:
        priced: products of the catalogue and their prices, in order.
        instructions: content of ``items_human_ins.json``, by asin.
        rng: draws one price limit for each instruction.
    """
    goals = []
    for product, price in priced:
        for row in instructions.get(product.asin, ()):
            attributes = tuple(row["instruction_attributes"])
            if attributes:
                limit, suffix = _price_limit(price, rng)
                text = row["instruction"].strip(".") + suffix
                goals.append(_goal(product, text, attributes, limit, tuple(row["instruction_options"])))
    return _shuffled(goals)


def stored_goals(rows: Iterable[Mapping[str, Any]]) -> list[Goal]:
    """Goals of a ``goals.json``, as they stand.

    Raises:
        SandboxError: a key is missing or unknown.
    """
    names = [field.name for field in dataclasses.fields(Goal)]
    goals = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping) or set(row) != set(names):
            raise SandboxError(f"goal {index} of goals.json must have exactly the keys {', '.join(names)}")
        options = row["goal_options"]
        values = dict(row)
        values["attributes"] = tuple(row["attributes"])
        values["goal_options"] = dict(options) if isinstance(options, Mapping) else tuple(options)
        goals.append(Goal(**values))
    return goals


def split_ranges(count: int, stored: Mapping[str, Sequence[int]] | None = None) -> dict[str, range]:
    """Index ranges of the splits of a list of goals.

    The official rule is test 0-499, dev 500-1499, train the rest. A list of at most 1,500
    goals would leave nothing to train on, so there the first and the second quarter
    (rounded down) are test and dev. ``stored`` (a ``splits.json``) overrides both.

    Raises:
        SandboxError: a stored range is malformed or outside the list.
    """
    if stored is not None:
        ranges = {}
        for name, bounds in stored.items():
            well_formed = len(bounds) == 2 and all(isinstance(bound, int) for bound in bounds)
            if not well_formed or not 0 <= bounds[0] <= bounds[1] <= count:
                raise SandboxError(f"split {name!r} of splits.json must be [start, end] within {count} goals")
            ranges[name] = range(*bounds)
        return {**ranges, "all": range(count)}
    test, dev = (TEST_GOALS, DEV_GOALS) if count > TEST_GOALS + DEV_GOALS else (count // 4, count // 4)
    return {
        "test": range(test),
        "dev": range(test, test + dev),
        "train": range(test + dev, count),
        "all": range(count),
    }


def _goal(
    product: Product,
    text: str,
    attributes: tuple[str, ...],
    limit: float,
    options: dict[str, str] | tuple[str, ...],
) -> Goal:
    return Goal(
        asin=product.asin,
        category=product.category,
        query=product.query,
        name=product.title,
        product_category=product.product_category,
        instruction_text=text,
        attributes=attributes,
        price_upper=limit,
        goal_options=options,
        weight=1,
    )


def _price_limit(price: float, rng: random.Random) -> tuple[float, str]:
    """The greater of two of the four multiples of ten above a price, and its clause; one draw."""
    candidates = [limit for limit in PRICE_LIMITS if limit > price][:4]
    if len(candidates) < 2:
        return NO_LIMIT, ""
    limit = max(rng.sample(candidates, 2))
    return limit, f", and price lower than {limit:.2f} dollars"


def _rarity(attributes: Sequence[str], counts: Mapping[str, int]) -> float:
    total = 0.0  # added one by one, as the original did: sum() rounds otherwise from Python 3.12 on
    for attribute in attributes:
        total += 1.0 / counts[attribute]
    return total / len(attributes)


def _shuffled(goals: list[Goal]) -> list[Goal]:
    random.Random(SHUFFLE_SEED).shuffle(goals)
    return goals

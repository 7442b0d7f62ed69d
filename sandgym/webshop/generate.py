"""The bundled WebShop catalogue: plausible products and solvable goals in the official file format.

Invariant: a catalogue is a function of (generator version, number of products, seed):
the same bytes on every machine and Python version. Product ``i`` does not depend on how
many products there are.

Products whose goals are in the test, dev and train splits are disjoint.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from sandgym.bundled import ensure
from sandgym.draws import Draw
from sandgym.webshop.assortment import GENERATOR_VERSION, OPENINGS, Product, iter_products

BUNDLED_PRODUCTS = 1200
BUNDLED_SHA256 = "5448b087dc1546500002ba3b627eb50ccad986cc3631ca1763ef5d4bfb0a3dd4"

TEST_GOALS = 200
DEV_GOALS = 100
GOAL_PRODUCTS = 12_000  # products that have goals in a larger catalogue; the real one has 10,014
NO_LIMIT = 1_000_000
PRICE_LIMITS = range(10, 1000, 10)


def _goals_of(product: Product, most: int, seed: int) -> list[dict[str, Any]]:
    """Goals for a product: one request, up to ``most`` combinations of options, one price limit."""
    raw = product.raw
    draw = Draw("goal", GENERATOR_VERSION, seed, raw["asin"])
    above = [float(limit) for limit in PRICE_LIMITS if limit > product.price][:4]
    limit = max(draw.sample(above, 2)) if len(above) >= 2 else float(NO_LIMIT)
    suffix = f", and price lower than {limit:.2f} dollars" if len(above) >= 2 else ""
    names = sorted(product.options)
    combinations = list(itertools.product(*(product.options[name] for name in names)))
    goals = []
    for values in draw.sample(combinations, 1 + draw.below(most)):
        chosen = dict(zip(names, values, strict=True))
        wish = " with " + ", and ".join(f"{name}: {value}" for name, value in chosen.items()) if chosen else ""
        goals.append(
            {
                "asin": raw["asin"],
                "category": raw["category"],
                "query": raw["query"],
                "name": raw["name"],
                "product_category": raw["product_category"],
                "instruction_text": product.instruction + wish + suffix,
                "attributes": list(product.instruction_attributes),
                "price_upper": limit,
                "goal_options": chosen,
            }
        )
    return goals


def _weigh(goals: list[dict[str, Any]]) -> None:
    """WebShop's sampling weight: mean over a goal's attributes of 1 / goals that have the attribute.

    ``math.fsum``, because Python 3.12 changed what ``sum`` gives for floats.
    """
    counts = Counter(attribute for goal in goals for attribute in goal["attributes"])
    for goal in goals:
        goal["weight"] = math.fsum(1 / counts[a] for a in goal["attributes"]) / len(goal["attributes"])


def _human(product: Product, goal: dict[str, Any]) -> list[dict[str, Any]]:
    """The same wish in the format of the crowd-sourced instructions."""
    chosen = goal["goal_options"]
    request = product.instruction
    for opening in OPENINGS:
        request = request.removeprefix(opening)
    wish = "".join(f" in {name} {value}" for name, value in chosen.items())
    return [
        {
            "asin": goal["asin"],
            "instruction": f"i am looking for{request}{wish}.",
            "attributes": list(product.attributes),
            "options": [f"{name}: {value}" for name, value in chosen.items()],
            "instruction_attributes": list(product.instruction_attributes),
            "instruction_options": list(chosen.values()),
            "assignment_id": f"assignment-{goal['asin']}",
            "worker_id": "generator",
        }
    ]


class _JsonFile:
    """A JSON object or array, written one entry a line."""

    def __init__(self, path: Path, brackets: str) -> None:
        self._file = path.open("w", encoding="utf-8", newline="\n")
        self._close = brackets[1]
        self._before = brackets[0] + "\n"

    def add(self, value: Any, key: str | None = None) -> None:
        text = json.dumps(value, ensure_ascii=False)
        self._file.write(self._before + (text if key is None else f"{json.dumps(key)}: {text}"))
        self._before = ",\n"

    def close(self) -> None:
        self._file.write(("" if self._before == ",\n" else self._before) + f"\n{self._close}\n")
        self._file.close()


def write_catalogue(folder: Path | str, products: int = BUNDLED_PRODUCTS, seed: int = 0) -> Path:
    """Write a catalogue in WebShop's file format; memory does not grow with ``products``.

    Files: ``items_shuffle.json``, ``items_ins_v2.json``, ``items_human_ins.json`` as in the
    original, ``nouns.json`` and ``prices.json`` (by ASIN), ``goals.json`` (ordered goals) and
    ``splits.json`` (half-open ranges of goal indices).

    Args:
        folder: created when missing; files of these names are overwritten.
        products: at least 12, so that each split has a product.
        seed: of all draws.

    Returns:
        The folder.

    Raises:
        ValueError: too few products.
    """
    if products < 12:
        raise ValueError(f"a catalogue needs at least 12 products, not {products}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    test, dev = min(TEST_GOALS, products // 6), min(DEV_GOALS, products // 12)
    goals: list[dict[str, Any]] = []
    ends: list[int] = []
    with contextlib.ExitStack() as stack:
        items, ins, human, nouns, prices, goal_file = (
            stack.enter_context(contextlib.closing(_JsonFile(folder / f"{name}.json", brackets)))
            for name, brackets in (
                ("items_shuffle", "[]"),
                ("items_ins_v2", "{}"),
                ("items_human_ins", "{}"),
                ("nouns", "{}"),
                ("prices", "{}"),
                ("goals", "[]"),
            )
        )
        for index, product in enumerate(iter_products(products, seed)):
            asin = product.raw["asin"]
            items.add(product.raw)
            entry: dict[str, Any] = {"attributes": product.attributes}
            if index < GOAL_PRODUCTS:
                entry |= {
                    "instruction": product.instruction,
                    "instruction_attributes": product.instruction_attributes,
                }
                own = _goals_of(product, 1 if index < test + dev else 3, seed)
                human.add(_human(product, own[0]), asin)
                goals += own
            if index + 1 in (test, test + dev):
                ends.append(len(goals))
            ins.add(entry, asin)
            nouns.add(product.nouns, asin)
            prices.add(product.price, asin)
        _weigh(goals)
        for goal in goals:
            goal_file.add(goal)
    splits = {"test": [0, ends[0]], "dev": ends, "train": [ends[1], len(goals)]}
    (folder / "splits.json").write_text(json.dumps(splits) + "\n", encoding="utf-8", newline="\n")
    return folder


def ensure_bundled() -> Path:
    """The folder of the bundled catalogue in the data root; written on first use.

    Raises:
        SandboxError: the data root cannot be written to, or the generator does not
            reproduce the catalogue that this version of the package is pinned to.
    """
    return ensure("webshop", GENERATOR_VERSION, BUNDLED_SHA256, write_catalogue)

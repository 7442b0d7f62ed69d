"""Words of the bundled WebShop catalogue: kinds of product, their attributes, options and brands.

Invariant: data only, read from ``vocabulary.json``. Every word that can occur in a title
is a noun unless it is in ``MODIFIERS``, so that the nouns of a title are known without a
tagger.
"""

from __future__ import annotations

import dataclasses
import json
from importlib import resources
from typing import Any


@dataclasses.dataclass(frozen=True)
class Family:
    """Attributes that products of one sort may have.

    Attributes:
        adjectives: what stands before the product ("machine washable shirts").
        features: what follows "with" ("shirts with long sleeve").
        uses: what follows "for" ("shirts for daily wear").
    """

    adjectives: tuple[str, ...]
    features: tuple[str, ...]
    uses: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of product, as a shop files it.

    Attributes:
        category: one of the five categories of WebShop.
        query: the label under which the shop lists the kind.
        path: shop departments from general to special.
        phrases: noun phrases of titles; all of a kind share a noun.
        family: name of what its attributes are.
        options: option groups that it may offer; after "@", which of several value lists.
        price: usual range in dollars.
    """

    category: str
    query: str
    path: tuple[str, ...]
    phrases: tuple[str, ...]
    family: str
    options: tuple[str, ...]
    price: tuple[int, int]


def _kind(entry: dict[str, Any], departments: dict[str, str]) -> Kind:
    low, high = entry["price"]
    return Kind(
        entry["category"],
        entry["query"],
        (departments[entry["category"]], *entry["path"]),
        tuple(entry["phrases"]),
        entry["family"],
        tuple(entry["options"]),
        (low, high),
    )


def _tuples(lists: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words) for name, words in lists.items()}


_WORDS: dict[str, Any] = json.loads(
    resources.files("sandgym.webshop").joinpath("vocabulary.json").read_text(encoding="utf-8")
)

FAMILIES: dict[str, Family] = {name: Family(**_tuples(lists)) for name, lists in _WORDS["families"].items()}
OPTIONS: dict[str, tuple[str, ...]] = _tuples(_WORDS["options"])
KINDS: tuple[Kind, ...] = tuple(_kind(entry, _WORDS["departments"]) for entry in _WORDS["kinds"])
BRANDS: dict[str, tuple[str, ...]] = _tuples(_WORDS["brands"])
PACKS: tuple[str, ...] = tuple(_WORDS["packs"])
MODIFIERS: frozenset[str] = frozenset(_WORDS["modifiers"])

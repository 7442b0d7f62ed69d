"""The reward of a purchase: what part of the goal it meets, times how well its type fits.

Invariant: reward = r_type * (attributes met + options met + price met) / (attributes +
options + 1), equal to the original's to the last bit, fuzzy matching included.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from rapidfuzz import fuzz, utils

from sandgym.webshop.goals import Goal
from sandgym.webshop.products import Product

MATCH_ABOVE = 85
_COLOR_WORDS = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel
camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry
cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey
heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight
mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow
red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal
tiger turquoise violet walnut wheat white wine yellow
"""
COLORS = tuple(_COLOR_WORDS.split())  # in match order: the first one contained in a value wins
_LATIN_1 = dict.fromkeys(range(128, 256))


@dataclasses.dataclass(frozen=True, slots=True)
class ProductFeatures:
    """What the reward reads of a purchase, prepared once."""

    query: str
    categories: frozenset[str]
    nouns: frozenset[str]
    attributes: tuple[str, ...]
    texts: tuple[str, str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class GoalFeatures:
    """What the reward reads of a goal, prepared once; ``attributes`` as (raw, processed)."""

    query: str
    categories: frozenset[str]
    nouns: frozenset[str]
    noun_count: int
    attributes: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    price_upper: float


@lru_cache(maxsize=1 << 16)
def processed(text: str) -> str:
    """Text as the fuzzy comparison sees it: no Latin-1 characters, lower case, letters and digits only."""
    return utils.default_process(text.translate(_LATIN_1))


def matches(a: str, b: str) -> bool:
    """Whether two processed texts are the same to the reward: rounded token-set ratio above 85."""
    return round(fuzz.token_set_ratio(a, b)) > MATCH_ABOVE


@lru_cache(maxsize=1 << 16)
def normalized_option(value: str) -> str:
    """A purchased option value, or a human goal's, after colour normalisation and processing."""
    return processed(next((color for color in COLORS if color in value), value))


def _normalized_pair(name: str, value: str) -> str:
    """A synthetic goal's option: the original compares the pair's ``repr``, unless a part of it is a colour word."""
    return processed(next((color for color in COLORS if color in (name, value)), str((name, value))))


def product_features(product: Product) -> ProductFeatures:
    """The features of a purchased product."""
    return ProductFeatures(
        query=product.query,
        categories=_categories(product.product_category),
        nouns=frozenset(product.nouns),
        attributes=tuple(processed(attribute) for attribute in product.attributes),
        texts=(product.title.lower(), " ".join(product.bullets).lower(), product.description.lower()),
    )


def goal_features(goal: Goal, nouns: tuple[str, ...]) -> GoalFeatures:
    """The features of a goal whose product title has these ``nouns`` (repeats count)."""
    options = goal.goal_options
    return GoalFeatures(
        query=goal.query,
        categories=_categories(goal.product_category),
        nouns=frozenset(nouns),
        noun_count=len(nouns),
        attributes=tuple((attribute, processed(attribute)) for attribute in goal.attributes),
        options=tuple(_normalized_pair(*pair) for pair in options.items())
        if isinstance(options, dict)
        else tuple(normalized_option(value) for value in options),
        price_upper=goal.price_upper,
    )


def _categories(path: str) -> frozenset[str]:
    return frozenset(part.strip() for part in path.split("›"))


def purchase_reward(
    product: ProductFeatures, goal: GoalFeatures, price: float, options: Iterable[str]
) -> tuple[float, dict[str, Any]]:
    """Reward in [0, 1] of buying a product at a price (dollars) with these option values, and its parts.

    The parts carry the original's names: ``r_type`` and what it came from
    (``query_match``, ``category_match``, ``title_score``), and for attributes, options
    and price the share that was met (``r_``) and its weight (``w_``); ``r_option`` and
    ``w_option`` are left out when the goal asks for no option.
    """
    kind = _type_parts(product, goal)
    attributes = sum(_has_attribute(product, raw, clean) for raw, clean in goal.attributes)
    bought = [normalized_option(value) for value in options]
    chosen = sum(any(matches(value, wanted) for value in bought) for wanted in goal.options)
    affordable = price <= goal.price_upper
    wanted, asked = len(goal.attributes), len(goal.options)
    total = wanted + asked + 1
    details: dict[str, Any] = {
        "r_type": kind["r_type"],
        "r_att": attributes / wanted if wanted else 0.0,
        "w_att": wanted / total,
        "query_match": kind["query_match"],
        "category_match": kind["category_match"],
        "title_score": kind["title_score"],
    }
    if asked:
        details |= {"r_option": chosen / asked, "w_option": asked / total}
    details |= {"r_price": affordable, "w_price": 1 / total}
    return (attributes + chosen + affordable) / total * kind["r_type"], details


def _type_parts(product: ProductFeatures, goal: GoalFeatures) -> dict[str, Any]:
    query_match = product.query == goal.query
    category_match = len(product.categories & goal.categories) >= 2
    title_score = len(product.nouns & goal.nouns) / goal.noun_count if goal.noun_count else 0.2
    if title_score == 0.0:
        r_type = 0.0
    elif title_score < 0.1:
        r_type = 0.1
    elif query_match or category_match or title_score > 0.2:
        r_type = 1.0
    else:
        r_type = 0.5
    return {
        "r_type": r_type,
        "query_match": query_match,
        "category_match": category_match,
        "title_score": title_score,
    }


def _has_attribute(product: ProductFeatures, raw: str, clean: str) -> bool:
    return any(matches(attribute, clean) for attribute in product.attributes) or any(
        raw in text for text in product.texts
    )

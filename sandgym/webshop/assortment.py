"""Products of the bundled WebShop catalogue: plausible, and a function of a seed and an index.

Invariant: product ``i`` is a function of (generator version, seed, ``i``), the same on every
machine and Python version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from sandgym.draws import Draw
from sandgym.webshop.vocabulary import BRANDS, FAMILIES, KINDS, MODIFIERS, OPTIONS, PACKS, Family, Kind

GENERATOR_VERSION = 1
LINE = 3  # products of a kind in a row that share most attributes: a shopper has to compare them
DEFAULT_PRICE = 100.0  # of a product without pricing, as WebShop has it
OPENINGS = ("Find me", "Find me", "Find me", "Find me", "I am looking for", "I need", "Show me", "I want")

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ASIN_SPACE = 10 * 26 * 36**6
_ASIN_STEP = 314_159_265_359  # coprime to the space, so that steps never meet


@dataclasses.dataclass(frozen=True)
class Product:
    """A generated product: its raw record and what the official files say of it elsewhere."""

    raw: dict[str, Any]
    attributes: tuple[str, ...]
    instruction: str
    instruction_attributes: tuple[str, ...]
    options: dict[str, list[str]]
    nouns: tuple[str, ...]
    price: float


def asin_of(index: int, seed: int = 0) -> str:
    """ASIN of a product: "B0", a digit, a letter, and six of either; never the same twice."""
    number = (index + 1 + seed * 7919) * _ASIN_STEP % _ASIN_SPACE
    number, digit = divmod(number, 10)
    number, letter = divmod(number, 26)
    asin = f"B0{digit}{_ALPHABET[10 + letter]}"
    for _ in range(6):
        number, character = divmod(number, 36)
        asin += _ALPHABET[character]
    return asin


def title_nouns(title: str) -> tuple[str, ...]:
    """Nouns of a generated title, in order and lower case: all words that are not modifiers or numbers."""
    words = (word.removesuffix("'s") for word in title.lower().replace(",", "").split())
    return tuple(word for word in words if word not in MODIFIERS and not word.isdigit())


def _titled(text: str) -> str:
    return " ".join(word if word in ("of", "with", "for") else word[0].upper() + word[1:] for word in text.split())


def _pricing(draw: Draw, kind: Kind) -> tuple[str, float]:
    low, high = kind.price
    share = draw.random()
    dollars = low + int((high - low) * (share + share * share) / 2)  # no power: libraries round it differently
    price = dollars + draw.pick((0.99, 0.99, 0.99, 0.95, 0.5, 0.0))
    form = draw.random()
    if form < 0.02:
        return "", DEFAULT_PRICE
    if form < 0.12:
        top = price + 2 + draw.below(max(1, dollars // 2))
        return f"${price:.2f}${top:.2f}", round(price + (top - price) * draw.random(), 2)
    return f"${price:.2f}", price


def _options(draw: Draw, kind: Kind) -> dict[str, list[str]]:
    if draw.chance(0.12):
        return {}
    groups = [group for group in draw.sample(kind.options, 2) if draw.chance(0.8)] or [kind.options[0]]
    options = {}
    for group in sorted(groups, key=kind.options.index):
        values = OPTIONS[group]
        chosen = draw.popular(values, 3 + draw.below(4))
        ordered = sorted(chosen, key=values.index) if group.startswith("size") else chosen
        options[group.partition("@")[0]] = ordered
    return options


def _title(draw: Draw, brand: str, phrase: str, attributes: dict[str, list[str]]) -> tuple[str, list[str]]:
    """A title and the attributes that it names."""
    first, *others = attributes["adjectives"]
    feature, use = attributes["features"][0], attributes["uses"][0]
    title, named = draw.pick(
        (
            (f"{brand} {first} {others[0]} {phrase}", [first, others[0]]),
            (f"{brand} {first} {feature} {phrase}", [first, feature]),
            (f"{brand} {first} {phrase} with {feature}", [first, feature]),
            (f"{brand} {first} {phrase} for {use}", [first, use]),
            (f"{brand} {phrase} with {feature} for {use}", [feature, use]),
        )
    )
    if len(title.split()) <= 8 and draw.chance(0.2):
        title += f", {draw.pick(PACKS)}"
    return _titled(title), named


def _texts(draw: Draw, phrase: str, attributes: dict[str, list[str]], named: list[str]) -> tuple[str, list[str]]:
    """A description and bullets which together name every attribute that the title does not."""
    said, unsaid = list(named), [a for group in attributes.values() for a in group if a not in named]
    extra = draw.sample(unsaid, 1 + draw.below(2))
    said += extra
    description = f"{_titled(phrase)}: {', '.join(extra)}."
    bullets = []
    for attribute in draw.sample([a for a in unsaid if a not in said], len(unsaid)) + named[1:]:
        if attribute in attributes["adjectives"]:
            bullets.append(f"The {phrase} is {attribute}.")
        elif attribute in attributes["features"]:
            bullets.append(f"It comes with {attribute}.")
        else:
            bullets.append(f"Good for {attribute}.")
    if len(bullets) < 2:
        bullets.append(f"The {phrase} is ready for use.")
    return description, bullets[:4]


def _other_models(draw: Draw, family: Family, attributes: dict[str, list[str]]) -> str:
    """What most descriptions say of models that the product is not.

    The hyphens keep the reward from reading it as an attribute; a search finds the words,
    as it does in real descriptions.
    """
    if draw.chance(0.2):
        return ""
    own = {attribute for group in attributes.values() for attribute in group}
    others = [a for a in (*family.adjectives, *family.features, *family.uses) if a not in own]
    return f" Sold separately: {', '.join(a.replace(' ', '-') for a in draw.sample(others, 4))}."


def _instruction(draw: Draw, query: str, attributes: dict[str, list[str]], named: list[str]) -> tuple[str, list[str]]:
    """The request for a product in WebShop's synthetic style, and the attributes that it asks for."""
    unnamed = [a for group in attributes.values() for a in group if a not in named]
    wanted = draw.sample(named, 1 if draw.chance(0.6) else 2) + draw.sample(unnamed, draw.below(2))
    parts = {name: [a for a in group if a in wanted] for name, group in attributes.items()}
    text = f"{draw.pick(OPENINGS)} {' '.join([', '.join(parts['adjectives']), query]).strip()}"
    if parts["features"]:
        text += f" with {', '.join(parts['features'])}"
    if parts["uses"]:
        text += f" for {', '.join(parts['uses'])}"
    return text, [a for group in parts.values() for a in group]


def _attributes(draw: Draw, kind: Kind, line: int, seed: int) -> dict[str, list[str]]:
    """Two adjectives, one or two features and uses; mostly those that the product's line is about."""
    family = FAMILIES[kind.family]
    common = Draw("line", GENERATOR_VERSION, seed, kind.query, line)
    return {
        "adjectives": _vary(draw, common.sample(family.adjectives, 3), family.adjectives, 2),
        "features": _vary(draw, common.sample(family.features, 2), family.features, 1 + draw.below(2)),
        "uses": _vary(draw, common.sample(family.uses, 2), family.uses, 1 + draw.below(2)),
    }


def _vary(draw: Draw, common: list[str], pool: Sequence[str], k: int) -> list[str]:
    """``k`` of the common attributes, each replaced by another of the pool with probability 1/4."""
    others = draw.sample([attribute for attribute in pool if attribute not in common], k)
    return [others.pop() if draw.chance(0.25) else attribute for attribute in draw.sample(common, k)]


def make_product(index: int, kind: Kind, seed: int = 0) -> Product:
    """Product ``index`` of a catalogue."""
    draw = Draw("webshop", GENERATOR_VERSION, seed, index)
    brand, phrase = draw.pick(BRANDS[kind.category]), draw.pick(kind.phrases)
    attributes = _attributes(draw, kind, index // (LINE * len(KINDS)), seed)
    title, named = _title(draw, brand.lower(), phrase, attributes)
    description, bullets = _texts(draw, phrase, attributes, named)
    description += _other_models(draw, FAMILIES[kind.family], attributes)
    instruction, wanted = _instruction(draw, kind.query, attributes, named)
    options = _options(draw, kind)
    pricing, price = _pricing(draw, kind)
    asin = asin_of(index, seed)
    raw = {
        "asin": asin,
        "name": title,
        "full_description": description,
        "small_description": bullets,
        "pricing": pricing,
        "customization_options": {_titled(name): _values(asin, name, values) for name, values in options.items()} or "",
        "images": [f"images/{asin}.jpg"],
        "category": kind.category,
        "query": kind.query,
        "product_category": " › ".join(kind.path),
        "average_rating": round(3 + 2 * draw.random(), 1),
        "page": 1 + draw.below(400),
    }
    flat = tuple(a for group in attributes.values() for a in group)
    return Product(raw, flat, instruction, tuple(wanted), options, title_nouns(title), price)


def _values(asin: str, name: str, values: list[str]) -> list[dict[str, Any]]:
    pictured = name == "color"
    return [
        {"value": _titled(value), "image": f"images/{asin}-{number}.jpg" if pictured else None}
        for number, value in enumerate(values)
    ]


def iter_products(products: int, seed: int = 0) -> Iterator[Product]:
    """Products in catalogue order; every block of ``len(KINDS)`` has each kind once."""
    for index in range(products):
        place = index % len(KINDS)
        if place == 0:
            kinds = Draw("kinds", GENERATOR_VERSION, seed, index).sample(KINDS, len(KINDS))
        yield make_product(index, kinds[place], seed)

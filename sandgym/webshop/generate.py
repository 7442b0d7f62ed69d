"""The bundled WebShop catalogue: plausible products and solvable goals in the official file format.

Invariant: a catalogue is a function of (generator version, number of products, seed):
the same bytes on every machine and Python version. Product ``i`` does not depend on how
many products there are. Only ``random.Random.random`` is used, whose sequence Python
guarantees.

Products whose goals are in the test, dev and train splits are disjoint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sandgym.core import SandboxError
from sandgym.webshop.vocabulary import BRANDS, FAMILIES, KINDS, MODIFIERS, OPTIONS, PACKS, Kind

GENERATOR_VERSION = 1
BUNDLED_PRODUCTS = 1200
BUNDLED_SHA256 = "1dbb4eac25c5a2d04787fa2762fe6dbd1f0790bc55cd5b9b6d151ec342545788"

TEST_GOALS = 200
DEV_GOALS = 100
GOAL_PRODUCTS = 12_000  # products that have goals in a larger catalogue; the real one has 10,014
DEFAULT_PRICE = 100.0  # of a product without pricing, as WebShop has it
NO_LIMIT = 1_000_000
PRICE_LIMITS = range(10, 1000, 10)

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ASIN_SPACE = 36**8
_ASIN_STEP = 1_664_525_000_437  # coprime to 36**8, so that steps permute the space
_OPENINGS = ("Find me", "Find me", "Find me", "Find me", "I am looking for", "I need", "Show me", "I want")

T = TypeVar("T")


class Draw:
    """Draws from one named random stream."""

    def __init__(self, *name: object) -> None:
        self.random = random.Random(":".join(map(str, name))).random

    def below(self, n: int) -> int:
        """An integer in [0, n)."""
        return int(self.random() * n)

    def chance(self, p: float) -> bool:
        """True with probability ``p``."""
        return self.random() < p

    def pick(self, items: Sequence[T]) -> T:
        """One item."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """``k`` different items (all, if there are fewer) in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(k, len(rest)))]


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
    """ASIN of a product: "B0" and eight of A-Z and 0-9, with both letters and digits; never the same twice."""
    number = (index + 1 + seed * 7919) * _ASIN_STEP % _ASIN_SPACE
    while True:
        rest, digits = number, ""
        for _ in range(8):
            rest, digit = divmod(rest, 36)
            digits += _ALPHABET[digit]
        if not digits.isdigit() and not digits.isalpha():
            return "B0" + digits
        number = (number * 5 + 7) % _ASIN_SPACE  # a permutation: walking it keeps ASINs distinct


def title_nouns(title: str) -> tuple[str, ...]:
    """Nouns of a generated title, in order and lower case: all words that are not modifiers or numbers."""
    words = (word.removesuffix("'s") for word in title.lower().replace(",", "").split())
    return tuple(word for word in words if word not in MODIFIERS and not word.isdigit())


def _titled(text: str) -> str:
    return " ".join(word if word in ("of", "with", "for") else word[0].upper() + word[1:] for word in text.split())


def _pricing(draw: Draw, kind: Kind) -> tuple[str, float]:
    low, high = kind.price
    dollars = low + int((high - low) * draw.random() ** 1.5)
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
        chosen = draw.sample(values, 2 + draw.below(5))
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
    description = f"{_titled(phrase)}: {', '.join([named[0], *extra])}."
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


def _instruction(draw: Draw, query: str, attributes: dict[str, list[str]], named: list[str]) -> tuple[str, list[str]]:
    """The request for a product in WebShop's synthetic style, and the attributes that it asks for."""
    unnamed = [a for group in attributes.values() for a in group if a not in named]
    wanted = draw.sample(named, 1 if draw.chance(0.6) else 2) + draw.sample(unnamed, draw.below(2))
    parts = {name: [a for a in group if a in wanted] for name, group in attributes.items()}
    text = f"{draw.pick(_OPENINGS)} {' '.join([', '.join(parts['adjectives']), query]).strip()}"
    if parts["features"]:
        text += f" with {', '.join(parts['features'])}"
    if parts["uses"]:
        text += f" for {', '.join(parts['uses'])}"
    return text, [a for group in parts.values() for a in group]


def make_product(index: int, kind: Kind, seed: int = 0) -> Product:
    """Product ``index`` of a catalogue."""
    draw = Draw("webshop", GENERATOR_VERSION, seed, index)
    family = FAMILIES[kind.family]
    brand, phrase = draw.pick(BRANDS[kind.category]), draw.pick(kind.phrases)
    attributes = {
        "adjectives": draw.sample(family.adjectives, 2),
        "features": draw.sample(family.features, 1 + draw.below(2)),
        "uses": draw.sample(family.uses, 1 + draw.below(2)),
    }
    title, named = _title(draw, brand.lower(), phrase, attributes)
    description, bullets = _texts(draw, phrase, attributes, named)
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
    """WebShop's sampling weight: mean over a goal's attributes of 1 / goals that have the attribute."""
    counts = Counter(attribute for goal in goals for attribute in goal["attributes"])
    for goal in goals:
        goal["weight"] = sum(1 / counts[a] for a in goal["attributes"]) / len(goal["attributes"])


def _human(product: Product, goal: dict[str, Any]) -> list[dict[str, Any]]:
    """The same wish in the format of the crowd-sourced instructions."""
    chosen = goal["goal_options"]
    request = product.instruction
    for opening in _OPENINGS:
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


def content_hash(folder: Path) -> str:
    """SHA-256 (hexadecimal) of the names and bytes of a folder's files."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(f"{path.name}:{path.stat().st_size}:".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def ensure_bundled() -> Path:
    """The folder of the bundled catalogue in the data root; written on first use.

    Raises:
        SandboxError: the data root cannot be written to, or the generator does not
            reproduce the catalogue that this version of the package is pinned to.
    """
    from sandgym.data import data_root

    target = Path(data_root()) / "webshop" / f"bundled-v{GENERATOR_VERSION}-{BUNDLED_SHA256[:12]}"
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".bundled-", dir=target.parent))
    except OSError as error:
        raise SandboxError(
            f"cannot write the bundled WebShop catalogue to {target.parent}: {error}; "
            "set SANDGYM_DATA to a folder that can be written to"
        ) from error
    try:
        write_catalogue(temporary)
        if (found := content_hash(temporary)) != BUNDLED_SHA256:
            raise SandboxError(f"the generated WebShop catalogue has hash {found}, not {BUNDLED_SHA256}")
        temporary.chmod(0o755)
        with contextlib.suppress(OSError):  # another process was first
            os.rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target

"""Products: the official raw rows, read with the semantics of the original loader.

Invariant: a ``Product`` is a function of its raw row, its attribute entry and its
title nouns alone, and a catalogue's order is the order of its raw rows.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Protocol

from sandgym.core import SandboxError

DEFAULT_PRICE = 100.0
_NOT_PRICE = re.compile(r"[^\d.]")


@dataclasses.dataclass(frozen=True, slots=True)
class Product:
    """One product as the site shows it and as the reward reads it.

    Attributes:
        asin: identity, at most 10 characters.
        title: the raw ``name``.
        description: the raw ``full_description``.
        bullets: lines of the Features page.
        price_text: what the pages show, such as ``$27.0`` or ``$13.99 to $12.26``.
        price_range: one price, or the two ends of a range in the order shown (dollars).
        options: option name to its values, both lower-cased, in file order.
        option_images: option value to image address, where the file has one.
        attributes: phrases that the reward compares with a goal's.
        category: one of the five departments.
        query: the search phrase that the product was collected under.
        product_category: path of categories, separated by ``›``.
        main_image: address of the first image, ``""`` when there is none.
        instruction: text of the product's synthetic goals; ``None`` when it has none.
        instruction_attributes: attributes that those goals ask for.
        nouns: lower-cased nouns of the title, in order, with repeats.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    price_text: str
    price_range: tuple[float, ...]
    options: dict[str, tuple[str, ...]]
    option_images: dict[str, str]
    attributes: tuple[str, ...]
    category: str
    query: str
    product_category: str
    main_image: str
    instruction: str | None
    instruction_attributes: tuple[str, ...]
    nouns: tuple[str, ...]


class Catalogue(Protocol):
    """Products by position, in a fixed order."""

    def __len__(self) -> int:
        """Number of products."""

    def __getitem__(self, position: int) -> Product:
        """The product at a position; ``IndexError`` outside ``0 <= position < len``."""

    def index(self, asin: str) -> int | None:
        """Position of an asin; ``None`` when it is not here."""

    def price(self, position: int) -> float:
        """Price that the reward uses (dollars)."""


class MemoryCatalogue:
    """A catalogue of Python objects; see ``Catalogue``."""

    def __init__(self, products: Sequence[Product], prices: Sequence[float]) -> None:
        if len(products) != len(prices):
            raise ValueError(f"{len(products)} products but {len(prices)} prices")
        self._products = tuple(products)
        self._prices = tuple(prices)
        self._positions = {product.asin: position for position, product in enumerate(products)}

    def __len__(self) -> int:
        return len(self._products)

    def __getitem__(self, position: int) -> Product:
        if position < 0:
            raise IndexError(f"no product at {position}")
        return self._products[position]

    def index(self, asin: str) -> int | None:
        """See ``Catalogue.index``."""
        return self._positions.get(asin)

    def price(self, position: int) -> float:
        """See ``Catalogue.price``."""
        return self._prices[position]


def iter_products(
    raw_rows: Iterable[Mapping[str, Any]],
    ins: Mapping[str, Mapping[str, Any]],
    nouns: Mapping[str, Sequence[str]],
) -> Iterator[Product]:
    """The products of raw rows, in order; unusable asins and repeats left out.

    Raises:
        SandboxError: a row is malformed or its title has no nouns on file.
    """
    seen: set[str] = set()
    for raw in raw_rows:
        asin = raw.get("asin")
        if asin in seen:
            continue
        product = parse_product(raw, ins, nouns)
        if product is not None:
            seen.add(product.asin)
            yield product


def parse_product(
    raw: Mapping[str, Any],
    ins: Mapping[str, Mapping[str, Any]],
    nouns: Mapping[str, Sequence[str]],
) -> Product | None:
    """One raw row as a ``Product``; ``None`` when the original loader skips it.

    Args:
        raw: an element of ``items_shuffle*.json``.
        ins: the whole of ``items_ins_v2*.json``, by asin; asins may be missing.
        nouns: title nouns by asin; every product that is kept must be here.

    Raises:
        SandboxError: a key is missing, the price cannot be read, or there are no nouns.
    """
    try:
        asin = raw["asin"]
        if asin == "nan" or len(asin) > 10:
            return None
        bullets = raw["small_description"]
        price_text, price_range = parse_price(raw["pricing"])
        options, option_images = _parse_options(raw["customization_options"])
        entry = ins.get(asin, {})
        images = raw.get("images") or [""]
        return Product(
            asin=asin,
            title=raw["name"] or "",
            description=raw["full_description"] or "",
            bullets=tuple(line or "" for line in (bullets if isinstance(bullets, list) else [bullets])),
            price_text=price_text,
            price_range=price_range,
            options=options,
            option_images=option_images,
            attributes=tuple(entry.get("attributes", ("DUMMY_ATTR",))),
            category=raw["category"],
            query=raw["query"].lower().strip(),
            product_category=raw["product_category"],
            main_image=images[0] or "",
            instruction=entry.get("instruction"),
            instruction_attributes=tuple(entry.get("instruction_attributes") or ()),
            nouns=tuple(nouns[asin]) if asin in nouns else _no_nouns(asin),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise SandboxError(f"product row {raw.get('asin')!r} is malformed: {error!r}; fetch the file again") from error


def _no_nouns(asin: str) -> tuple[str, ...]:
    raise SandboxError(
        f"there are no title nouns for product {asin!r}, and the reward needs them; compute them once with "
        '`pip install "sandgym[nouns]"` and `sandgym data build`, or put asin -> list of nouns in nouns.json'
    )


def parse_price(pricing: str | None) -> tuple[str, tuple[float, ...]]:
    """Shown text and one or two numbers of a raw ``pricing`` such as ``$19.99$27.99`` (dollars).

    Raises:
        ValueError: a piece after a ``$`` is not a number, or there is no ``$``.
    """
    if not pricing:
        return f"${DEFAULT_PRICE}", (DEFAULT_PRICE,)
    try:
        values = tuple(float(Decimal(_NOT_PRICE.sub("", piece))) for piece in pricing.split("$")[1:])
    except InvalidOperation:
        values = ()
    if not values:
        raise ValueError(f"pricing {pricing!r} holds no readable dollar amount")
    if len(values) == 1:
        return f"${values[0]}", values
    return f"${values[0]} to ${values[1]}", values[:2]


def _parse_options(raw: Mapping[str, Any] | str | None) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    options: dict[str, tuple[str, ...]] = {}
    images: dict[str, str] = {}
    for name, contents in (raw or {}).items():  # type: ignore[union-attr]
        if contents is None:
            continue
        values = []
        for content in contents:
            value = content["value"].strip().replace("/", " | ").lower()
            values.append(value)
            if content.get("image"):
                images[value] = content["image"]
        options[name.lower()] = tuple(values)
    return options, images


def draw_price(product: Product, rng: random.Random) -> float:
    """The price that the reward uses: the one price, or uniform over the range (one draw)."""
    if len(product.price_range) == 1:
        return product.price_range[0]
    return rng.uniform(*product.price_range)


def document_text(product: Product) -> str:
    """What the search index holds of a product: title, description, first bullet, options; lower-cased."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    bullet = product.bullets[0] if product.bullets else ""
    return " ".join((product.title, product.description, bullet, options)).lower()

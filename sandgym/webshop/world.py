"""Worlds: what never changes while an environment lives, loaded once in each process.

Invariant: ``World.key`` is a hash of the content that shapes an episode (products,
prices, nouns, goals, splits), so that equal keys mean equal worlds on every machine.
"""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandgym.core import SandboxError, digest_of
from sandgym.webshop import goals as goal_lists
from sandgym.webshop.goals import Goal
from sandgym.webshop.jsonfiles import find_json, iter_json_array, read_json
from sandgym.webshop.products import Catalogue, MemoryCatalogue, Product, document_text, draw_price, iter_products
from sandgym.webshop.search import SearchIndex
from sandgym.webshop.store import StoredCatalogue, is_store, open_store

GOAL_KINDS = ("synthetic", "human")
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False)
class World:
    """Everything immutable, shared by all environments of a process.

    Attributes:
        data: ``"bundled"``, ``"official"`` or the folder that was named.
        key: content hash (hexadecimal).
        catalogue: the products and their prices.
        index: full-text search; document numbers are positions in the catalogue.
        goals: all goals, in the order that fixes their indices.
        splits: name of a split to its range of goal indices; ``"all"`` included.
        source: the arguments of ``load_world``, by which a copy in another process is loaded.
    """

    data: str
    key: str
    catalogue: Catalogue
    index: SearchIndex
    goals: Sequence[Goal]
    splits: Mapping[str, range]
    source: tuple[str, str, int]

    def __reduce__(self) -> tuple[Any, ...]:
        return (load_world, self.source)

    def cumulative_weights(self, split: str) -> NDArray[np.float64]:
        """Running sums of the goal weights of a split."""
        return np.cumsum([self.goals[index].weight for index in self.splits[split]])


def load_world(data: str | Path = "bundled", goals: str = "synthetic", price_seed: int = 0) -> World:
    """The world of a data set; the same object for the same arguments, while the files stay the same.

    Args:
        data: ``"bundled"``, ``"official"``, or a folder of files in the official format
            (``items_shuffle*``, ``items_ins_v2*``, for human goals ``items_human_ins*``,
            and ``nouns``; ``prices``, ``goals`` and ``splits`` where they are fixed; each
            ``.json`` or ``.json.xz``), or a folder that ``sandgym data build`` wrote.
        goals: ``"synthetic"`` or ``"human"``.
        price_seed: seeds the prices (within a product's range) and price limits that are
            not on file, drawn in the original's order. For a built catalogue it must be
            the seed of the build (0 for ``sandgym data build``).

    Raises:
        ValueError: an unknown kind of goals.
        SandboxError: files are missing or damaged, or a catalogue was built with another
            ``price_seed``; the message says what to do.
    """
    if goals not in GOAL_KINDS:
        raise ValueError(f"unknown goals {goals!r}; known: {', '.join(GOAL_KINDS)}")
    folder = _folder(str(data))
    return _load(folder, str(data), goals, price_seed, _stamp(folder))


@lru_cache(maxsize=8)
def _load(folder: Path, data: str, kind: str, price_seed: int, _: tuple[tuple[str, int, int], ...]) -> World:
    if is_store(folder):
        world = _load_store(open_store(folder), data, kind, price_seed)
    elif find_json(folder, "items_shuffle*") is not None:
        world = _load_raw(folder, data, kind, price_seed)
    else:
        raise SandboxError(
            f"there is no WebShop data in {folder} (no items_shuffle*.json); "
            "fetch it with `sandgym data download webshop`, or use data='bundled'"
        )
    what = "bundled (generated, not the official catalogue)" if data == "bundled" else data
    counts = f"{len(world.catalogue):,} products, {len(world.goals):,} {kind} goals"
    _log.info("WebShop data: %s, %s, in %s", what, counts, folder)
    return world


def _folder(data: str) -> Path:
    if data == "bundled":
        from sandgym.webshop.generate import ensure_bundled

        return ensure_bundled()
    if data == "official":
        from sandgym.data import official

        return official("webshop")
    return Path(data).expanduser()


def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, time and size of a folder's files: a world is loaded again when they change."""
    stats = [(path.name, path.stat()) for path in sorted(folder.glob("*.json*"))]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def _load_raw(folder: Path, data: str, kind: str, price_seed: int) -> World:
    rng = random.Random(price_seed)
    products = _read_products(folder)
    catalogue = MemoryCatalogue(products, _prices(products, read_json(folder, "prices"), rng))
    goals, splits = _goals(folder, catalogue, range(len(catalogue)), kind, rng)
    index = SearchIndex.build((product.asin, document_text(product)) for product in products)
    key = _content_key(catalogue, goals, splits)
    return World(data, key, catalogue, index, goals, splits, (data, kind, price_seed))


def _load_store(catalogue: StoredCatalogue, data: str, kind: str, price_seed: int) -> World:
    """The world of a built catalogue; reads no product that has no goal."""
    if price_seed != catalogue.price_seed:
        raise SandboxError(
            f"{catalogue.folder} was built with price_seed={catalogue.price_seed}, not {price_seed}: "
            f"use price_seed={catalogue.price_seed}, or build another catalogue of the same files with "
            f"sandgym.webshop.build.build_store(source, out, seed={price_seed})"
        )
    rng = random.Random()
    rng.setstate(catalogue.draw_state)
    positions = catalogue.instructed if kind == "synthetic" else catalogue.human
    goals, splits = _goals(catalogue.folder, catalogue, map(int, positions), kind, rng)
    bounds = sorted((name, indices.start, indices.stop) for name, indices in splits.items())
    key = digest_of(catalogue.key, [repr(goal) for goal in goals], bounds)
    return World(data, key, catalogue, catalogue.search_index, goals, splits, (data, kind, price_seed))


def _read_products(folder: Path) -> list[Product]:
    items = find_json(folder, "items_shuffle*")
    ins = read_json(folder, "items_ins_v2*")
    nouns = read_json(folder, "nouns")
    assert items is not None
    if ins is None:
        raise SandboxError(f"items_ins_v2*.json is missing in {folder}; run `sandgym data download webshop`")
    return list(iter_products(iter_json_array(items), ins, nouns or {}))


def _prices(products: Sequence[Product], stored: Mapping[str, float] | None, rng: random.Random) -> list[float]:
    """Stored prices, else drawn ones; both use up the generator alike, so that later draws agree."""
    drawn = [draw_price(product, rng) for product in products]
    if stored is None:
        return drawn
    missing = [product.asin for product in products if product.asin not in stored]
    if missing:
        raise SandboxError(
            f"prices.json lacks {len(missing)} products, the first {missing[0]!r}; complete or remove it"
        )
    return [float(stored[product.asin]) for product in products]


def _goals(
    folder: Path, catalogue: Catalogue, positions: Iterable[int], kind: str, rng: random.Random
) -> tuple[list[Goal], dict[str, range]]:
    """Goals of a kind and their splits; ``goals.json`` and ``splits.json`` hold for the kind that they store.

    ``positions`` are those of the products that may have goals of this kind, in order.
    """
    splits = read_json(folder, "splits")
    rows = read_json(folder, "goals")
    if rows is not None:
        stored = goal_lists.stored_goals(rows)
        if not stored:
            raise SandboxError(f"goals.json in {folder} holds no goal; remove it to have goals drawn")
        if {goal.kind for goal in stored} == {kind}:
            _check_products(stored, catalogue, folder)
            return stored, goal_lists.split_ranges(len(stored), splits)
        splits = None
    priced = ((catalogue[position], catalogue.price(position)) for position in positions)
    if kind == "synthetic":
        drawn = goal_lists.synthetic_goals(priced, rng)
    else:
        drawn = goal_lists.human_goals(priced, _instructions(folder), rng)
    return drawn, goal_lists.split_ranges(len(drawn), splits)


def _check_products(goals: Sequence[Goal], catalogue: Catalogue, folder: Path) -> None:
    for asin in dict.fromkeys(goal.asin for goal in goals):
        if catalogue.index(asin) is None:
            raise SandboxError(f"goals.json names product {asin!r}, which is not in {folder}")


def _instructions(folder: Path) -> Any:
    instructions = read_json(folder, "items_human_ins*")
    if instructions is None:
        raise SandboxError(f"human goals need items_human_ins.json in {folder}; run `sandgym data download webshop`")
    return instructions


def _content_key(catalogue: Catalogue, goals: Sequence[Goal], splits: Mapping[str, range]) -> str:
    digest = hashlib.sha256()
    for position in range(len(catalogue)):
        digest.update(repr((catalogue[position], catalogue.price(position))).encode("utf-8", "surrogatepass"))
    for goal in goals:
        digest.update(repr(goal).encode("utf-8", "surrogatepass"))
    digest.update(repr(sorted(splits.items(), key=lambda item: item[0])).encode())
    return digest.hexdigest()

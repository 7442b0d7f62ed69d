"""Building a catalogue: from the official files to what ``store.open_store`` opens.

Invariant: one pass over the products, none of which is kept; the folder appears under
its name only when it is complete, and an older one stays until then.
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
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sandgym.core import SandboxError
from sandgym.webshop.jsonfiles import find_json, iter_json_array, read_json
from sandgym.webshop.nouns import title_nouns
from sandgym.webshop.products import Product, document_text, draw_price, iter_products
from sandgym.webshop.search import SearchIndex
from sandgym.webshop.store import ARRAYS, INDEX, StoredCatalogue, encode_product, open_store, write_manifest

_KEPT = ("goals", "splits", "items_human_ins*")  # copied into the store: goals are read from them
_EVERY = 1000  # products between calls of ``progress``

Progress = Callable[[int], None]


def build_store(
    source: str | Path, out: str | Path, *, seed: int = 0, progress: Progress | None = None
) -> StoredCatalogue:
    """Build the catalogue of a folder of official files, replacing what ``out`` held.

    Args:
        source: holds ``items_shuffle*``, ``items_ins_v2*`` and optionally
            ``items_human_ins*``, ``nouns``, ``prices``, ``goals``, ``splits``; each
            ``.json`` or ``.json.xz``. Without ``nouns``, spaCy finds them.
        out: folder of the store.
        seed: of the prices of products with a price range, where there is no ``prices``.
        progress: called with the number of products done so far.

    Raises:
        SandboxError: a source file is missing or malformed, or ``out`` cannot be written.
    """
    source, out = Path(source), Path(out).resolve()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(out)
        temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.{os.getpid()}-", dir=out.parent))
    except OSError as error:
        raise SandboxError(
            f"cannot write to {out.parent}: {error.strerror}; set SANDGYM_DATA to another folder"
        ) from error
    try:
        _write(source, temporary, seed, progress or (lambda done: None))
        temporary.chmod(0o755)
        _replace(temporary, out)
    except OSError as error:
        raise SandboxError(f"building {out} failed: {error}; nothing was changed, free space and try again") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return open_store(out)


def _write(source: Path, folder: Path, seed: int, progress: Progress) -> None:
    rng = random.Random(seed)
    human = read_json(source, "items_human_ins*") or {}
    writer = _Writer(folder, human, read_json(source, "prices"), rng)
    with (folder / "products.bin").open("wb") as records:
        index = SearchIndex.build(writer.write_all(_products(source), records.write, progress))
    if not len(index):
        raise SandboxError(f"{source} holds no usable product")
    writer.save_columns(index)
    index.save(folder / INDEX)
    (folder / "draw_state.json").write_text(json.dumps(rng.getstate()))
    for stem in _KEPT:
        if path := find_json(source, stem):
            shutil.copyfile(path, folder / path.name)
    write_manifest(folder, len(index), writer.digest.hexdigest(), seed)


@dataclasses.dataclass
class _Writer:
    """Columns of the products that have been written."""

    folder: Path
    human_asins: Collection[str]
    prices: Mapping[str, float] | None
    rng: random.Random
    starts: array[int] = dataclasses.field(default_factory=lambda: array("q", [0]))
    price_column: array[float] = dataclasses.field(default_factory=lambda: array("d"))
    instructed: array[int] = dataclasses.field(default_factory=lambda: array("i"))
    human: array[int] = dataclasses.field(default_factory=lambda: array("i"))
    digest: Any = dataclasses.field(default_factory=hashlib.sha256)

    def write_all(
        self, products: Iterator[Product], write: Callable[[bytes], int], progress: Progress
    ) -> Iterator[tuple[str, str]]:
        """Write each product and hand on what the search index holds of it."""
        for position, product in enumerate(products):
            record = encode_product(product)
            write(record)
            self.starts.append(self.starts[-1] + len(record))
            self.price_column.append(price := self._price(product))
            self.digest.update(repr((product, price)).encode("utf-8", "surrogatepass"))
            if product.instruction is not None:
                self.instructed.append(position)
            if product.asin in self.human_asins:
                self.human.append(position)
            if (position + 1) % _EVERY == 0:
                progress(position + 1)
            yield product.asin, document_text(product)
        if len(self.price_column) % _EVERY:
            progress(len(self.price_column))

    def _price(self, product: Product) -> float:
        """The price on file, else a drawn one; both use up the generator alike."""
        drawn = draw_price(product, self.rng)
        if self.prices is None:
            return drawn
        try:
            return float(self.prices[product.asin])
        except KeyError:
            raise SandboxError(f"prices.json has no price for product {product.asin!r}") from None

    def save_columns(self, index: SearchIndex) -> None:
        """Write everything but the products themselves and the search index."""
        order = np.argsort(index.asins, kind="stable").astype(np.int32)
        columns: tuple[Any, ...] = (
            np.array(self.starts, np.int64),
            np.array(self.price_column, np.float64),
            index.asins[order],
            order,
            np.array(self.instructed, np.int32),
            np.array(self.human, np.int32),
        )
        for name, column in zip(ARRAYS, columns, strict=True):
            np.save(self.folder / f"{name}.npy", column)


def _products(source: Path) -> Iterator[Product]:
    rows_path = find_json(source, "items_shuffle*")
    if rows_path is None:
        raise SandboxError(f"{source} has no items_shuffle*.json; get it with `sandgym data download webshop`")
    ins = read_json(source, "items_ins_v2*")
    if ins is None:
        raise SandboxError(f"{source} has no items_ins_v2*.json; get it with `sandgym data download webshop`")
    nouns = read_json(source, "nouns")
    rows = iter_json_array(rows_path)
    return iter_products(rows, ins, nouns) if nouns is not None else _with_nouns(iter_products(rows, ins, _Unknown()))


class _Unknown(dict[str, Sequence[str]]):
    """Stands for the nouns of any product until they have been found."""

    def __contains__(self, asin: object) -> bool:
        return True

    def __missing__(self, asin: str) -> Sequence[str]:
        return ()


def _with_nouns(products: Iterator[Product]) -> Iterator[Product]:
    products, ahead = itertools.tee(products)
    for product, nouns in zip(products, title_nouns(product.title for product in ahead), strict=True):
        yield dataclasses.replace(product, nouns=nouns)


def _replace(temporary: Path, out: Path) -> None:
    """Give a finished folder its name; an older one goes only then."""
    if out.exists():
        old = temporary.with_name(temporary.name + ".old")
        os.rename(out, old)
        os.rename(temporary, out)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(temporary, out)


def _remove_abandoned(out: Path) -> None:
    """Delete what builds of ``out`` that were killed left behind."""
    for path in out.parent.glob(f".{out.name}.*-*"):
        owner = path.name.removeprefix(f".{out.name}.").partition("-")[0]
        if owner.isdigit() and int(owner) != os.getpid():
            with contextlib.suppress(PermissionError):
                try:
                    os.kill(int(owner), 0)
                except ProcessLookupError:
                    shutil.rmtree(path, ignore_errors=True)

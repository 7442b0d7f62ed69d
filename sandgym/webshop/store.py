"""A built catalogue on disk: memory-mapped, shared by processes, opened without reading it.

Invariant: ``open_store(folder)[i]`` equals the ``Product`` that was built, and a folder
without a manifest whose sizes all fit is not a store. Opening takes the same time for
any number of products.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import mmap
import operator
from pathlib import Path
from typing import Any

import numpy as np

from sandgym.core import SandboxError
from sandgym.webshop.products import Product
from sandgym.webshop.search import SearchIndex

FORMAT = 1
MANIFEST = "manifest.json"
INDEX = "index"
_CACHED = 512  # decoded products kept
_REPAIR = "build it again with `sandgym data build webshop`"
_FIELDS = tuple(field.name for field in dataclasses.fields(Product))
_TUPLES = tuple(i for i, field in enumerate(dataclasses.fields(Product)) if str(field.type).startswith("tuple"))
_OPTIONS = _FIELDS.index("options")
_values = operator.attrgetter(*_FIELDS)


def encode_product(product: Product) -> bytes:
    """A product as the bytes that ``decode_product`` reads."""
    return json.dumps(_values(product), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def decode_product(record: bytes) -> Product:
    """Inverse of ``encode_product``."""
    values = json.loads(record.decode("utf-8", "surrogatepass"))
    for place in _TUPLES:
        values[place] = tuple(values[place])
    values[_OPTIONS] = {name: tuple(options) for name, options in values[_OPTIONS].items()}
    return Product(*values)


class StoredCatalogue:
    """A catalogue that lives in files; see ``products.Catalogue``.

    Attributes:
        folder: where it is; ``goals.json``, ``splits.json`` and ``items_human_ins*.json``
            of the source lie there too, where the source has them.
        key: SHA-256 of ``repr((product, price))`` of all products, joined.
        price_seed: the seed that prices within a range were drawn with.
        search_index: over all products; its document numbers are positions.
        instructed: positions of products with an instruction for synthetic goals.
        human: positions of products with instructions written by people.
        draw_state: ``random.Random`` state after all prices were drawn, from which
            price limits of goals are drawn.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        manifest = check_store(self.folder)
        self.key: str = manifest["key"]
        self.price_seed: int = manifest["price_seed"]
        self.search_index = SearchIndex.open(self.folder / INDEX)
        self._starts, self._prices, self._asins, self._positions, self.instructed, self.human = (
            np.load(self.folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in ARRAYS
        )
        version, internal, gauss = json.loads((self.folder / "draw_state.json").read_text())
        self.draw_state = (version, tuple(internal), gauss)
        with (self.folder / "products.bin").open("rb") as file:
            self._records = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._read = functools.lru_cache(maxsize=_CACHED)(self._decode)

    def __len__(self) -> int:
        return len(self._prices)

    def __getitem__(self, position: int) -> Product:
        if not 0 <= position < len(self):
            raise IndexError(f"no product at {position}: the catalogue has {len(self)}")
        return self._read(position)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.folder,))

    def index(self, asin: str) -> int | None:
        """Position of an asin; ``None`` when it is not here."""
        wanted = asin.encode("utf-8", "surrogatepass")
        if len(wanted) > self._asins.itemsize:
            return None
        place = int(np.searchsorted(self._asins, np.bytes_(wanted)))
        if place == len(self._asins) or self._asins[place] != wanted:
            return None
        return int(self._positions[place])

    def price(self, position: int) -> float:
        """Price that the reward uses (dollars)."""
        return float(self._prices[position])

    def _decode(self, position: int) -> Product:
        record = self._records[self._starts[position] : self._starts[position + 1]]
        try:
            return decode_product(record)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise SandboxError(f"product {position} of {self.folder} is damaged ({error}); {_REPAIR}") from error


ARRAYS = ("starts", "prices", "sorted_asins", "sorted_positions", "instructed", "human")


@functools.lru_cache(maxsize=8)
def _opened(folder: Path, _built: int) -> StoredCatalogue:
    return StoredCatalogue(folder)


def open_store(folder: str | Path) -> StoredCatalogue:
    """The catalogue that ``build_store`` wrote; the same object for the same folder in one process.

    Raises:
        SandboxError: there is no store, or it is incomplete or of another format.
    """
    folder = Path(folder).resolve()
    manifest = folder / MANIFEST
    return _opened(folder, manifest.stat().st_mtime_ns if manifest.is_file() else 0)


def is_store(folder: str | Path) -> bool:
    """Whether a folder holds a built catalogue (not whether it is intact)."""
    return (Path(folder) / MANIFEST).is_file()


def write_manifest(folder: Path, products: int, key: str, price_seed: int) -> None:
    """Describe all files of a finished store: what makes it one."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    hashes = {name: {"size": path.stat().st_size, "sha256": _sha256(path)} for name, path in files.items()}
    manifest = {
        "format": FORMAT,
        "products": products,
        "key": key,
        "price_seed": price_seed,
        "files": hashes,
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def check_store(folder: Path, *, contents: bool = False) -> dict[str, Any]:
    """The manifest of a store whose files all have their recorded sizes.

    Args:
        folder: of the store.
        contents: read and hash every file too (seconds a gigabyte).

    Raises:
        SandboxError: what is wrong, and what to do.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
        version, files = manifest["format"], manifest["files"]
    except FileNotFoundError:
        raise SandboxError(f"{folder} holds no built catalogue; {_REPAIR}") from None
    except (ValueError, KeyError, OSError) as error:
        raise SandboxError(f"{folder / MANIFEST} cannot be read ({error}); {_REPAIR}") from error
    if version != FORMAT:
        raise SandboxError(f"{folder} has format {version}, this version reads {FORMAT}; {_REPAIR}")
    for name, expected in files.items():
        path = folder / name
        size = path.stat().st_size if path.is_file() else None
        if size != expected["size"]:
            found = "is missing" if size is None else f"has {size:,} bytes instead of {expected['size']:,}"
            raise SandboxError(f"the catalogue {folder} is damaged: {name} {found}; {_REPAIR}")
        if contents and _sha256(path) != expected["sha256"]:
            raise SandboxError(f"the catalogue {folder} is damaged: {name} has changed since it was built; {_REPAIR}")
    return manifest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

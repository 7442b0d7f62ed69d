"""Data sets of rows: what never changes while an environment lives, shared by a process.

Invariant: ``Split.key`` is a hash of a split's ids and rows, so that equal keys mean equal
tasks on every machine.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandgym.core import SandboxError, digest_of
from sandgym.swebench.images import DockerImages, FolderImages, GeneratedImages, Images
from sandgym.swebench.rows import FORMATS, Row, load_rows, record_of

SPLITS = ("train", "dev", "test")
_NAMES = {"validation": "dev", "valid": "dev", "eval": "test"}
BUILT = "test.jsonl"


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """The tasks of a split.

    Attributes:
        rows: of the split, by id.
        key: content hash (hexadecimal).
    """

    rows: Mapping[str, Row]
    key: str


class World:
    """A data set.

    Args:
        data: ``"bundled"``, ``"official"`` or the path that was named.
        rows: by split.
        images: where the images of its rows come from.
    """

    def __init__(self, data: str, rows: Mapping[str, Sequence[Row]], images: Images) -> None:
        self.data = data
        self.images = images
        self._splits = {name: _split(members) for name, members in rows.items()}

    def split(self, name: str) -> Split:
        """The tasks of a split, or of ``"all"``.

        Raises:
            ValueError: no such split; the message lists what there is.
        """
        if name == "all":
            return _split([row for split in self._splits.values() for row in split.rows.values()])
        name = _NAMES.get(name, name)
        if name not in self._splits:
            raise ValueError(f"unknown split {name!r}; known: {', '.join((*self._splits, 'all'))}")
        return self._splits[name]


def load_world(data: str | Path = "bundled", checkouts: str | Path | None = None) -> World:
    """The world of a data set; the same object until its files change.

    Args:
        data: ``"bundled"``, ``"official"``, a .json, .jsonl or .parquet file, or a folder of such files,
            which may be one that ``generate.write_tasks`` wrote. A file's rows belong to the split that
            their column ``split`` names, else to the one that its name begins with, else to ``test``.
        checkouts: folder of checkouts to use instead of Docker images (see ``images.FolderImages``).

    Raises:
        SandboxError: there is no data, or it is damaged; the message says what to do.
    """
    files = _files(str(data))
    stamp = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return _load(str(data), None if checkouts is None else str(checkouts), stamp)


@functools.lru_cache(maxsize=8)
def _load(data: str, checkouts: str | None, stamp: tuple[tuple[str, int, int], ...]) -> World:
    rows: dict[str, list[Row]] = {}
    for name, _, _ in stamp:
        path = Path(name)
        for row in load_rows(path):
            rows.setdefault(row.split or _split_of(path), []).append(row)
    ids = [row.instance_id for members in rows.values() for row in members]
    if len(set(ids)) != len(ids):
        raise SandboxError(f"{data} has {next(i for i in ids if ids.count(i) > 1)!r} in more than one file")
    ordered = sorted(rows, key=lambda split: (SPLITS.index(split) if split in SPLITS else len(SPLITS), split))
    return World(data, {split: rows[split] for split in ordered}, _images(checkouts, Path(stamp[0][0]).parent))


def _images(checkouts: str | None, source: Path) -> Images:
    """Where the images of the rows in a folder come from."""
    if checkouts is not None:
        return FolderImages(Path(checkouts).expanduser())
    from sandgym.swebench.generate import REPOSITORIES, materialise

    if not (source / REPOSITORIES).is_dir():
        return DockerImages()
    from sandgym.data import data_root

    return GeneratedImages(data_root() / "swebench" / "checkouts", functools.partial(materialise, source=source))


def _files(data: str) -> list[Path]:
    """The files of a data set, sorted."""
    place = Path(data).expanduser()
    if data == "bundled":
        from sandgym.swebench.generate import ensure_bundled

        place = ensure_bundled()
    elif data == "official":
        from sandgym.data import official

        place = official("swebench")
    files = sorted(path for path in place.iterdir() if path.suffix in FORMATS) if place.is_dir() else [place]
    if not files or not all(path.is_file() for path in files):
        raise SandboxError(f"there is no {' or '.join(FORMATS)} file in {place}")
    return files


def _split_of(path: Path) -> str:
    first = path.stem.replace("_", "-").split("-")[0]
    return _NAMES.get(first, first) if _NAMES.get(first, first) in SPLITS else "test"


def _split(rows: Sequence[Row]) -> Split:
    by_id = {row.instance_id: row for row in rows}
    return Split(by_id, digest_of(tuple(by_id), tuple(row.hash for row in rows)))


def build_rows(source: Path, out: Path, progress: Callable[[int], None] | None = None) -> None:
    """Write the rows of downloaded files as ``test.jsonl``, which needs no further package to read.

    Raises:
        SandboxError: damaged files, or a folder that cannot be written to.
    """
    rows = [row for path in sorted(source.iterdir()) if path.suffix in FORMATS and path.name != "checksums.json"
            for row in load_rows(path)]  # fmt: skip
    try:
        out.mkdir(parents=True, exist_ok=True)
        temporary = out / f"{BUILT}.new"
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for number, row in enumerate(rows, start=1):
                file.write(json.dumps(record_of(row), ensure_ascii=False) + "\n")
                if progress is not None:
                    progress(number)
        temporary.replace(out / BUILT)
    except OSError as error:
        raise SandboxError(f"cannot write to {out}: {error}; set SANDGYM_DATA to another folder") from error

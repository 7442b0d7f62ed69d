"""The bases that this process has.

Invariant: equal images have one base, as long as it is among those that were used last.
"""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Mapping
from typing import Any

from sandgym.sandboxes.base import DockerImage, FolderImage, Image
from sandgym.sandboxes.bases import Base
from sandgym.sandboxes.engine import Stored
from sandgym.sandboxes.folderbase import FolderBase, import_folder
from sandgym.sandboxes.pulledbase import PulledBase
from sandgym.sandboxes.tree import ImageTree, tree_of

_KEPT = 16  # bases that no sandbox uses any more
_BASES: collections.OrderedDict[tuple[object, ...], Base] = collections.OrderedDict()
_FOLDERS: collections.OrderedDict[tuple[object, ...], Stored] = collections.OrderedDict()
_LOCK = threading.RLock()


def base_of(image: Image) -> Base:
    """The base of an image, made unless this process still has it.

    Raises:
        SandboxError: it cannot be made; the type says why.
    """
    engine = (os.getpid(), os.environ.get("DOCKER_HOST"))
    with _LOCK:
        if isinstance(image, FolderImage):
            tree = tree_of(image)
            key: tuple[object, ...] = (*engine, tree.identity, image.workdir, *_facts(image.mounts), *_facts(image.env))
        else:
            key = (*engine, image.name, *_facts(image.env))
        base: Base | None = _kept(_BASES, key)
        if base is None:
            base = (
                PulledBase(image) if isinstance(image, DockerImage) else FolderBase(image, tree, _stored(image, tree))
            )
            _keep(_BASES, key, base)
        return base


def _stored(image: FolderImage, tree: ImageTree) -> Stored:
    """The image of a folder in the engine."""
    key = (os.getpid(), os.environ.get("DOCKER_HOST"), tree.identity)
    stored: Stored | None = _kept(_FOLDERS, key)
    if stored is None:
        stored = import_folder(image, tree)
        _keep(_FOLDERS, key, stored)
    return stored


def _facts(table: Mapping[str, object]) -> list[tuple[str, str]]:
    return sorted((name, str(value)) for name, value in table.items())


def _kept(table: collections.OrderedDict[tuple[object, ...], Any], key: tuple[object, ...]) -> Any:
    if key in table:
        table.move_to_end(key)
    return table.get(key)


def _keep(table: collections.OrderedDict[tuple[object, ...], Any], key: tuple[object, ...], value: object) -> None:
    table[key] = value
    while len(table) > _KEPT:
        table.popitem(last=False)

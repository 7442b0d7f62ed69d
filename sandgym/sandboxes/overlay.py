"""The ``overlay`` backend: a layer of changed files over a read-only image.

Invariant: the overlay is mounted only while a command runs, in the command's own mount
namespace. Between commands a sandbox is a folder, its upper layer, over a chain of frozen
layers; so a snapshot renames that folder, and a restore or a fork starts an empty one.
"""

from __future__ import annotations

import collections
import functools
import itertools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sandgym.core import SandboxError
from sandgym.sandboxes import isolation, layers
from sandgym.sandboxes.base import CommandResult, FolderImage, Limits, SandboxLost, typed_errors
from sandgym.sandboxes.hosted import HostedSandbox
from sandgym.sandboxes.layers import Layer
from sandgym.sandboxes.reaper import discard, process_folder, remove_with
from sandgym.sandboxes.snapshots import Changes, SandboxSnapshot, check_restorable
from sandgym.sandboxes.tree import HOME_MODE, TMP_MODE, ImageTree, copy_tree, tree_of

_KEPT = 16  # bases of images that no sandbox uses any more
_LEAST_ROOM = 64 << 20  # bytes that a command may always use


class OverlaySnapshot(SandboxSnapshot):
    """A chain of frozen layers; none where nothing has changed."""

    def __init__(
        self, image: str, cwd: str, variables: Mapping[str, str], top: Layer | None, tree: ImageTree | None
    ) -> None:
        super().__init__(image, cwd, variables)
        self.top = top
        self._tree = tree

    @property
    def changes(self) -> Changes:
        """Every path whose kind, mode or content differs from the image; computed on first use."""
        return self.top.changes(self._tree) if self.top else {}

    @property
    def bytes(self) -> int:
        """Size of the layers, which snapshots share with those that they were made after."""
        return self.top.bytes if self.top else 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpickled, (self.image, self.cwd, self.variables, self.top, self.digest, dict(self.changes)))


def _unpickled(
    image: str, cwd: str, variables: dict[str, str], top: Layer | None, digest: str, changes: Changes
) -> OverlaySnapshot:
    snapshot = OverlaySnapshot(image, cwd, variables, top, None)
    snapshot._digest = digest
    if top is not None:
        top.know(changes)
    return snapshot


@functools.cache
def problem() -> str | None:
    """Why the backend does not work here; None where it does."""
    if reason := isolation.problem():
        return reason
    with tempfile.TemporaryDirectory(dir=process_folder()) as name:
        folder = Path(name)
        (folder / "image").mkdir()
        (folder / "image" / "below").write_text("below")
        try:
            with OverlaySandbox(FolderImage(folder / "image"), Limits(timeout=20.0)) as sandbox:
                result = sandbox.run("cat below && rm below && mkdir below")
                changes = sandbox.changes()
        except (SandboxError, OSError) as error:
            where = f"overlays cannot be mounted in {process_folder().parent}"
            return f"{where} (set SANDGYM_SANDBOXES to a folder on ext4, xfs or tmpfs): {error}"
    works = result.output == "below" and list(changes) == ["/testbed/below"]
    return None if works else f"an overlay does not do what it should: {result.output!r}, {changes}"


class _Base:
    """The image as the lowest layer: a copy that belongs to the agent's user."""

    def __init__(self, image: FolderImage) -> None:
        folder = process_folder() / "bases"
        folder.mkdir(exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix="base-", dir=folder))
        self.path.chmod(0o755)
        remove_with(self, self.path)
        copy_tree(image.root, self.path / "work", isolation.give_to_agent)
        for part, mode in (("home", HOME_MODE), ("tmp", TMP_MODE)):
            (self.path / part).mkdir()
            (self.path / part).chmod(mode)
            isolation.give_to_agent(self.path / part)


_BASES: collections.OrderedDict[tuple[int, str], _Base] = collections.OrderedDict()


def _base_of(image: FolderImage, tree: ImageTree) -> _Base:
    """The base of an image, copied unless this process still has it."""
    key = (os.getpid(), tree.identity)
    base = _BASES.get(key)
    if base is None or not base.path.is_dir():
        base = _BASES[key] = _Base(image)
    _BASES.move_to_end(key)
    while len(_BASES) > _KEPT:
        _BASES.popitem(last=False)
    return base


class OverlaySandbox(HostedSandbox):
    """See the module."""

    backend = "overlay"
    image: FolderImage

    @typed_errors()
    def __init__(self, image: FolderImage, limits: Limits | None = None, network: bool = False) -> None:
        self.image, self.limits, self.network = image, limits or Limits(), network
        self.cwd = image.workdir
        self.variables = isolation.first_variables(image)
        self._tree = tree_of(image)
        self._base = _base_of(image, self._tree)
        self._top: Layer | None = None
        self._works = itertools.count()
        self._folder = Path(tempfile.mkdtemp(prefix="overlay-", dir=process_folder()))
        self._remover = remove_with(self, self._folder)
        self._upper = self._folder / "upper"
        self._upper.mkdir()

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """See the base class."""
        self._check_alive()
        work = self._folder / f"work-{next(self._works)}"  # a volatile overlay refuses one that was used
        work.mkdir()
        used = self._top.bytes if self._top else 0
        view = isolation.View(
            self._upper,
            self._tree.places.inside,
            lowers=tuple(self._layers()[1:]),
            work=work,
            image_bytes=-min(used, max(0, self.limits.disk_bytes - _LEAST_ROOM)),
        )
        try:
            result, state = isolation.execute(
                view,
                self.image,
                command,
                cwd=self.cwd,
                variables=self.variables,
                limits=self.limits,
                network=self.network,
                timeout=timeout,
            )
        finally:
            discard(work)
        if state is not None:
            self.cwd, self.variables = state
        return result

    @typed_errors()
    def snapshot(self) -> OverlaySnapshot:
        """See the base class."""
        self._check_alive()
        with os.scandir(self._upper) as items:
            changed = next(items, None) is not None
        if changed:
            self._top = layers.freeze(self._upper, self._top)
            self._upper.mkdir()
        return OverlaySnapshot(self._tree.identity, self.cwd, self.variables, self._top, self._tree)

    @typed_errors()
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """See the base class."""
        self._check_alive()
        check_restorable(snapshot, OverlaySnapshot, self._tree.identity)
        assert isinstance(snapshot, OverlaySnapshot)
        if any(not layer.path.is_dir() for layer in (snapshot.top.chain() if snapshot.top else ())):
            raise SandboxLost(f"{snapshot!r} is gone with the process that made it")
        discard(self._upper)
        self._upper.mkdir()
        self._top = snapshot.top
        self.cwd, self.variables = snapshot.cwd, dict(snapshot.variables)

    def _another(self) -> Self:
        return type(self)(self.image, self.limits, self.network)

    @typed_errors()
    def changes(self) -> Changes:
        """See the base class."""
        self._check_alive()
        return layers.changes_of(self._tree, self._top, self._upper)

    def close(self) -> None:
        """See the base class."""
        self._remover()

    def _layers(self) -> list[Path]:
        chain = [layer.path for layer in self._top.chain()] if self._top else []
        return [self._upper, *chain, self._base.path]

    def _locate(self, path: str) -> Path | None:
        return layers.locate(self._layers(), self._in_layer(path))

    def _in_image(self, path: str) -> bool:
        return path in self._tree.entries

    def _put(self, path: str, data: bytes, mode: int) -> None:
        self._check_alive()
        layers.put(self._layers(), self._in_layer(path), data, mode)

    def _in_layer(self, path: str) -> str:
        return "/".join(filter(None, self._tree.places.split(path)))

    def _check_alive(self) -> None:
        for path in self._layers():
            if not path.is_dir():
                raise SandboxLost(f"{path} of the sandbox was closed or removed")

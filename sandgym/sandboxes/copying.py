"""The ``copy`` backend: every sandbox is a copy of the image; snapshots keep what changed.

Invariant: no two sandboxes share a copy, and what happened in one that is closed is not seen in the next one that
gets its copy. Snapshots share blobs, which are files named after their SHA-256 and never written again.

Hard links become files of their own, and sockets are not kept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sandgym.sandboxes import isolation, spares, unconfined
from sandgym.sandboxes.base import CommandResult, FolderImage, Limits, SandboxLost, Unconfinable, typed_errors
from sandgym.sandboxes.copies import Copy, Saved, own
from sandgym.sandboxes.hosted import HostedSandbox
from sandgym.sandboxes.snapshots import Changes, SandboxSnapshot, check_restorable
from sandgym.sandboxes.tree import PARTS, tree_of


class CopyingSnapshot(SandboxSnapshot):
    """Changed paths and the blobs of their content."""

    def __init__(self, image: str, cwd: str, variables: Mapping[str, str], saved: Mapping[str, Saved]) -> None:
        super().__init__(image, cwd, variables)
        self.saved = dict(saved)

    @property
    def changes(self) -> Changes:
        """Every path whose kind, mode or content differs from the image."""
        return {path: item.entry for path, item in self.saved.items()}

    @property
    def bytes(self) -> int:
        """Size of the blobs, of which snapshots that have the same share one."""
        return sum({item.blob.digest: item.blob.size for item in self.saved.values() if item.blob}.values())

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.image, self.cwd, self.variables, self.saved))


def problem() -> str | None:
    """Why the backend does not work here; None where it does."""
    return isolation.problem()


class CopyingSandbox(HostedSandbox):
    """See the module. ``unconfined`` allows commands to run without namespaces where there are none."""

    backend = "copy"
    image: FolderImage

    @typed_errors()
    def __init__(
        self, image: FolderImage, limits: Limits | None = None, network: bool = False, *, unconfined: bool = False
    ) -> None:
        self.image, self.limits, self.network, self._unconfined = image, limits or Limits(), network, unconfined
        self.cwd = image.workdir
        self.variables = isolation.first_variables(image)
        self._tree = tree_of(image)
        self._held: Copy | None = spares.take(self._tree)
        self._commands: set[object] = set()  # that may still run

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """See the base class.

        Raises:
            Unconfinable: commands cannot be confined here, and running them unconfined was not allowed.
        """
        copy = self._copy
        if (reason := isolation.problem()) is None:
            execute = isolation.execute
        elif self._unconfined:
            execute = unconfined.execute
        else:
            raise Unconfinable(
                f"commands cannot be confined here ({reason}); unconfined=True runs them as this process's user, "
                "who may change any of its files"
            )
        this = object()
        self._commands.add(this)
        copy.touch()
        view = isolation.View(copy.folder, self._tree.places.inside, image_bytes=self._tree.bytes)
        result, state = execute(
            view,
            self.image,
            command,
            cwd=self.cwd,
            variables=self.variables,
            limits=self.limits,
            network=self.network,
            timeout=timeout,
        )
        if execute is isolation.execute:  # then none of its processes is left
            self._commands.discard(this)
        if state is not None:
            self.cwd, self.variables = state
        return result

    @typed_errors()
    def snapshot(self) -> CopyingSnapshot:
        """See the base class."""
        copy = self._copy
        copy.look()
        return CopyingSnapshot(self._tree.identity, self.cwd, self.variables, copy.changed)

    @typed_errors()
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """See the base class."""
        copy = self._copy
        check_restorable(snapshot, CopyingSnapshot, self._tree.identity)
        assert isinstance(snapshot, CopyingSnapshot)
        for item in snapshot.saved.values():
            if item.blob is not None and not item.blob.path.exists():
                raise SandboxLost(f"{snapshot!r} is gone with the process that made it")
        copy.bring_to(snapshot.saved)
        self.cwd, self.variables = snapshot.cwd, dict(snapshot.variables)

    def _another(self) -> Self:
        return type(self)(self.image, self.limits, self.network, unconfined=self._unconfined)

    @typed_errors()
    def changes(self) -> Changes:
        """See the base class."""
        copy = self._copy
        copy.look()
        return {path: item.entry for path, item in copy.changed.items()}

    def close(self) -> None:
        """See the base class; what is left of the sandbox may serve the next one of its image."""
        copy, self._held = self._held, None
        if copy is None:
            return
        if self._commands:
            copy.remove()
        else:
            spares.give(copy)

    def _locate(self, path: str) -> Path | None:
        host = self._copy.host(path)
        return Path(host) if os.path.lexists(host) else None

    def _in_image(self, path: str) -> bool:
        return path in self._tree.entries

    def _put(self, path: str, data: bytes, mode: int) -> None:
        copy = self._copy
        copy.touch()
        host = Path(copy.host(path))
        for folder in reversed(host.relative_to(copy.folder).parents[:-1]):
            here = copy.folder / folder
            if not here.is_dir():
                here.mkdir(mode=0o755)
                own(here)
        host.unlink(missing_ok=True)
        host.write_bytes(data)
        own(host)
        host.chmod(mode)

    @property
    def _folder(self) -> Path:
        return self._copy.folder

    @property
    def _copy(self) -> Copy:
        """The sandbox's own copy.

        Raises:
            SandboxLost: there is none.
        """
        copy = self._held
        if copy is None or not (copy.folder / PARTS[0]).is_dir():
            raise SandboxLost(f"the sandbox{f' in {copy.folder}' if copy else ''} was closed or removed")
        return copy

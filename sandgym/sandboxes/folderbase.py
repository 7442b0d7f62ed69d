"""A folder of this machine as what sandboxes of the Docker engine start from.

Invariant: the engine has a copy of the folder alone; programs and libraries are those of this
machine, which containers can read and not change.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from sandgym.core import SandboxError
from sandgym.sandboxes import isolation
from sandgym.sandboxes.base import FolderImage
from sandgym.sandboxes.bases import Base, bind
from sandgym.sandboxes.confined import bundle
from sandgym.sandboxes.confined.agreed import USER
from sandgym.sandboxes.confined.root import SYSTEM
from sandgym.sandboxes.container import Housing, sources
from sandgym.sandboxes.engine import OWNER, Stored, api, engine_errors
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.reaper import owner_label, process_folder
from sandgym.sandboxes.rootfs import write_rootfs
from sandgym.sandboxes.snapshots import Entry
from sandgym.sandboxes.tree import ImageTree

_PYTHON = "/run/python"  # where this interpreter appears, when it is not among the system's programs


class FolderBase(Base):
    """A folder of this machine, as an image. The engine must see this machine's files, so it must run here.

    Args:
        image: the folder, and the files beside it.
        tree: content of the folder.
        stored: its image in the engine.
    """

    def __init__(self, image: FolderImage, tree: ImageTree, stored: Stored) -> None:
        super().__init__()
        self.stored, self.identity, self.layers = stored, tree.identity, 1
        self._tree = tree
        self.variables = isolation.first_variables(image)
        programs, mounts, variables = _interpreter()
        shown = {f"/{name}": Path(f"/{name}") for name in SYSTEM if name != "etc" and Path(f"/{name}").is_dir()
                 and not Path(f"/{name}").is_symlink()}  # fmt: skip
        shown.update(image.mounts)
        shown.update(mounts)
        covered = [path for path in isolation.covered(shown) if Path(_host(path, shown)).is_dir()]
        packages = f"lib/python3.{sys.version_info.minor}/site-packages"  # nobody needs those of this program
        covered += [f"{inside}/{packages}" for inside, host in mounts.items() if (host / packages).is_dir()]
        self.housing = Housing(
            python=programs,
            user=f"{USER}:{USER}",
            mounts=tuple(
                bind(inside, host)
                for inside, host in shown.items()
                if not any(within(inside, path) for path in covered)
            ),
            covered=tuple(covered),
            variables=variables,
            compiled=_compiled(),
        )

    def has(self, path: str) -> bool:
        """See the base class."""
        return any(within(path, top) for top in self._tree.places.inside.values())

    def ask(self, paths: Iterable[str]) -> None:
        """See the base class; all is known."""

    def entry(self, path: str) -> Entry | None:
        """See the base class."""
        return self._tree.entry(path)

    def children(self, path: str) -> Sequence[str]:
        """See the base class."""
        return self._tree.children(path)


@functools.cache
def _compiled() -> bytes:
    """The program of first processes that run with this interpreter."""
    return bundle.compiled(sources())


def _host(path: str, shown: dict[str, Path]) -> str:
    """Where this machine has what is shown at a path."""
    top = max((inside for inside in shown if within(path, inside)), key=len)
    return str(shown[top]) + path[len(top) :]


def _interpreter() -> tuple[tuple[str, ...], dict[str, Path], dict[str, str]]:
    """This interpreter inside: its command, what has to be shown for it, and its variables."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"bin/python3.{sys.version_info.minor}"
    if any(within(str(prefix), f"/{top}") for top in SYSTEM):
        return (f"{prefix}/{name}",), {}, {}
    return (f"{_PYTHON}/{name}",), {_PYTHON: prefix}, {"LD_LIBRARY_PATH": f"{_PYTHON}/lib"}


def import_folder(image: FolderImage, tree: ImageTree) -> Stored:
    """An image in the engine with the content of a folder."""
    with tempfile.TemporaryFile(dir=process_folder()) as archive:
        write_rootfs(archive, image, tree)
        archive.seek(0)
        with engine_errors():
            said = api().import_image_from_data(archive, changes=[f"LABEL {OWNER}={owner_label()}"])
    status = [line for line in said.splitlines() if "sha256:" in line]
    if not status:
        raise SandboxError(f"the Docker engine did not take the image: {said.strip()}")
    return Stored("sha256:" + status[-1].rpartition("sha256:")[2].rstrip('"}'), None, 0)

"""What a sandbox starts from.

Invariant: an image is never written to.
"""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandgym.sandboxes.paths import within

HOME = "/home/agent"
TMP = "/tmp"
_OWN = (HOME, TMP, "/proc", "/dev", "/run")


@dataclasses.dataclass(frozen=True, eq=False)
class FolderImage:
    """A folder of this machine whose content appears at ``workdir``.

    Around it, the programs and libraries of this machine can be read. The folder must not
    change while sandboxes of the image live; it is never written to.

    Attributes:
        root: the folder.
        workdir: where it appears; also the working folder at the start.
        env: exported variables at the start, beside HOME, PATH and the like.
        mounts: further folders or files that can be read: path inside to path on this machine.
    """

    root: Path
    workdir: str = "/testbed"
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mounts: Mapping[str, Path] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_place(self.workdir, _OWN)
        for inside in self.mounts:
            _check_place(inside, (*_OWN, self.workdir))


def _check_place(inside: str, taken: Iterable[str]) -> None:
    if posixpath.normpath(inside) != inside or not inside.startswith("/") or inside == "/":
        raise ValueError(f"{inside!r} is no absolute, normal path inside a sandbox")
    if any(within(inside, top) or within(top, inside) for top in taken):
        raise ValueError(f"{inside!r} is taken inside a sandbox; show it elsewhere")


@dataclasses.dataclass(frozen=True, eq=False)
class DockerImage:
    """An image of a Docker engine, for the docker backend only.

    Attributes:
        name: as ``docker pull`` takes it.
        workdir: the repository in it.
        env: exported variables at the start, beside the image's.
    """

    name: str
    workdir: str = "/testbed"
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)


Image = FolderImage | DockerImage

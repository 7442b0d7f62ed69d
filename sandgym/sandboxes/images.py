"""What a sandbox starts from.

Invariant: an image is never written to.
"""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Mapping
from pathlib import Path

from sandgym.sandboxes.paths import within

HOME = "/home/agent"
TMP = "/tmp"


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
        for inside in (self.workdir, *self.mounts):
            if posixpath.normpath(inside) != inside or not inside.startswith("/") or inside == "/":
                raise ValueError(f"{inside!r} is no absolute, normal path inside a sandbox")
        if any(within(self.workdir, taken) or within(taken, self.workdir) for taken in (HOME, TMP, "/proc", "/dev")):
            raise ValueError(f"{self.workdir!r} is taken; choose another workdir")


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

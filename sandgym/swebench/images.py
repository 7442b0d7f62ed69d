"""From a row to the image that its sandboxes start from.

Invariant: what an agent can see of an image is the repository as it was at the base commit, and
programs; never a later state of the repository, this project's data or the row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sandgym.core import SandboxError
from sandgym.sandboxes import DockerImage, FolderImage, Image
from sandgym.swebench import pythons
from sandgym.swebench.checkouts import write_once
from sandgym.swebench.rows import Row
from sandgym.swebench.variables import CONDA, VARIABLES, WORKDIR


class Images(Protocol):
    """Where images come from.

    Attributes:
        pristine: whether their repositories hold nothing but their base and what came before it.
    """

    pristine: bool

    def image(self, row: Row) -> Image:
        """The image of a row.

        Raises:
            SandboxError: there is none, with what to do.
        """


class DockerImages:
    """The published Docker images."""

    pristine = False

    def __init__(self) -> None:
        self._known: dict[str, DockerImage] = {}

    def image(self, row: Row) -> Image:
        """See ``Images``; the same object for the same name."""
        return self._known.setdefault(row.image_name, DockerImage(row.image_name, WORKDIR, VARIABLES | CONDA))


class FolderImages:
    """Checkouts on this machine: a folder ``<instance id>`` for each row.

    A Python environment is in ``environment`` beside them (see ``pythons.make_environment``); where there is none,
    it is one with pytest alone.

    Args:
        folder: of the checkouts.
    """

    pristine = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, FolderImage] = {}

    def image(self, row: Row) -> Image:
        """See ``Images``; the same object for the same row."""
        if row.instance_id not in self._known:
            environment = self._folder / "environment"
            environment = environment if environment.is_dir() else pythons.test_environment()
            self._known[row.instance_id] = folder_image(self._checkout(row), environment)
        return self._known[row.instance_id]

    def _checkout(self, row: Row) -> Path:
        checkout = self._folder / row.instance_id
        if not (checkout / ".git").is_dir():
            raise SandboxError(f"there is no checkout of {row.instance_id} in {self._folder}")
        return checkout


class GeneratedImages(FolderImages):
    """Checkouts that are written when they are first needed.

    Args:
        folder: of the checkouts.
        materialise: writes the checkout of a row into a folder.
    """

    pristine = True

    def __init__(self, folder: Path, materialise: Callable[[Row, Path], object]) -> None:
        super().__init__(folder)
        self._materialise = materialise

    def _checkout(self, row: Row) -> Path:
        place = self._folder / f"{row.instance_id}-{row.hash[:12]}"
        return write_once(place, functools.partial(self._materialise, row))


def folder_image(checkout: Path, environment: Path) -> FolderImage:
    """The image of a checkout with a Python environment in which the checkout counts as installed."""
    return FolderImage(checkout, WORKDIR, {**VARIABLES, **pythons.variables()}, pythons.mounts(environment))

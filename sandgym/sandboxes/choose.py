"""Which backend keeps the files of a sandbox.

Invariant: a backend is offered only after it worked on this machine.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from sandgym.core import SandboxError, reject_unknown
from sandgym.sandboxes import reaper
from sandgym.sandboxes.base import DockerImage, FolderImage, Image, Limits, Sandbox

# Name to module and class; in the order in which they are preferred.
BACKENDS = {
    "overlay": ("sandgym.sandboxes.overlay", "OverlaySandbox"),
    "copy": ("sandgym.sandboxes.copying", "CopyingSandbox"),
    "docker": ("sandgym.sandboxes.dockerised", "DockerSandbox"),
}
_AUTOMATIC = {FolderImage: ("overlay", "copy"), DockerImage: ("docker",)}


def available() -> dict[str, str]:
    """Every backend, with ``ok`` or why it does not work on this machine."""
    return {backend: _problem(backend) or "ok" for backend in BACKENDS}


def open_sandbox(
    image: Image,
    backend: str = "auto",
    limits: Limits | None = None,
    network: bool = False,
    unconfined: bool = False,
) -> Sandbox:
    """A new sandbox of an image.

    Args:
        image: what it starts from.
        backend: ``overlay``, ``copy`` or ``docker``; ``auto`` is ``docker`` for an image of a Docker engine, and
            for a folder the first of the others that works.
        limits: of its commands; by default those of ``Limits()``.
        network: whether commands reach the network.
        unconfined: allow commands to run as this process's user with everything that it may
            do, where they cannot be confined; on the copy backend only. Never for commands
            of somebody whom you do not trust with your files.

    Raises:
        SandboxError: the backend does not work here, with the reason, or there is none for this kind of image.
        TypeError: unknown backend.
    """
    reject_unknown([backend], ("auto", *BACKENDS), "backend")
    known = _AUTOMATIC[type(image)]
    if backend == "auto":
        reasons = {each: _problem(each) for each in known}
        working = [each for each, reason in reasons.items() if reason is None]
        unconfined = unconfined and "copy" in known
        if not working and not unconfined:
            raise SandboxError("no backend works here: " + "; ".join(f"{k}: {v}" for k, v in reasons.items()))
        backend = working[0] if working else "copy"
    elif isinstance(image, DockerImage) and backend != "docker":
        raise SandboxError(f"the {backend} backend takes folders; {image.name} needs the docker backend")
    elif not (unconfined and backend == "copy") and (reason := _problem(backend)):
        raise SandboxError(f"the {backend} backend does not work here: {reason}")
    options: dict[str, Any] = {"unconfined": True} if unconfined and backend == "copy" else {}
    opened: Sandbox = _class(backend)(image, limits or Limits(), network, **options)
    return opened


def clean() -> list[str]:
    """Remove what sandboxes of dead processes left on this machine and in its Docker engine; says what was removed."""
    removed = reaper.clean()
    with contextlib.suppress(SandboxError, ModuleNotFoundError):  # no engine, nothing of ours in it
        removed += importlib.import_module("sandgym.sandboxes.engine").clean()
    return removed


def _class(backend: str) -> Any:
    module, name = BACKENDS[backend]
    return getattr(importlib.import_module(module), name)


def _problem(backend: str) -> str | None:
    """Why a backend does not work here; its module's ``problem()`` tries it."""
    reason: str | None = importlib.import_module(BACKENDS[backend][0]).problem()
    return reason

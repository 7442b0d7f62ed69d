"""Which backend keeps the files of a sandbox.

Invariant: a backend is offered only after it worked on this machine.
"""

from __future__ import annotations

import importlib
from typing import Any

from sandgym.core import SandboxError, reject_unknown
from sandgym.sandboxes.base import DockerImage, Image, Limits, Sandbox

# Name to module and class; in the order in which they are preferred.
BACKENDS = {
    "overlay": ("sandgym.sandboxes.overlay", "OverlaySandbox"),
    "copy": ("sandgym.sandboxes.copying", "CopyingSandbox"),
}


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
        backend: ``overlay`` or ``copy``; ``auto`` is the first that works.
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
    if isinstance(image, DockerImage):
        raise SandboxError(f"no backend takes the Docker image {image.name} yet; unpack it, and use a FolderImage")
    if backend == "auto":
        reasons = {each: _problem(each) for each in BACKENDS}
        working = [each for each, reason in reasons.items() if reason is None]
        if not working and not unconfined:
            raise SandboxError("no backend works here: " + "; ".join(f"{k}: {v}" for k, v in reasons.items()))
        backend = working[0] if working else "copy"
    elif not (unconfined and backend == "copy") and (reason := _problem(backend)):
        raise SandboxError(f"the {backend} backend does not work here: {reason}")
    options: dict[str, Any] = {"unconfined": True} if unconfined and backend == "copy" else {}
    opened: Sandbox = _class(backend)(image, limits or Limits(), network, **options)
    return opened


def _class(backend: str) -> Any:
    module, name = BACKENDS[backend]
    return getattr(importlib.import_module(module), name)


def _problem(backend: str) -> str | None:
    """Why a backend does not work here; its module's ``problem()`` tries it."""
    reason: str | None = importlib.import_module(BACKENDS[backend][0]).problem()
    return reason

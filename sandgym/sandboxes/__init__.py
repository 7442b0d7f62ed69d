"""File-system sandboxes that commands run in, and that can be saved, restored and forked.

Usable alone: ``open_sandbox(FolderImage(folder))``. Importing this package imports no backend.
"""

from sandgym.sandboxes.base import (
    CommandResult,
    DockerImage,
    FolderImage,
    Image,
    Limits,
    Sandbox,
    SandboxLost,
    Unconfinable,
)
from sandgym.sandboxes.choose import available, open_sandbox
from sandgym.sandboxes.snapshots import SandboxSnapshot

__all__ = [
    "CommandResult",
    "DockerImage",
    "FolderImage",
    "Image",
    "Limits",
    "Sandbox",
    "SandboxLost",
    "SandboxSnapshot",
    "Unconfinable",
    "available",
    "open_sandbox",
]

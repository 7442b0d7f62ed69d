"""Generated data that comes with the package, written into the data root when it is first used.

Invariant: a folder of generated data is whole and has the pinned content, or it is not
there; processes that start at once do no harm to each other, and one of them wins.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandgym.core import SandboxError


def content_hash(folder: Path) -> str:
    """SHA-256 (hexadecimal) of the relative names and the bytes of all files below a folder."""
    digest = hashlib.sha256()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name, path in sorted(files.items()):
        content = path.read_bytes()
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()


def ensure(name: str, version: int, sha256: str, write: Callable[[Path], object]) -> Path:
    """The folder of a generated data set in the data root; written on first use.

    Args:
        name: of the environment, such as ``"webshop"``.
        version: of the generator.
        sha256: ``content_hash`` that the data must have.
        write: writes the data into a folder.

    Raises:
        SandboxError: the data root cannot be written to, or the data has another hash.
    """
    from sandgym.data import data_root

    target = Path(data_root()) / name / f"bundled-v{version}-{sha256[:12]}"
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".bundled-", dir=target.parent))
    except OSError as error:
        raise SandboxError(
            f"cannot write the bundled {name} data to {target.parent}: {error}; "
            "set SANDGYM_DATA to a folder that can be written to"
        ) from error
    try:
        write(temporary)
        if (found := content_hash(temporary)) != sha256:
            raise SandboxError(f"the generated {name} data has hash {found}, not {sha256}")
        temporary.chmod(0o755)
        with contextlib.suppress(OSError):  # another process was first
            os.rename(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target

"""A small root file system out of this machine's programs, as an image of the Docker engine: no registry is needed."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandgym.sandboxes.engine import OWNER, api
from sandgym.sandboxes.reaper import owner_label

PROGRAMS = (
    *("bash", "sh", "ls", "cat", "rm", "mkdir", "rmdir", "ln", "cp", "mv", "chmod", "chown", "touch", "find", "sort"),
    *("sha256sum", "stat", "head", "tail", "tr", "seq", "sleep", "grep", "sed", "id", "env", "xargs", "tar", "comm"),
    *("git", "printf", "test", "true", "false", "cut", "uniq", "wc", "dirname", "mkfifo", "echo", "pwd", "rev"),
)
_LEFT_OUT = {
    "test",
    "tests",
    "site-packages",
    "idlelib",
    "ensurepip",
    "lib2to3",
    "tkinter",
    "__pycache__",
    "turtledemo",
}
PYTHON = f"/usr/local/bin/python3.{sys.version_info.minor}"


def libraries(programs: Iterable[Path]) -> set[Path]:
    """Shared libraries and loaders that programs need."""
    said = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True, check=False).stdout
    return {Path(found) for found in re.findall(r"(/\S+) \(0x", said)}


def build(name: str, files: Mapping[str, str] = {}, folders: Mapping[str, Path] = {}, **options: str) -> str:
    """An image with programs, Python in ``/usr/local``, and what is given; returns its name.

    Args:
        name: of the image.
        files: path to text.
        folders: path to a folder of this machine whose content appears there.
        options: of ``docker import``: ``platform``, and instructions such as ``user``.
    """
    programs = [Path(found) for each in PROGRAMS if (found := shutil.which(each))]
    stdlib = Path(sysconfig.get_path("stdlib"))
    extensions = list((stdlib / "lib-dynload").glob("*.so"))
    python = Path(sys.executable).resolve()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:

        def add(source: Path, target: str) -> None:
            tar.add(source.resolve(), target, filter=_of_root, recursive=False)

        for folder in ("tmp", "root", "proc", "sys", "dev", "run", "var"):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(member)
        for program in programs:
            add(program, f"usr/bin/{program.name}")
        for library in libraries([*programs, python, *extensions]):
            add(library, str(library).lstrip("/"))
        add(python, PYTHON.lstrip("/"))
        for link in ("python", "python3"):
            member = tarfile.TarInfo(f"usr/local/bin/{link}")
            member.type, member.linkname = tarfile.SYMTYPE, os.path.basename(PYTHON)
            tar.addfile(member)
        tar.add(stdlib, f"usr/local/lib/{stdlib.name}", filter=_slim)
        for path, folder in folders.items():
            tar.add(folder, path.lstrip("/"), filter=_of_root)
        for path, text in {"etc/passwd": "root:x:0:0:root:/root:/bin/bash\n", "bin": "", **files}.items():
            member = tarfile.TarInfo(path.lstrip("/"))
            member.mode, member.size = 0o755 if text.startswith("#!") else 0o644, len(text)
            if path == "bin":
                member.type, member.linkname, member.size = tarfile.SYMTYPE, "usr/bin", 0
            tar.addfile(member, io.BytesIO(text.encode()))
    buffer.seek(0)
    instructions = [f"{word.upper()} {value}" for word, value in options.items()]
    instructions += [f"LABEL {OWNER}={owner_label()}", "ENV IMAGE=own", "ENV PATH=/usr/local/bin:/usr/bin:/bin"]
    api().import_image_from_data(buffer, repository=name, tag="latest", changes=instructions)
    return f"{name}:latest"


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _slim(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = os.path.basename(member.name)
    return None if name in _LEFT_OUT or name.startswith("config-3") else _of_root(member)

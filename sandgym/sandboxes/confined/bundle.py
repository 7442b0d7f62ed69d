"""An interpreter to run the first process with, copied out of an image before anybody could change it.

Invariant: what is copied is what this very process runs with, so it suffices for another one
that does the same; no file of the container is needed beside it.
"""

from __future__ import annotations

import importlib
import json
import marshal
import os
import shutil
import sys

_LIBRARIES = "libraries"


def write(folder: str) -> list[str]:
    """Copy interpreter, modules and shared libraries into a folder; the command that starts the interpreter there."""
    for later in ("hashlib", "tarfile", "traceback"):  # modules that a first process imports when it needs them
        importlib.import_module(later)
    prefix = os.path.realpath(sys.base_prefix)
    program = os.path.realpath(sys.executable)
    for source in _modules():
        below = os.path.relpath(os.path.realpath(source), prefix)
        if not below.startswith(".."):
            _copy(source, f"{folder}/{below}")
    stdlib = os.path.relpath(os.path.dirname(os.path.realpath(str(os.__file__))), prefix)
    os.makedirs(f"{folder}/{stdlib}/lib-dynload", exist_ok=True)
    loader = ""
    for source in _mapped():
        name = os.path.basename(source)
        _copy(source, f"{folder}/{_LIBRARIES}/{name}")
        loader = name if name.startswith("ld-") else loader
    copied = f"{folder}/bin/{os.path.basename(program)}"
    _copy(program, copied)
    libraries = f"{folder}/{_LIBRARIES}"
    return [f"{libraries}/{loader}", "--library-path", libraries, copied] if loader else [copied]


def compiled(sources: bytes) -> bytes:
    """Names and sources of modules, in JSON, with the sources compiled."""
    return marshal.dumps([(name, compile(text, f"{name}.py", "exec")) for name, text in json.loads(sources)])


def _modules() -> list[str]:
    """Files of the modules that are loaded, compiled ones too."""
    found = set()
    for module in list(sys.modules.values()):
        for place in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
            if place and os.path.isfile(place):
                found.add(place)
    return sorted(found)


def _mapped() -> list[str]:
    """Shared libraries and loader of this process, by the names under which they are asked for."""
    paths = set()
    with open("/proc/self/maps") as table:
        for line in table:
            fields = line.split(None, 5)
            if len(fields) == 6 and fields[5].startswith("/") and os.path.isfile(fields[5].strip()):
                paths.add(fields[5].strip())
    paths = {path for path in paths if ".so" in os.path.basename(path) and "lib-dynload" not in path}
    for folder in {os.path.dirname(path) for path in paths}:  # links to them have the names
        for item in os.scandir(folder):
            if ".so" in item.name and item.is_symlink() and os.path.realpath(item.path) in paths:
                paths.add(item.path)
    return sorted(paths)


def _copy(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(source, target)

"""An image of the Docker engine, which may have to get it, as what sandboxes start from.

Invariant: the first process of its containers runs with a copy of the image's interpreter in a
volume that containers can read only. The copy was made before any command ran.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from sandgym.core import SandboxError
from sandgym.sandboxes import isolation
from sandgym.sandboxes.base import DockerImage
from sandgym.sandboxes.bases import FEW, MEMORY, Base
from sandgym.sandboxes.confined.agreed import STATE
from sandgym.sandboxes.container import Container, Housing, sources
from sandgym.sandboxes.engine import (
    OWNER,
    ImageMissing,
    Stored,
    WrongArchitecture,
    api,
    engine_errors,
    pull,
    remove_with,
)
from sandgym.sandboxes.paths import within
from sandgym.sandboxes.reaper import owner_label
from sandgym.sandboxes.snapshots import Entry
from sandgym.sandboxes.written import entry_from

_BUNDLE = "/run/sandgym"  # where the interpreter of the first process is, in images that bring their own
_ENGINES = ("/proc", "/sys", "/dev", STATE, _BUNDLE, "/.dockerenv", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
# Of a user who is root: chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service.
_ROOTS = (0, 1, 3, 4, 5, 6, 7, 10)
_FIND_PYTHON = """
for each in /usr/bin/python3 /usr/local/bin/python3 /opt/miniconda3/bin/python3 "$(command -v python3)"; do
  "$each" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && exec "$each" "$@"
done
echo "the image has no Python 3.8 or later" >&2
exit 1
"""


class PulledBase(Base):
    """An image that the engine has, or gets.

    Args:
        image: its name.

    Raises:
        SandboxError: it cannot be had or used; the type says why.
    """

    def __init__(self, image: DockerImage) -> None:
        super().__init__()
        facts = _inspect(image.name)
        config = facts["Config"]
        if config.get("Volumes"):
            raise SandboxError(f"{image.name} declares volumes, whose content no snapshot has: {config['Volumes']}")
        self.identity, self.layers = facts["Id"], len(facts["RootFS"]["Layers"])
        self.stored = Stored(facts["Id"], None, 0, owned=False)
        self._entries: dict[str, Entry | None] = {}
        self._children: dict[str, list[str]] = {}
        user = config.get("User") or "0"
        volume = uuid.uuid4().hex
        with engine_errors():
            api().create_volume(volume, labels={OWNER: owner_label()})
        remove_with(self, "volume", volume)
        mount = {"Type": "volume", "Source": volume, "Target": _BUNDLE}
        finding = Housing(("bash", "-c", _FIND_PYTHON, "bash"), user, mounts=(mount,))
        try:
            first = Container(self.stored.id, finding, MEMORY, FEW, network=False)
        except SandboxError as error:
            if facts["Architecture"] != (here := api().version()["Arch"]):
                raise WrongArchitecture(f"{image.name} is for {facts['Architecture']}, the engine {here}") from error
            raise
        try:
            told, _ = first.ask("bundle", folder=_BUNDLE)
            _, compiled = first.ask("compile", body=sources())
        finally:
            first.close()
        who = first.facts
        keep = _ROOTS if who["uid"] == 0 else ()
        mounts = ({**mount, "ReadOnly": True},)
        self.housing = Housing(tuple(told["command"]), user, keep, mounts, compiled=compiled)
        self.variables = {
            "HOME": who["home"],
            "USER": who["name"],
            "LOGNAME": who["name"],
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "PATH": isolation.PATH,
            **dict(item.split("=", 1) for item in config.get("Env") or () if "=" in item),
            **image.env,
        }

    def has(self, path: str) -> bool:
        """See the base class."""
        return not any(within(path, each) for each in _ENGINES)

    def ask(self, paths: Iterable[str]) -> None:
        """See the base class."""
        with self._lock:
            unknown = sorted({path for path in paths if path not in self._entries})
            if unknown:
                told, _ = self.helper().ask("look", paths=unknown)
                found = {path: entry_from(each) for path, each in told["found"]}
                self._entries.update({path: found.get(path) for path in unknown})

    def entry(self, path: str) -> Entry | None:
        """See the base class."""
        self.ask([path])
        return self._entries[path]

    def children(self, path: str) -> Sequence[str]:
        """See the base class."""
        with self._lock:
            if path not in self._children:
                told, _ = self.helper().ask("walk", path=path)
                self._children[path] = []
                for below in told["paths"]:
                    self._children.setdefault(below, [])
                for below in told["paths"]:
                    self._children[os.path.dirname(below)].append(below)
            return self._children[path]


def _inspect(name: str) -> dict[str, Any]:
    """What the engine knows of an image, which it gets where it has none."""
    for _ in range(2):
        try:
            with engine_errors():
                facts: dict[str, Any] = api().inspect_image(name)
                return facts
        except ImageMissing:
            pull(name)
    raise ImageMissing(f"the engine lost {name}")

"""What sandboxes of the Docker engine start from: an image there, and what is known of it.

Invariant: what a base says of its image was said before any command could change it. The
first process of every container runs with an interpreter that no command can write to.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import functools
import os
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandgym.core import SandboxError
from sandgym.sandboxes import isolation
from sandgym.sandboxes.base import DockerImage, Entry, FolderImage, Image
from sandgym.sandboxes.confined import bundle
from sandgym.sandboxes.confined.agreed import STATE, USER
from sandgym.sandboxes.confined.root import SYSTEM
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
from sandgym.sandboxes.reaper import owner_label, process_folder
from sandgym.sandboxes.rootfs import write_rootfs
from sandgym.sandboxes.tree import ImageTree, tree_of
from sandgym.sandboxes.written import LAYERS, Reader, entry_from, layers_folder

_KEPT = 16  # bases that no sandbox uses any more
_PYTHON = "/run/python"  # where this interpreter appears, when it is not among the system's programs
_BUNDLE = "/run/sandgym"  # where the interpreter of the first process is, in images that bring their own
_ENGINES = ("/proc", "/sys", "/dev", STATE, _BUNDLE, "/.dockerenv", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf")
# Of a user who is root: chown, dac_override, fowner, fsetid, kill, setgid, setuid, net_bind_service.
_ROOTS = (0, 1, 3, 4, 5, 6, 7, 10)
_MEMORY = 1 << 30  # bytes, of containers in which no command runs
_FEW = 16  # processes of them
_FIND_PYTHON = """
for each in /usr/bin/python3 /usr/local/bin/python3 /opt/miniconda3/bin/python3 "$(command -v python3)"; do
  "$each" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && exec "$each" "$@"
done
echo "the image has no Python 3.8 or later" >&2
exit 1
"""


class Base(abc.ABC):
    """An image of the engine that sandboxes start from.

    Attributes:
        stored: the image.
        identity: of its content.
        layers: it has.
        housing: of its containers.
        variables: exported ones of the first command.
        reader: of the writable layers of its containers.
    """

    stored: Stored
    identity: str
    layers: int
    housing: Housing
    variables: dict[str, str]

    def __init__(self) -> None:
        self.reader = Reader(self.has, self.helper)
        self._helper: Container | None = None
        self._lock = threading.RLock()

    def helper(self) -> Container:
        """A container in which no command ever ran; it can read the layers of others."""
        with self._lock:
            if self._helper is None:
                housing = self.housing
                if (top := layers_folder()) is not None:
                    layers = _bind(LAYERS, Path(top))
                    housing = dataclasses.replace(housing, mounts=(*housing.mounts, layers), more=("SYS_ADMIN",))
                self._helper = Container(self.stored.id, housing, _MEMORY, _FEW, network=False)
            return self._helper

    @abc.abstractmethod
    def has(self, path: str) -> bool:
        """Whether a path is in the writable view."""

    @abc.abstractmethod
    def ask(self, paths: Iterable[str]) -> None:
        """Learn what the image has at paths, before it is asked for each."""

    @abc.abstractmethod
    def entry(self, path: str) -> Entry | None:
        """What the image has at a path."""

    @abc.abstractmethod
    def children(self, path: str) -> Sequence[str]:
        """Paths of what the image has directly below a folder."""


class FolderBase(Base):
    """A folder of this machine, as an image. The engine must see this machine's files, so it must run here.

    Args:
        image: the folder, and the files beside it.
        tree: content of the folder.
        stored: its image in the engine.
    """

    def __init__(self, image: FolderImage, tree: ImageTree, stored: Stored) -> None:
        super().__init__()
        self.stored, self.identity, self.layers = stored, tree.identity, 1
        self._tree = tree
        self.variables = isolation.first_variables(image)
        programs, mounts, variables = _interpreter()
        shown = {f"/{name}": Path(f"/{name}") for name in SYSTEM if name != "etc" and Path(f"/{name}").is_dir()
                 and not Path(f"/{name}").is_symlink()}  # fmt: skip
        shown |= image.mounts | mounts
        covered = [path for path in isolation.covered(shown) if Path(_host(path, shown)).is_dir()]
        packages = f"lib/python3.{sys.version_info.minor}/site-packages"  # nobody needs those of this program
        covered += [f"{inside}/{packages}" for inside, host in mounts.items() if (host / packages).is_dir()]
        self.housing = Housing(
            python=programs,
            user=f"{USER}:{USER}",
            mounts=tuple(
                _bind(inside, host)
                for inside, host in shown.items()
                if not any(within(inside, path) for path in covered)
            ),
            covered=tuple(covered),
            variables=variables,
            compiled=_compiled(),
        )

    def has(self, path: str) -> bool:
        """See the base class."""
        return any(within(path, top) for top in self._tree.places.inside.values())

    def ask(self, paths: Iterable[str]) -> None:
        """See the base class; all is known."""

    def entry(self, path: str) -> Entry | None:
        """See the base class."""
        return self._tree.entry(path)

    def children(self, path: str) -> Sequence[str]:
        """See the base class."""
        return self._tree.children(path)


@functools.cache
def _compiled() -> bytes:
    """The program of first processes that run with this interpreter."""
    return bundle.compiled(sources())


def _bind(inside: str, host: Path) -> dict[str, Any]:
    return {"Type": "bind", "Source": str(host.absolute()), "Target": inside, "ReadOnly": True}


def _host(path: str, shown: dict[str, Path]) -> str:
    """Where this machine has what is shown at a path."""
    top = max((inside for inside in shown if within(path, inside)), key=len)
    return str(shown[top]) + path[len(top) :]


def _interpreter() -> tuple[tuple[str, ...], dict[str, Path], dict[str, str]]:
    """This interpreter inside: its command, what has to be shown for it, and its variables."""
    prefix = Path(sys.base_prefix).resolve()
    name = f"bin/python3.{sys.version_info.minor}"
    if any(within(str(prefix), f"/{top}") for top in SYSTEM):
        return (f"{prefix}/{name}",), {}, {}
    return (f"{_PYTHON}/{name}",), {_PYTHON: prefix}, {"LD_LIBRARY_PATH": f"{_PYTHON}/lib"}


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
            first = Container(self.stored.id, finding, _MEMORY, _FEW, network=False)
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


_BASES: collections.OrderedDict[tuple[object, ...], Base] = collections.OrderedDict()
_FOLDERS: collections.OrderedDict[tuple[object, ...], Stored] = collections.OrderedDict()
_LOCK = threading.RLock()


def base_of(image: Image) -> Base:
    """The base of an image, made unless this process still has it.

    Raises:
        SandboxError: it cannot be made; the type says why.
    """
    engine = (os.getpid(), os.environ.get("DOCKER_HOST"))
    with _LOCK:
        if isinstance(image, FolderImage):
            tree = tree_of(image)
            key: tuple[object, ...] = (*engine, tree.identity, image.workdir, *_facts(image.mounts), *_facts(image.env))
        else:
            key = (*engine, image.name, *_facts(image.env))
        base = _kept(_BASES, key)
        if base is None:
            base = (
                PulledBase(image) if isinstance(image, DockerImage) else FolderBase(image, tree, _stored(image, tree))
            )
            _keep(_BASES, key, base)
        return base


def _stored(image: FolderImage, tree: ImageTree) -> Stored:
    """The image of a folder in the engine."""
    key = (os.getpid(), os.environ.get("DOCKER_HOST"), tree.identity)
    stored: Stored | None = _kept(_FOLDERS, key)
    if stored is None:
        stored = _imported(image, tree)
        _keep(_FOLDERS, key, stored)
    return stored


def _facts(table: Mapping[str, object]) -> list[tuple[str, str]]:
    return sorted((name, str(value)) for name, value in table.items())


def _kept(table: collections.OrderedDict[tuple[object, ...], Any], key: tuple[object, ...]) -> Any:
    if key in table:
        table.move_to_end(key)
    return table.get(key)


def _keep(table: collections.OrderedDict[tuple[object, ...], Any], key: tuple[object, ...], value: object) -> None:
    table[key] = value
    while len(table) > _KEPT:
        table.popitem(last=False)


def _imported(image: FolderImage, tree: ImageTree) -> Stored:
    """An image in the engine with the content of a folder."""
    with tempfile.TemporaryFile(dir=process_folder()) as archive:
        write_rootfs(archive, image, tree)
        archive.seek(0)
        with engine_errors():
            said = api().import_image_from_data(archive, changes=[f"LABEL {OWNER}={owner_label()}"])
    status = [line for line in said.splitlines() if "sha256:" in line]
    if not status:
        raise SandboxError(f"the Docker engine did not take the image: {said.strip()}")
    return Stored("sha256:" + status[-1].rpartition("sha256:")[2].rstrip('"}'), None, 0)

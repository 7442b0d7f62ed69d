"""The ``docker`` backend: a container for each sandbox; a snapshot is an image of what changed.

Invariant: a sandbox is its container's writable layer, on top of the image that the container
was made from. Nothing that a command can write to survives it outside that layer, so the image
that ``docker commit`` makes of it is the whole state. A container ends with its process.

Commands run as the image's user. Published images of SWE-bench expect root: their repository,
their Python and what their scripts edit belong to root. There commands are root inside the
container alone, without any capability over the machine; in the image of a folder they are a
user who may write to the folder, HOME and ``/tmp`` only, as on the other backends.

Hard links become files of their own where a chain of images is flattened, and a command's
process numbers depend on the commands before it.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Self

from sandgym.core import SandboxError
from sandgym.sandboxes import shell
from sandgym.sandboxes.base import CommandResult, FolderImage, Image, Limits, Sandbox, SandboxLost, typed_errors
from sandgym.sandboxes.bases import Base
from sandgym.sandboxes.confined.agreed import STATE
from sandgym.sandboxes.confined.output import CappedOutput
from sandgym.sandboxes.container import Container
from sandgym.sandboxes.dockerbases import base_of
from sandgym.sandboxes.engine import Stored, api, engine_errors
from sandgym.sandboxes.isolation import LONGEST_COMMAND
from sandgym.sandboxes.merging import merged
from sandgym.sandboxes.reaper import process_folder
from sandgym.sandboxes.snapshots import Changes, Entry, SandboxSnapshot, check_restorable
from sandgym.sandboxes.written import NOTHING, DiskWatch, entry_from

MOST_LAYERS = 100  # of an image; the engine takes somewhat more
_PATIENCE = 60.0  # seconds after a command's time in which its result has to come
_TOGETHER = 4  # containers that are started at the same time
_SLACK = 64 << 20  # bytes of memory that the container may have beside what is counted


class DockerSnapshot(SandboxSnapshot):
    """An image of the engine, and what differs from the one that the sandbox started from."""

    def __init__(self, image: str, cwd: str, variables: Mapping[str, str], stored: Stored, changes: Changes) -> None:
        super().__init__(image, cwd, variables)
        self.stored = stored
        self._changes = changes

    @property
    def changes(self) -> Changes:
        """Every path whose kind, mode or content differs from the image."""
        return self._changes

    @property
    def bytes(self) -> int:
        """Size of the layers, which snapshots share with those that they were made after."""
        return self.stored.bytes

    def __reduce__(self) -> tuple[Any, ...]:
        self.bytes  # noqa: B018  is asked for while the images are certain to be there
        return (type(self), (self.image, self.cwd, self.variables, self.stored, dict(self._changes)))


@functools.cache
def problem() -> str | None:
    """Why the backend does not work here; None where it does."""
    try:
        system = api().version()["Os"]
    except ModuleNotFoundError as error:
        return f'{error.name} is not installed: pip install "sandgym[docker]"'
    except SandboxError as error:
        return str(error)
    if system != "linux":
        return f"the Docker engine runs {system} containers"
    if not _is_here(api().base_url):
        return None  # folders of this machine cannot be shown to it, images can be used
    with tempfile.TemporaryDirectory(dir=process_folder()) as name:
        folder = Path(name)
        (folder / "below").write_text("below")
        try:
            with DockerSandbox(FolderImage(folder), Limits(timeout=20.0)) as sandbox:
                result = sandbox.run("cat below && rm below && mkdir below")
                changes = sandbox.changes()
        except (SandboxError, OSError) as error:
            return str(error)
    works = result.output == "below" and list(changes) == ["/testbed/below"]
    return None if works else f"a container does not do what it should: {result.output!r}, {changes}"


def _is_here(url: str) -> bool:
    return url.startswith(("http+docker", "unix", "http+unix"))


class DockerSandbox(Sandbox):
    """See the module. ``started`` False: it has no container before it is restored."""

    backend = "docker"

    @typed_errors()
    def __init__(
        self, image: Image, limits: Limits | None = None, network: bool = False, *, started: bool = True
    ) -> None:
        self.image, self.limits, self.network = image, limits or Limits(), network
        self._base: Base = base_of(image)
        self.cwd = image.workdir
        self.variables = dict(self._base.variables)
        self._container: Container | None = None
        self._closed = False
        self._start_from(DockerSnapshot(self._base.identity, self.cwd, self.variables, self._base.stored, {}), started)

    def _start_from(self, snapshot: DockerSnapshot, started: bool = True) -> None:
        """Be what a snapshot is, in a new container."""
        container = self._new_container(snapshot.stored) if started else None
        if self._container is not None:
            self._container.close()
        self._container = container
        self._under = snapshot
        self._saved: DockerSnapshot | None = snapshot  # the present state, as long as it is that
        self._changes: Changes = snapshot.changes
        self._written = NOTHING  # when it was looked at
        self._dirty = False

    def _new_container(self, stored: Stored) -> Container:
        memory = self.limits.memory_bytes + self.limits.memory_bytes // 4 + _SLACK
        return Container(stored.id, self._base.housing, memory, self.limits.processes, self.network)

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """See the base class."""
        container = self._alive()
        if refused := shell.refusal(command, LONGEST_COMMAND):
            return refused
        seconds = self.limits.timeout if timeout is None else timeout
        self._dirty = True
        with typed_errors():
            told, body = container.ask(
                "run",
                patience=seconds + _PATIENCE,
                look=DiskWatch(container.id, self.limits.disk_bytes, self._under.bytes).look,
                command=shell.sendable(command),
                prologue=shell.prologue(f"{STATE}/state"),
                cwd=self.cwd,
                fallback=self.image.workdir,
                env=self.variables,
                timeout=seconds,
                memory_bytes=self.limits.memory_bytes,
                file_bytes=self.limits.file_bytes,
                output_chars=self.limits.output_chars,
            )
        pieces = (body[: told["head"]], body[told["head"] :], told["cut"], told["left_out"])
        output = CappedOutput.of(self.limits.output_chars, pieces)
        if (state := shell.parse(told["state"].encode("latin-1"))) is not None:
            self.cwd, self.variables = state
        return shell.result(told["status"], told["ended"], told["background"], output)

    @typed_errors()
    def snapshot(self) -> DockerSnapshot:
        """See the base class."""
        self._look()
        if self._saved is None:
            self._saved = self._commit() if self._written.touched else self._under
        return DockerSnapshot(self._base.identity, self.cwd, self.variables, self._saved.stored, self._changes)

    @typed_errors()
    def restore(self, snapshot: SandboxSnapshot) -> None:
        """See the base class."""
        if self._closed:
            raise SandboxLost("the sandbox was closed")
        check_restorable(snapshot, DockerSnapshot, self._base.identity)
        assert isinstance(snapshot, DockerSnapshot)
        if not self._is_at(snapshot):
            self._start_from(snapshot)
        self.cwd, self.variables = snapshot.cwd, dict(snapshot.variables)

    def _is_at(self, snapshot: DockerSnapshot) -> bool:
        """Whether the container has just what the snapshot has, so that it need not be replaced."""
        if self._container is None:
            return False
        self._look()
        return self._saved is not None and self._saved.stored.id == snapshot.stored.id

    def _another(self) -> Self:
        return type(self)(self.image, self.limits, self.network, started=False)

    def _others_at(self, snapshot: SandboxSnapshot, k: int) -> Iterator[Self]:
        """See the base class; containers are started together."""
        with ThreadPoolExecutor(_TOGETHER) as pool:
            starting = [pool.submit(self.another_at, snapshot) for _ in range(k)]
            for each in as_completed(starting):
                yield each.result()

    @typed_errors()
    def changes(self) -> Changes:
        """See the base class."""
        self._look()
        return dict(self._changes)

    def close(self) -> None:
        """See the base class."""
        self._closed = True
        if getattr(self, "_container", None) is not None:
            assert self._container is not None
            self._container.close()

    def _alive(self) -> Container:
        if self._closed or self._container is None:
            raise SandboxLost("the sandbox was closed")
        self._container.check()
        return self._container

    def _look(self) -> None:
        """Learn what has changed, unless nothing happened since."""
        container = self._alive()
        if not self._dirty:
            return
        before, written = self._written, self._base.reader.read(container)
        if before.signature != written.signature or before.racy:
            self._saved = None
            self._base.ask(item.path for item in written.touched)
            self._changes = merged(self._base, self._under.changes, written.touched)
        self._written, self._dirty = written, False

    def _commit(self) -> DockerSnapshot:
        """An image of the container, with few layers."""
        under = self._under.stored
        if self._base.layers + under.depth + 1 > MOST_LAYERS:
            stored = self._flattened()
        else:
            stored = _committed(self._alive(), under)
        return DockerSnapshot(self._base.identity, self.cwd, self.variables, stored, self._changes)

    def _flattened(self) -> Stored:
        """An image of one layer on top of the base, with everything that has changed since."""
        source, target = self._alive(), self._new_container(self._base.stored)
        try:
            gone = [path for path, entry in self._changes.items() if entry is None]
            there = [path for path, entry in self._changes.items() if entry is not None]
            target.tell(do="unpack", delete=sorted(gone))
            try:
                source.tell(do="pack", paths=sorted(there, key=lambda path: path.split("/")))
                more = True
                while more:
                    told, body = source.hear()
                    more = told["more"]
                    if body or not more:
                        target.tell(body=b"" if not more else body)
            except OSError:  # was the last reply
                raise
            except BaseException:  # further replies would be taken for another's
                source.close()
                raise
            target.hear()
            return _committed(target, self._base.stored)
        finally:
            target.close()

    # Files.

    def _at(self, path: str) -> Entry | None:
        self._check_place(path)
        told, _ = self._alive().ask("at", path=path)
        return entry_from(told["entry"])

    def _content(self, path: str) -> bytes:
        return self._alive().ask("read", path=path)[1]

    def _put(self, path: str, data: bytes, mode: int) -> None:
        self._check_place(path)
        self._dirty = True
        with typed_errors():
            self._alive().ask("write", body=data, path=path, mode=mode)

    def _in_image(self, path: str) -> bool:
        return self._base.entry(path) is not None

    def _check_place(self, path: str) -> None:
        if not self._base.has(path):
            raise PermissionError(f"{path} is outside the writable view of the sandbox")


def _committed(container: Container, under: Stored) -> Stored:
    with engine_errors("the container of the sandbox"):
        made = api().commit(container.id, pause=False)  # no command runs
    return Stored(made["Id"], under, under.depth + 1)

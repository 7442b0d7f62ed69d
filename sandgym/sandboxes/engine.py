"""The Docker engine: how it is reached, what it refuses, and what is removed from it.

Invariant: every container, image and volume that is made carries the label of this process,
and only what carries the label of this process or of a dead one is removed. What the engine
refuses is a ``SandboxError`` that says what to do.

The engine is that of ``DOCKER_HOST``, or the machine's own.
"""

from __future__ import annotations

import collections
import contextlib
import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.util import Finalize
from typing import Any

from sandgym.core import SandboxError
from sandgym.sandboxes.base import SandboxLost
from sandgym.sandboxes.reaper import is_dead, owner_label

OWNER = "sandgym.owner"
PAUSES = (2.0, 8.0, 30.0)  # seconds before a pull is tried again
_SECONDS = 900  # that an answer may take
_PROBE_SECONDS = 10
_RETRY = 0.2  # seconds before something that was in use is removed
_PATIENCE = 20.0  # seconds in which it has to fall out of use
_CONFLICT = 409


class EngineUnavailable(SandboxError):  # noqa: N818
    """No Docker engine answers."""


class ImageMissing(SandboxError):  # noqa: N818
    """There is no such image, neither here nor in its registry."""


class RateLimited(SandboxError):  # noqa: N818
    """The registry refuses to give images for now."""


class WrongArchitecture(SandboxError):  # noqa: N818
    """The image is of another processor than the engine's machine has."""


class DiskFull(SandboxError):  # noqa: N818
    """The engine's disk is full."""


_LOCAL = threading.local()


def api() -> Any:
    """A client of the engine, one for each thread.

    Raises:
        EngineUnavailable: there is none, with the reason.
        ModuleNotFoundError: the docker package is missing.
    """
    import docker

    key = (os.getpid(), os.environ.get("DOCKER_HOST"))
    if getattr(_LOCAL, "key", None) != key:
        with engine_errors():
            client = docker.DockerClient.from_env(version="auto", timeout=_PROBE_SECONDS).api
        client.timeout = _SECONDS
        _LOCAL.client, _LOCAL.key = client, key
        _at_exit()
    return _LOCAL.client


@contextlib.contextmanager
def engine_errors(lost: str = "", about: str = "") -> Iterator[None]:
    """Turns what the engine refuses into a ``SandboxError``.

    Args:
        lost: what is gone if the engine does not know it.
        about: what the message is about.
    """
    import docker

    try:
        yield
    except docker.errors.APIError as error:
        said = about + str(error.explanation or error)
        if lost and isinstance(error, docker.errors.NotFound):
            raise SandboxLost(f"{lost} is gone: {said}") from error
        raise refusal(said) from error
    except (docker.errors.DockerException, OSError) as error:
        raise EngineUnavailable(
            f"no Docker engine answers ({error}); start one, let this user reach it, or set DOCKER_HOST"
        ) from error


def refusal(said: str) -> SandboxError:
    """The error of something that the engine said."""
    words = said.lower()
    if "toomanyrequests" in words or "rate limit" in words or "too many requests" in words:
        return RateLimited(f"the registry gives no more images for now; wait, or `docker login`: {said}")
    if "no matching manifest" in words or "does not match the specified platform" in words:
        return WrongArchitecture(f"there is no image for this engine's processor: {said}")
    if "no space left" in words:
        return DiskFull(f"the engine's disk is full; `docker system prune` frees some of it: {said}")
    missing = ("manifest unknown", "not found", "pull access denied", "repository does not exist", "no such image")
    if any(each in words for each in missing):
        return ImageMissing(f"there is no such image: {said}")
    return SandboxError(f"the Docker engine refuses: {said}")


def pull(name: str) -> None:
    """Get an image from its registry; tried again where that may help.

    Raises:
        ImageMissing, RateLimited, WrongArchitecture, DiskFull: it cannot be had.
    """
    import docker

    repository, tag = docker.utils.parse_repository_tag(name)
    for pause in (*PAUSES, None):
        try:
            with engine_errors(about=f"{name}: "):
                for event in api().pull(repository, tag or "latest", stream=True, decode=True):
                    if "error" in event:
                        raise refusal(f"{name}: {event['error']}")
            return
        except (ImageMissing, WrongArchitecture, DiskFull, EngineUnavailable):
            raise
        except SandboxError:
            if pause is None:
                raise
            time.sleep(pause)


class Stored:
    """An image that sandboxes start from.

    It is removed when nothing of this process refers to it, unless it was pickled; then it stays as
    long as the process.

    Attributes:
        id: of the image in the engine.
        parent: the image that it was made from.
        depth: layers that were put on the base.
    """

    __slots__ = ("__weakref__", "_bytes", "_finalizer", "depth", "id", "parent")

    def __init__(self, image: str, parent: Stored | None, depth: int, *, owned: bool = True) -> None:
        self.id, self.parent, self.depth = image, parent, depth
        self._bytes: int | None = None
        self._finalizer = remove_with(self, "image", image) if owned else None
        _STORED[os.getpid(), image] = self

    @property
    def bytes(self) -> int:
        """Size of all layers that were put on the base."""
        if self.parent is None:
            return 0
        if self._bytes is None:
            base = self
            while base.parent is not None:
                base = base.parent
            self._bytes = size_of(self.id) - size_of(base.id)
        return self._bytes

    def __reduce__(self) -> tuple[Any, ...]:
        if self._finalizer is not None:
            self._finalizer.detach()
        return (_found, (self.id, self.parent, self.depth))


_STORED: weakref.WeakValueDictionary[tuple[int, str], Stored] = weakref.WeakValueDictionary()


def _found(image: str, parent: Stored | None, depth: int) -> Stored:
    """The image of a pickle: this process's own, or another's, which is not ours to remove."""
    stored = _STORED.get((os.getpid(), image))
    return stored if stored is not None else Stored(image, parent, depth, owned=False)


def size_of(image: str) -> int:
    """Bytes of all files of an image."""
    with engine_errors(f"the image {image}"):
        return int(api().inspect_image(image)["Size"])


# Removal.

_Work = queue.SimpleQueue[tuple[str, str] | threading.Event]
_WORK: dict[int, _Work] = {}


def remove_with(owner: object, kind: str, name: str) -> weakref.finalize[..., Any]:
    """Remove an image or a volume when its owner is collected, in the background."""
    finalizer = weakref.finalize(owner, _discard, kind, name, os.getpid())
    finalizer.atexit = False  # then all of them go at once
    return finalizer


def _discard(kind: str, name: str, pid: int) -> None:
    if pid != os.getpid():
        return
    if pid not in _WORK:
        _WORK[pid] = queue.SimpleQueue()
        threading.Thread(target=_remove_all, args=(_WORK[pid],), name="engine removals", daemon=True).start()
    _WORK[pid].put((kind, name))


def wait_for_removals() -> None:
    """Wait until every image that nobody refers to is removed."""
    if (work := _WORK.get(os.getpid())) is not None:
        done = threading.Event()
        work.put(done)
        done.wait()


def _remove_all(work: _Work) -> None:
    while True:
        item = work.get()
        if isinstance(item, threading.Event):
            item.set()
            continue
        deadline = time.monotonic() + _PATIENCE
        while not _remove(*item) and time.monotonic() < deadline:
            time.sleep(_RETRY)  # the container that used it is being removed


def _remove(kind: str, name: str) -> bool:
    """Remove an image or a volume; False where it is in use."""
    import docker

    try:
        if kind == "image":
            api().remove_image(name, force=True, noprune=True)
        else:
            api().remove_volume(name, force=True)
    except docker.errors.APIError as error:
        return bool(error.status_code != _CONFLICT)
    except Exception:
        return True  # what stays is removed at the end, or by the next process
    return True


def clean() -> list[str]:
    """Remove what dead processes left in the engine; says what was removed."""
    _CLEANED.add(os.getpid())
    return _remove_of(is_dead)


def _remove_of(mine: Callable[[str], bool]) -> list[str]:
    """Remove everything whose owner's label is one of those meant."""
    import docker

    client, removed = api(), []
    labelled = {"label": OWNER}
    with engine_errors():
        for item in client.containers(all=True, filters=labelled):
            if mine(item["Labels"].get(OWNER, "")):
                with contextlib.suppress(docker.errors.APIError):  # it is being removed
                    client.remove_container(item["Id"], force=True, v=True)
                    removed.append(f"container {item['Id'][:12]}")
        removed += _remove_images(
            {item["Id"]: item["ParentId"] for item in client.images(all=True, filters=labelled)
             if mine((item["Labels"] or {}).get(OWNER, ""))})  # fmt: skip
        for item in client.volumes(filters=labelled)["Volumes"] or ():
            if mine((item["Labels"] or {}).get(OWNER, "")) and _remove("volume", item["Name"]):
                removed.append(f"volume {item['Name'][:12]}")
    return removed


def _remove_images(parents: dict[str, str]) -> list[str]:
    """Remove images, given with what they were made from, which goes after them; says what was removed."""
    users = collections.Counter(parents.values())
    free = [image for image in parents if not users[image]]
    removed = []
    while free:
        image = free.pop()
        if _remove("image", image):
            removed.append(f"image {image.removeprefix('sha256:')[:12]}")
            parent = parents[image]
            users[parent] -= 1
            if parent in parents and not users[parent]:
                free.append(parent)
    return removed


_CLEANED: set[int] = set()  # processes that have removed what dead ones left
_LEAVING: set[int] = set()  # processes that will remove what is theirs


def _at_exit() -> None:
    """Remove what dead processes left, once; and, when this process ends, everything of its own."""
    pid = os.getpid()
    if pid not in _LEAVING:
        _LEAVING.add(pid)
        Finalize(None, _leave, (pid,), exitpriority=1)  # also where a worker process ends
        if pid not in _CLEANED:
            with contextlib.suppress(SandboxError):
                clean()


def _leave(pid: int) -> None:
    if pid == os.getpid():
        own = owner_label()
        with contextlib.suppress(Exception):
            _remove_of(lambda label: label == own)

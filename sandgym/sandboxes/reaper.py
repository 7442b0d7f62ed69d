"""What this process makes outside itself, and the removal of what dead processes left.

Invariant: everything that outlives a crash carries the label of the process that made it,
and only what carries the label of a dead process of this machine is removed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import platform
import queue
import shutil
import stat
import subprocess
import threading
import weakref
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from sandgym.core import SandboxError
from sandgym.data import data_root

_DEAD = ".removing-"
_MOST_WAITING = 500  # removals; then whoever discards has to remove


def store_root() -> Path:
    """Where sandboxes are kept: ``$SANDGYM_SANDBOXES``, or ``sandboxes`` under the data root."""
    given = os.environ.get("SANDGYM_SANDBOXES")
    return Path(given).expanduser().absolute() if given else data_root().absolute() / "sandboxes"


@functools.cache
def _label(pid: int) -> str:
    return "_".join((*_machine(), str(pid), _started(pid) or "0"))


def owner_label() -> str:
    """The label of this process: machine, boot, PID namespace, PID and start time."""
    return _label(os.getpid())


def is_dead(label: str) -> bool:
    """Whether the process of a label is certainly dead; False where this machine cannot tell."""
    parts = label.split("_")
    if len(parts) != 5 or not parts[3].isdigit():
        return False
    host, boot, namespace = _machine()
    if parts[0] != host:
        return False
    if parts[1] != boot:
        return True
    return parts[2] == namespace and _started(int(parts[3])) != parts[4]


@functools.cache
def _machine() -> tuple[str, str, str]:
    host = "".join(letter for letter in platform.node() if letter.isalnum() or letter in ".-") or "host"
    with contextlib.suppress(OSError):  # machines of one name may share an engine or a folder
        host += "." + hashlib.sha256(Path("/etc/machine-id").read_bytes()).hexdigest()[:8]
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:13]
        namespace = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        boot, namespace = "0", "0"
    return host, boot, namespace


def _started(pid: int) -> str | None:
    """Start time of a process, in clock ticks since boot or as ``ps`` says it; None when there is none."""
    if os.path.isdir("/proc/self"):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in "ZX" else fields[19]
    said = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return "".join(filter(str.isalnum, said)) or None


_FOLDERS: dict[tuple[int, Path], Path] = {}


def process_folder() -> Path:
    """The folder of everything that this process keeps; made, after a cleaning, at the first call.

    Raises:
        SandboxError: it cannot be made.
    """
    root = store_root()
    key = (os.getpid(), root)
    folder = _FOLDERS.get(key)
    if folder is None:
        clean()
        folder = root / owner_label()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxError(
                f"cannot write to {root}: {error.strerror}; set SANDGYM_SANDBOXES to another folder"
            ) from error
        _FOLDERS[key] = folder
        Finalize(None, _leave, (folder, os.getpid()), exitpriority=0)  # also where a worker process ends
    return folder


def _leave(folder: Path, pid: int) -> None:
    if pid == os.getpid():
        remove(folder)


def remove_with(owner: object, path: Path) -> weakref.finalize[..., Any]:
    """Remove a file or folder when its owner is collected, or earlier when the result is called.

    A process that was forked in between removes nothing of its parent's.
    """
    finalizer = weakref.finalize(owner, _remove_own, path, os.getpid())
    finalizer.atexit = False  # then all of it goes at once
    return finalizer


def _remove_own(path: Path, pid: int) -> None:
    if pid == os.getpid():
        discard(path)


def discard(path: Path) -> None:
    """Let a file or folder vanish now, and be removed in the background, since disks are slow at that."""
    trash = process_folder() / "trash"
    target = trash / str(next(_numbers))
    try:
        trash.mkdir(exist_ok=True)
        path.rename(target)
    except FileNotFoundError:
        return
    except OSError:  # on another file system, or closed by the agent
        remove(path)
        return
    if _dustman().qsize() > _MOST_WAITING:
        remove(target)
    else:
        _dustman().put(target)


def wait_for_removals() -> None:
    """Wait until everything that was discarded is removed."""
    done = threading.Event()
    _dustman().put(done)
    done.wait()


_numbers = itertools.count()
_DUSTMEN: dict[int, queue.SimpleQueue[Path | threading.Event]] = {}


def _dustman() -> queue.SimpleQueue[Path | threading.Event]:
    """What the thread of this process that removes takes its work from."""
    work = _DUSTMEN.get(os.getpid())
    if work is None:
        work = _DUSTMEN[os.getpid()] = queue.SimpleQueue()
        threading.Thread(target=_remove_all, args=(work,), name="sandbox removals", daemon=True).start()
    return work


def _remove_all(work: queue.SimpleQueue[Path | threading.Event]) -> None:
    while True:
        item = work.get()
        if isinstance(item, threading.Event):
            item.set()
        else:
            with contextlib.suppress(OSError):  # what stays goes with the process's folder
                remove(item)


def clean() -> list[str]:
    """Remove what dead processes left on this machine; says what was removed."""
    removed = []
    root = store_root()
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        dead = folder.name.startswith(_DEAD)
        if not dead and is_dead(folder.name):
            target = folder.with_name(_DEAD + folder.name)
            with contextlib.suppress(OSError):  # another process is faster
                folder.rename(target)
                folder, dead = target, True
        if dead:
            remove(folder)
            removed.append(f"folder {folder.name.removeprefix(_DEAD)} in {root}")
    return removed


def remove(path: Path) -> None:
    """Remove a file or folder whatever its permissions are; what is gone already is fine."""
    if path.is_dir() and not path.is_symlink():
        try:
            _remove_folder(path)
        except RecursionError:  # a command can put a thousand folders into each other
            subprocess.run(["rm", "-rf", "--", path], check=False)
    else:
        path.unlink(missing_ok=True)


def _remove_folder(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        shutil.rmtree(path, ignore_errors=True)
    except PermissionError:
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)


def _open_up(path: Path) -> None:
    """Let the owner list and change every folder at and below ``path``."""
    with contextlib.suppress(OSError):
        path.chmod(0o700)
        with os.scandir(path) as items:
            for item in items:
                if stat.S_ISDIR(item.stat(follow_symlinks=False).st_mode):
                    _open_up(Path(item.path))

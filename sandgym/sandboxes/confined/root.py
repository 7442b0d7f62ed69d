"""The file system that a command sees.

Invariant: built from nothing. There is what the job names: programs and libraries of this
machine, read-only; the writable view; and a ``/proc`` and ``/dev`` of its own.
"""

from __future__ import annotations

import os

from . import syscalls
from .agreed import STATE, USER
from .job import Job

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SHARED_MEMORY = "size=64m,mode=1777"


def build(job: Job) -> None:
    """Mount everything and make it the root of this process, which must be the first of new namespaces."""
    root = job.root
    syscalls.mount("none", "/", flags=syscalls.REC | syscalls.PRIVATE)
    syscalls.mount("tmpfs", root, "tmpfs", syscalls.NOSUID | syscalls.NODEV, "size=1m,mode=755")
    for inside in ("proc", "dev", "tmp", "run", "var", STATE[1:], *(path[1:] for path in job.parts.values())):
        os.makedirs(f"{root}/{inside}", exist_ok=True)
    os.symlink("/tmp", f"{root}/var/tmp")
    for name in SYSTEM:
        _show(f"/{name}", f"{root}/{name}")
    for path in job.hidden:
        _cover(root + path)
    for inside, host in job.readable.items():
        _show(host, root + inside)
    for path in job.covered:
        _cover(root + path)
    syscalls.make_read_only(root)
    _mount_view(job)
    syscalls.mount("proc", f"{root}/proc", "proc", syscalls.NOSUID | syscalls.NODEV | syscalls.NOEXEC)
    _mount_devices(f"{root}/dev")
    owner = USER if job.uid is None else job.uid
    syscalls.mount("tmpfs", root + STATE, "tmpfs", syscalls.NOSUID | syscalls.NODEV,
                   f"size=4m,mode=700,uid={owner},gid={owner}")  # fmt: skip
    syscalls.pivot_root(root)


def _show(host: str, target: str) -> None:
    """Bind a file or folder of this machine; a link stays a link."""
    if os.path.islink(host) and not os.path.lexists(target):
        os.symlink(os.readlink(host), target)
    elif os.path.isdir(host):
        os.makedirs(target, exist_ok=True)
        syscalls.mount(host, target, flags=syscalls.BIND | syscalls.REC)
    elif os.path.exists(host):
        if not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        syscalls.mount(host, target, flags=syscalls.BIND)


def _cover(target: str) -> None:
    if os.path.isdir(target):
        syscalls.mount("tmpfs", target, "tmpfs", syscalls.NOSUID | syscalls.NODEV, "size=4k,mode=755")
    elif os.path.exists(target):
        syscalls.mount("/dev/null", target, flags=syscalls.BIND)


def _mount_view(job: Job) -> None:
    view = job.view
    if job.lowers:
        view = f"{job.root}/proc"  # until proc itself is mounted
        mount_overlay(job.lowers, job.view, job.work, view, privileged=job.uid is not None)
    for part, inside in job.parts.items():
        syscalls.mount(f"{view}/{part}", job.root + inside, flags=syscalls.BIND)
    if job.lowers:
        syscalls.unmount(view)


def mount_overlay(lowers: tuple[str, ...], upper: str, work: str, target: str, *, privileged: bool) -> None:
    """Mount an overlay whose state is nothing but the content of its upper layer.

    Args:
        lowers: topmost first.
        upper: the writable layer.
        work: an empty folder beside it.
        target: where to mount.
        privileged: whether attributes of the upper layer are root's, and not a user's.
    """
    folder = os.path.dirname(upper)
    os.chdir(folder)  # relative names, since all options together have to fit into a page
    layers = ":".join(_escaped(os.path.relpath(lower, folder)) for lower in lowers)
    options = f"lowerdir={layers},upperdir={_escaped(os.path.relpath(upper, folder))}"
    options += f",workdir={_escaped(os.path.relpath(work, folder))},volatile"
    options += ",redirect_dir=off,index=off,metacopy=off,xino=off" if privileged else ",userxattr"
    syscalls.mount("overlay", target, "overlay", syscalls.NOSUID | syscalls.NODEV, options)
    os.chdir("/")


def _escaped(path: str) -> str:
    return "".join("\\" + letter if letter in "\\:," else letter for letter in path)


def _mount_devices(dev: str) -> None:
    syscalls.mount("tmpfs", dev, "tmpfs", syscalls.NOSUID | syscalls.NOEXEC, "size=64k,mode=755")
    for name in _DEVICES:
        os.close(os.open(f"{dev}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        syscalls.mount(f"/dev/{name}", f"{dev}/{name}", flags=syscalls.BIND)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"{dev}/{name}")
    os.symlink("pts/ptmx", f"{dev}/ptmx")
    for name in ("shm", "pts"):
        os.mkdir(f"{dev}/{name}")
    syscalls.make_read_only(dev, recursive=False)
    syscalls.mount("tmpfs", f"{dev}/shm", "tmpfs", syscalls.NOSUID | syscalls.NODEV, _SHARED_MEMORY)
    syscalls.mount("devpts", f"{dev}/pts", "devpts", syscalls.NOSUID | syscalls.NOEXEC,
                   "newinstance,ptmxmode=0666,mode=620")  # fmt: skip

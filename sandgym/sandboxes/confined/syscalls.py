"""System calls that Python 3.11 lacks, with errors that say what failed.

Source of numbers and flags: the Linux user-space headers (linux/mount.h, linux/sched.h,
asm/unistd.h).
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Collection

NEW_NS, NEW_CGROUP, NEW_UTS, NEW_IPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEW_USER, NEW_PID, NEW_NET = 0x10000000, 0x20000000, 0x40000000

RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT = 1, 2, 4, 8, 32
BIND, REC, PRIVATE = 4096, 16384, 1 << 18
DETACH = 2

_ATTR_RDONLY, _ATTR_NOSUID = 1, 2
_AT_RECURSIVE = 0x8000
_MOUNT_SETATTR = 442  # on every architecture
_CLONE = {"x86_64": 56, "aarch64": 220}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_LAST_CAPABILITY = 63
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc_in_one_piece = ctypes.PyDLL(None, use_errno=True)  # does not let go of the interpreter's lock


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Put this process (for NEW_PID: its next child) into new namespaces."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def clone(flags: int) -> int:
    """Fork into new namespaces; 0 in the child, otherwise its PID. For processes of one thread only."""
    number = _CLONE[os.uname().machine]
    pid: int = _libc_in_one_piece.syscall(
        ctypes.c_long(number), ctypes.c_ulong(flags | signal.SIGCHLD), ctypes.c_long(0), ctypes.c_long(0),
        ctypes.c_long(0), ctypes.c_long(0)
    )  # fmt: skip
    _check(pid, f"clone {flags:#x}")
    return pid


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """``mount(2)``."""
    result = _libc.mount(
        os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), os.fsencode(options)
    )
    _check(result, f"mount {kind or 'bind'} {source} at {target}")


def unmount(target: str) -> None:
    """Detach a mount; what still uses it keeps it."""
    _check(_libc.umount2(os.fsencode(target), DETACH), f"unmount {target}")


def make_read_only(target: str, *, recursive: bool = True) -> None:
    """Make a mount, and all mounts below it, read-only and without set-user-id programs."""
    attributes = struct.pack("=QQQQ", _ATTR_RDONLY | _ATTR_NOSUID, 0, 0, 0)
    result = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(-100),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_uint(_AT_RECURSIVE if recursive else 0),
        ctypes.c_char_p(attributes),
        ctypes.c_size_t(len(attributes)),
    )
    _check(result, f"make {target} read-only")


def pivot_root(new: str) -> None:
    """Make ``new``, a mount, the root, and let go of the old one."""
    os.chdir(new)
    number = _PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(ctypes.c_long(number), ctypes.c_char_p(b"."), ctypes.c_char_p(b".")), "pivot_root")
    unmount(".")
    os.chdir("/")


def die_with_parent(signal: int = 9) -> None:
    """Be sent the signal when the thread that forked this process ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal), 0, 0, 0), "PR_SET_PDEATHSIG")


def set_dumpable(allowed: bool) -> None:
    """Whether others of the same user may look at this process, and it owns its files in ``/proc``."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(allowed), 0, 0, 0), "PR_SET_DUMPABLE")


def give_up_privileges(keep: Collection[int] = ()) -> None:
    """Never gain a capability again but those to keep, neither by a program's file nor as user 0."""
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in keep and _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")


def have_capabilities(keep: Collection[int]) -> None:
    """Have these capabilities at most, and inherit none."""
    bits = sum(1 << capability for capability in keep)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    sets = struct.pack("=IIIIII", low, low, 0, high, high, 0)
    _check(_libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(sets)), "capset")


def enter_user_namespace(inside: int) -> None:
    """Go to a new user namespace in which this process's user and group are ``inside``."""
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{inside} {uid} 1"), ("gid_map", f"{inside} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)

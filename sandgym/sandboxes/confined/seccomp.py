"""A filter that keeps commands from reaching parts of the kernel that no build or test needs.

Invariant: everything is allowed but what is named here. New namespaces and mounts are
refused since they would give a command capabilities over kernel code; key rings since
they are shared with the rest of the machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_REFUSED = {
    "x86_64": (
        155, 165, 166, 167, 168, 169, 175, 176, 246, 248, 249, 250, 272, 298, 304, 308, 310, 311, 313,
        320, 321, 323, 425, 426, 427, 428, 429, 430, 431, 432, 433, 442,
    ),
    "aarch64": (
        39, 40, 41, 97, 104, 105, 106, 142, 217, 218, 219, 224, 225, 241, 265, 268, 270, 271, 273, 280, 282, 294,
        425, 426, 427, 428, 429, 430, 431, 432, 433, 442,
    ),
}  # fmt: skip
# In both: pivot_root, mount, umount2, swapon, swapoff, reboot, init_module, delete_module, kexec_load, add_key,
# request_key, keyctl, unshare, perf_event_open, open_by_handle_at, setns, process_vm_readv, process_vm_writev,
# finit_module, kexec_file_load, bpf, userfaultfd, io_uring_*, the mount calls of fsopen(2), mount_setattr.
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEW_USER = 0x10000000
_X32 = 0x40000000
_PR_SET_SECCOMP, _FILTER = 22, 2

_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def program(machine: str) -> bytes:
    """The filter as instructions of classic BPF.

    Raises:
        KeyError: no numbers are known for the machine.
    """

    def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, if_true, if_false, value)

    refuse = instruction(_RETURN, _ERRNO | errno.EPERM)
    unknown = instruction(_RETURN, _ERRNO | errno.ENOSYS)
    lines = [
        instruction(_LOAD, _ARCHITECTURE),
        instruction(_EQUAL, _AUDIT[machine], 1, 0),
        unknown,
        instruction(_LOAD, _NUMBER),
        instruction(_AT_LEAST, _X32, 0, 1),
        unknown,
        instruction(_EQUAL, _CLONE3, 0, 1),
        unknown,  # its flags are behind a pointer; the C library then uses clone
    ]
    for number in _REFUSED[machine]:
        lines += [instruction(_EQUAL, number, 0, 1), refuse]
    lines += [
        instruction(_EQUAL, _CLONE[machine], 0, 3),
        instruction(_LOAD, _FIRST_ARGUMENT),
        instruction(_BITS, _NEW_USER, 0, 1),
        refuse,
        instruction(_RETURN, _ALLOW),
    ]
    return b"".join(lines)


_PROGRAM = ctypes.create_string_buffer(program(os.uname().machine)) if os.uname().machine in _REFUSED else None


def install() -> None:
    """Filter the calls of this process and of everything that it starts; needs no-new-privileges.

    Raises:
        OSError: the machine's calls are not known, or the kernel refuses.
    """
    if _PROGRAM is None:
        raise OSError(errno.ENOSYS, f"no list of system calls for {os.uname().machine}")
    instructions = (len(_PROGRAM) - 1) // 8
    filter_ = ctypes.create_string_buffer(struct.pack("@HP", instructions, ctypes.addressof(_PROGRAM)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), filter_, 0, 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")

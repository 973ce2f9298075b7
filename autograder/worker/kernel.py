"""The Linux calls that the standard library lacks, made through ctypes.

Functions of libc are used where there are any, so no table of system call
numbers per machine is needed. The numbers below are the same on every machine
(Linux gives calls newer than 5.1 one number everywhere).
"""

from __future__ import annotations

import ctypes
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000

MOUNT_NOSUID, MOUNT_NODEV, MOUNT_NOEXEC = 2, 4, 8
MOUNT_BIND, MOUNT_RECURSIVE, MOUNT_PRIVATE = 4096, 16384, 1 << 18
ATTRIBUTE_READ_ONLY, ATTRIBUTE_NOSUID, ATTRIBUTE_NODEV, ATTRIBUTE_NOEXEC = 1, 2, 4, 8

_PDEATHSIG, _SET_SECCOMP, _BOUNDING_DROP, _NO_NEW_PRIVS, _AMBIENT = 1, 22, 24, 38, 47
_SIGKILL, _FILTER_MODE, _DETACH, _HERE, _WHOLE_TREE = 9, 2, 2, -100, 0x8000
_MOUNT_SETATTR = 442
_LAST_CAPABILITY = 63


def check(result: int, what: str) -> int:
    """Return `result`; raise OSError with the call's errno when it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call by number; integers are passed as longs."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return int(libc.syscall(ctypes.c_long(number), *words))


def prctl(option: int, *arguments: int) -> int:
    """Call prctl(2); raise OSError when it fails."""
    words = [ctypes.c_ulong(word) for word in (*arguments, 0, 0, 0, 0)[:4]]
    return check(libc.prctl(ctypes.c_int(option), *words), f"prctl {option}")


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies; a change of uid clears it."""
    prctl(_PDEATHSIG, _SIGKILL)


def no_new_privileges() -> None:
    """Give up setuid programs for good, as Landlock and seccomp require."""
    prctl(_NO_NEW_PRIVS, 1)


def unshare(flags: int) -> None:
    """Leave the namespaces named by `flags`."""
    check(libc.unshare(ctypes.c_int(flags)), f"unshare {flags:#x}")


def write_id_maps(uid: int, gid: int) -> None:
    """Map `uid` and `gid`, and no others, onto themselves in a new user namespace."""
    own = {"setgroups": "deny", "uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
    for name, content in own.items():
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(content)


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    """Call mount(2)."""
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    result = libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None)
    check(result, f"mount {source} on {target}")


def set_attributes(target: str, attributes: int, *, tree: bool = False) -> None:
    """Add mount attributes to `target`, and to every mount below it when `tree`."""
    words = struct.pack("<QQQQ", attributes, 0, 0, 0)
    flags = _WHOLE_TREE if tree else 0
    result = syscall(_MOUNT_SETATTR, _HERE, target.encode(), flags, words, len(words))
    check(result, f"mount_setattr {target}")


def pivot_root(root: str) -> None:
    """Make `root` the root directory, and detach the old one."""
    os.chdir(root)
    check(libc.pivot_root(b".", b"."), "pivot_root")
    check(libc.umount2(b".", _DETACH), "umount of the old root")
    os.chdir("/")


def drop_bounding_set() -> None:
    """Remove every capability from the bounding and ambient sets."""
    for capability in range(_LAST_CAPABILITY + 1):
        if libc.prctl(_BOUNDING_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break
    prctl(_AMBIENT, 4)


def drop_capabilities() -> None:
    """Give up every capability: a process in a new user namespace starts with all of them."""
    header = struct.pack("<Ii", 0x20080522, 0)
    check(libc.capset(header, bytes(24)), "capset")


def install_filter(program: bytes) -> None:
    """Install a seccomp filter, given as assembled BPF instructions of eight bytes each."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    code = ctypes.create_string_buffer(program, len(program))
    whole = Program(len(program) // 8, ctypes.addressof(code))
    result = libc.prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.byref(whole), 0, 0)
    check(result, "seccomp filter")

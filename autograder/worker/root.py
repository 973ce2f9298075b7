"""Namespaces, and a root directory in which the solutions do not exist.

Everything is bound before a uid is dropped, because the interpreter may lie
below a home directory that only its owner may enter (pyenv, uv).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from autograder.worker import kernel
from autograder.worker.plan import BOX, DEVICES, PROCESSOR

_ALWAYS = kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
# For each kind of namespace, the name of its file in /proc/self/ns, and its flag.
_KINDS = {
    "mount": ("mnt", kernel.NEWNS),
    "pid": ("pid", kernel.NEWPID),
    "network": ("net", kernel.NEWNET),
    "ipc": ("ipc", kernel.NEWIPC),
    "uts": ("uts", kernel.NEWUTS),
    "cgroup": ("cgroup", kernel.NEWCGROUP),
}
_PLACES = ("/mnt", "/media", "/srv", "/opt", "/var/tmp", "/tmp")
_CLOSED = kernel.ATTRIBUTE_READ_ONLY | kernel.ATTRIBUTE_NOSUID | kernel.ATTRIBUTE_NODEV
_BOX_OPTIONS = kernel.MOUNT_NOSUID | kernel.MOUNT_NODEV | kernel.MOUNT_NOEXEC


def leave_namespaces(as_root: bool) -> None:
    """Leave the host's namespaces; an ordinary user needs a user namespace as well.

    The new pid namespace takes effect at the next fork. Raises OSError when the
    machine does not allow it.
    """
    uid, gid = os.getuid(), os.getgid()
    if as_root:
        kernel.unshare(_ALWAYS | kernel.NEWPID)
        return
    kernel.unshare(_ALWAYS | kernel.NEWPID | kernel.NEWUSER)
    kernel.write_id_maps(uid, gid)


def identities() -> dict[str, int]:
    """Return, for each kind of namespace, the inode number of this process's own."""
    return {name: os.stat(f"/proc/self/ns/{file}").st_ino for name, (file, _) in _KINDS.items()}


def refusals(as_root: bool) -> dict[str, str]:
    """Return the namespaces that this machine refuses, with the reasons; each is tried alone."""
    found = {}
    for name, (_, flag) in _KINDS.items():
        child = os.fork()
        if not child:
            number = errno.EINVAL
            try:
                kernel.unshare(flag if as_root else flag | kernel.NEWUSER)
                number = 0
            except OSError as error:
                number = error.errno or number
            finally:
                os._exit(number)
        _, status = os.waitpid(child, 0)
        if number := os.waitstatus_to_exitcode(status):
            found[f"{name} namespace"] = os.strerror(abs(number))
    return found


def enter_minimal_root(readable: Iterable[str]) -> None:
    """Make a read-only root of what a worker may read, and let go of the rest."""
    kernel.mount("none", "/", None, kernel.MOUNT_RECURSIVE | kernel.MOUNT_PRIVATE)
    paths = [*readable, *filter(os.path.exists, PROCESSOR)]
    paths.sort(key=lambda path: len(os.path.realpath(path)))  # a folder before what is in it
    base = _free_place(paths)
    kernel.mount("tmpfs", base, "tmpfs", kernel.MOUNT_NOSUID, "size=1m,mode=755")
    for path in paths:
        _bind(path, base, _CLOSED)
    for device in DEVICES:
        _bind(device, base, _CLOSED & ~kernel.ATTRIBUTE_NODEV)
    os.makedirs(base + BOX, exist_ok=True)
    kernel.pivot_root(base)
    # PyTorch asks for a temporary directory while it is imported. Every worker mounts a box of
    # its own over this one.
    kernel.mount("tmpfs", BOX, "tmpfs", _BOX_OPTIONS, "size=1m,mode=755")
    os.environ["TMPDIR"] = BOX
    kernel.set_attributes("/", _CLOSED)


def enter_private_box(uid: int, gid: int) -> None:
    """Give this process alone an empty writable folder: 64 MB, 4096 files, nothing executable."""
    kernel.unshare(kernel.NEWNS)
    options = f"size=64m,nr_inodes=4096,mode=700,uid={uid},gid={gid}"
    kernel.mount("tmpfs", BOX, "tmpfs", _BOX_OPTIONS, options)
    os.chdir(BOX)


def _free_place(paths: Iterable[str]) -> str:
    """Return a directory to build in that hides none of `paths`."""
    real = [os.path.realpath(path) for path in paths]
    for place in _PLACES:
        within = os.path.realpath(place) + "/"
        if os.path.isdir(place) and not any((path + "/").startswith(within) for path in real):
            return place
    raise OSError(f"none of {', '.join(_PLACES)} is free to build a root directory in")


def _bind(path: str, base: str, attributes: int) -> None:
    real = os.path.realpath(path)
    target = base + real
    if not os.path.lexists(target):  # otherwise it lies below something already bound
        if os.path.isdir(real):
            os.makedirs(target)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "xb"):
                pass
        kernel.mount(real, target, None, kernel.MOUNT_BIND | kernel.MOUNT_RECURSIVE)
        kernel.set_attributes(target, attributes, tree=True)
    if not os.path.lexists(base + path):
        os.makedirs(os.path.dirname(base + path), exist_ok=True)
        os.symlink(real, base + path)

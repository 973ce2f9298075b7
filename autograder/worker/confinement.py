"""What a worker does after the fork, before it sees a student's code; the Linux calls for it.

The order matters: what needs privileges comes first, the system call filter
last. Then a check from the inside makes sure that each denial holds while a live
control works. A worker that cannot do all of this reports it and ends; it never
grades. What is the same for every worker is prepared once, in the zygote.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.worker import syscalls
from autograder.worker.control import (
    BOX,
    DEVICES,
    FILE_MEGABYTES,
    OPEN_FILES,
    PROCESSOR,
    TOO_LOW,
    Layers,
    Plan,
)

# The Linux calls that the standard library lacks, made through ctypes.
#
# Functions of libc are used where there are any, so no table of system call numbers per machine
# is needed. The numbers below are the same on every machine (Linux gives calls newer than 5.1 one
# number everywhere).

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


# Landlock: which files a worker may reach, and what it may do with them.
#
# This layer still hides the solutions where namespaces are not allowed (most containers), so its
# rules do not rely on the minimal root directory.

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL = 1 << 6, 1 << 11, 1 << 14, 1 << 15
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_RIGHTS = (1 << 16) - 1  # from version 5 on
_TCP, _SCOPES = 3, 3  # bind and connect; abstract sockets and signals


def version() -> int:
    """Return the kernel's Landlock version, 0 where there is none."""
    return max(0, syscall(_CREATE, None, 0, _ASK_VERSION))


@dataclass(frozen=True)
class Rule:
    """What is allowed below a path, or with the file that it names."""

    path: str
    rights: int


def rules(
    readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]
) -> tuple[Rule, ...]:
    """Return the rules: reading below `readable`, files below `writable`, use of `devices`.

    Paths that do not exist are left out.
    """
    wanted = [(path, _READ_FILE | _READ_DIR) for path in readable]
    wanted += [(path, ~(_EXECUTE | _MAKE_CHAR | _MAKE_BLOCK)) for path in writable]
    wanted += [(path, _READ_FILE | _WRITE_FILE) for path in devices]
    return tuple(
        Rule(path, rights if os.path.isdir(path) else rights & _OF_A_FILE)
        for path, rights in wanted
        if os.path.exists(path)
    )


def restrict(allowed: Iterable[Rule]) -> int:
    """Allow what the rules say and nothing else; return the version that was applied.

    Raises OSError where there is no Landlock or the kernel refuses.
    """
    applied = version()
    if not applied:
        raise OSError(errno.ENOSYS, "the kernel has no Landlock")
    handled = _RIGHTS.get(applied, _ALL_RIGHTS)
    ruleset = check(_create(applied, handled), "landlock_create_ruleset")
    for rule in allowed:
        _allow(ruleset, rule.path, rule.rights & handled)
    check(syscall(_RESTRICT, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)
    return applied


def _create(applied: int, handled: int) -> int:
    words = struct.pack("<QQQ", handled, _TCP if applied >= 4 else 0, _SCOPES)
    size = 8 if applied < 4 else 16 if applied < 6 else 24
    return syscall(_CREATE, words[:size], size, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except PermissionError:
        return  # what this user cannot reach need not be allowed
    rule = struct.pack("<Qi", rights, place)
    result = syscall(_ADD, ruleset, _PATH_BENEATH, rule, 0)
    os.close(place)
    check(result, f"landlock_add_rule {path}")


# Namespaces, and a root directory in which the solutions do not exist.
#
# Everything is bound before a uid is dropped, because the interpreter may lie below a home
# directory that only its owner may enter (pyenv, uv).

_ALWAYS = NEWNS | NEWNET | NEWIPC | NEWUTS | NEWCGROUP
# For each kind of namespace, the name of its file in /proc/self/ns, and its flag.
_KINDS = {
    "mount": ("mnt", NEWNS),
    "pid": ("pid", NEWPID),
    "network": ("net", NEWNET),
    "ipc": ("ipc", NEWIPC),
    "uts": ("uts", NEWUTS),
    "cgroup": ("cgroup", NEWCGROUP),
}
_PLACES = ("/mnt", "/media", "/srv", "/opt", "/var/tmp", "/tmp")
_CLOSED = ATTRIBUTE_READ_ONLY | ATTRIBUTE_NOSUID | ATTRIBUTE_NODEV
_BOX_OPTIONS = MOUNT_NOSUID | MOUNT_NODEV | MOUNT_NOEXEC


def leave_namespaces(as_root: bool) -> None:
    """Leave the host's namespaces; an ordinary user needs a user namespace as well.

    The new pid namespace takes effect at the next fork. Raises OSError when the
    machine does not allow it.
    """
    uid, gid = os.getuid(), os.getgid()
    if as_root:
        unshare(_ALWAYS | NEWPID)
        return
    unshare(_ALWAYS | NEWPID | NEWUSER)
    write_id_maps(uid, gid)


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
                unshare(flag if as_root else flag | NEWUSER)
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
    mount("none", "/", None, MOUNT_RECURSIVE | MOUNT_PRIVATE)
    paths = [*readable, *filter(os.path.exists, PROCESSOR)]
    paths.sort(key=lambda path: len(os.path.realpath(path)))  # a folder before what is in it
    base = _free_place(paths)
    mount("tmpfs", base, "tmpfs", MOUNT_NOSUID, "size=1m,mode=755")
    for path in paths:
        _bind(path, base, _CLOSED)
    for device in DEVICES:
        _bind(device, base, _CLOSED & ~ATTRIBUTE_NODEV)
    os.makedirs(base + BOX, exist_ok=True)
    pivot_root(base)
    # PyTorch asks for a temporary directory while it is imported. Every worker mounts a box of
    # its own over this one.
    mount("tmpfs", BOX, "tmpfs", _BOX_OPTIONS, "size=1m,mode=755")
    os.environ["TMPDIR"] = BOX
    set_attributes("/", _CLOSED)


def enter_private_box(uid: int, gid: int) -> None:
    """Give this process alone an empty writable folder: 64 MB, 4096 files, nothing executable."""
    unshare(NEWNS)
    options = f"size=64m,nr_inodes=4096,mode=700,uid={uid},gid={gid}"
    mount("tmpfs", BOX, "tmpfs", _BOX_OPTIONS, options)
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
        mount(real, target, None, MOUNT_BIND | MOUNT_RECURSIVE)
        set_attributes(target, attributes, tree=True)
    if not os.path.lexists(base + path):
        os.makedirs(os.path.dirname(base + path), exist_ok=True)
        os.symlink(real, base + path)


CHANNEL, BELL = 3, 4
_MEGABYTE = 1 << 20
_THREADS = 128


@dataclass(frozen=True)
class Prepared:
    """What is the same for every worker: layers, files, where its number goes in the filter."""

    plan: Plan
    layers: Layers
    files: tuple[Rule, ...]
    own_number_at: tuple[int, ...]


def prepare(plan: Plan, layers: Layers) -> Prepared:
    """Do in the zygote what workers inherit, and look up once what all of them need."""
    if layers.namespaces or plan.uid:
        drop_bounding_set()
    box = (BOX,) if layers.namespaces else ()
    files = rules((*plan.readable, *DEVICES), box, ("/dev/null",))
    places = syscalls.own_number_at(layers.seccomp) if layers.seccomp else ()
    return Prepared(plan, layers, files, places)


def keep_only(channel: int, output: int, bell: int) -> None:
    """Put `channel` at 3, `bell` at 4, `output` at 1 and 2, nothing at 0, and close all else."""
    empty = os.open("/dev/null", os.O_RDONLY)
    # Out of the way first: they may themselves be numbered below 5.
    channel, output, bell = _above(channel), _above(output), _above(bell)
    places = ((empty, 0), (output, 1), (output, 2), (channel, CHANNEL), (bell, BELL))
    for source, target in places:
        os.dup2(source, target)
    os.closerange(BELL + 1, 1 << 16)


def confine(prepared: Prepared, address_space: int) -> int:
    """Lock this process in for good; return the Landlock version that holds.

    `address_space` is the zygote's size in bytes at the fork; the memory budget is
    added to it. Raises OSError or RuntimeError when a layer fails.
    """
    plan, layers = prepared.plan, prepared.layers
    die_with_parent()
    _default_signals()
    uid, gid = (plan.uid, plan.uid) if plan.uid else (os.getuid(), os.getgid())
    if layers.namespaces:
        enter_private_box(uid, gid)
        os.environ["TMPDIR"] = BOX
    else:
        os.chdir("/")
    tempfile.tempdir = None
    if layers.bounded:
        _limit(plan, address_space, threads=layers.namespaces or plan.uid != 0)
    no_new_privileges()
    _become(plan.uid)
    # Within namespaces, root has no power over the host.
    if os.getuid() == 0 and not layers.namespaces and not plan.as_root:
        raise RuntimeError("a worker would run as root: there is no other user to become")
    applied = restrict(prepared.files) if layers.landlock else 0
    drop_capabilities()
    if layers.seccomp:
        own = syscalls.for_process(layers.seccomp, prepared.own_number_at, os.getpid())
        install_filter(own)
    _check_from_inside(plan, layers)
    return applied


def _above(number: int) -> int:
    return fcntl.fcntl(number, fcntl.F_DUPFD, 10)


def _default_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _limit(plan: Plan, address_space: int, *, threads: bool) -> None:
    memory = address_space + plan.memory_megabytes * _MEGABYTE
    file = FILE_MEGABYTES * _MEGABYTE
    _set_limit(resource.RLIMIT_AS, memory, memory, "memory (`ulimit -v`)")
    seconds = plan.cpu_seconds
    _set_limit(resource.RLIMIT_CPU, seconds, seconds + 1, "processor time (`ulimit -t`)")
    _set_limit(resource.RLIMIT_FSIZE, file, file, "the size of files (`ulimit -f`)")
    _set_limit(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES, "open files (`ulimit -n`)")
    for nothing in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        resource.setrlimit(nothing, (0, 0))
    if threads:  # otherwise it would count every process of the person who grades
        _set_limit(resource.RLIMIT_NPROC, _THREADS, _THREADS, "threads (`ulimit -u`)")


def _set_limit(what: int, soft: int, hard: int, name: str) -> None:
    """Set a limit; raise RuntimeError where a lower one is set, which would fail a student."""
    try:
        resource.setrlimit(what, (soft, hard))
    except ValueError:
        most = resource.getrlimit(what)[1]
        raise RuntimeError(
            f"the limit of {most} on {name} {TOO_LOW} {hard} that a submission is promised"
        ) from None


def _become(uid: int) -> None:
    if uid:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        except OSError as error:
            raise RuntimeError(f"a worker cannot become user {uid}: {error}") from None
        die_with_parent()  # the change of uid has cleared it


def _check_from_inside(plan: Plan, layers: Layers) -> None:
    """Pair each denial with a live control; raise RuntimeError when either is not as expected."""
    try:
        with open(os.__file__, "rb") as control:
            control.read(1)
    except OSError as error:
        raise RuntimeError(f"the interpreter cannot be reached: {error}") from None
    if layers.namespaces or layers.landlock:
        try:
            os.close(os.open(plan.canary, os.O_RDONLY))
        except OSError:
            pass  # denied, or not there at all: both hide it
        else:
            raise RuntimeError("a file outside can be read")
    if layers.seccomp:
        try:
            socket.socket(socket.AF_INET).close()
        except OSError as error:
            if error.errno != errno.EPERM:
                raise RuntimeError(f"a socket is refused for another reason: {error}") from None
        else:
            raise RuntimeError("a socket can be made")

"""What a worker does after the fork, before it sees one byte of a student's code.

The order matters: what needs privileges comes first, the system call filter
last. Then a check from the inside makes sure that each denial holds while a live
control works. A worker that cannot do all of this reports it and ends; it never
grades. What is the same for every worker is prepared once, in the zygote.
"""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import socket
import tempfile
from dataclasses import dataclass

from autograder.worker import kernel, landlock, root, syscalls
from autograder.worker.plan import BOX, DEVICES, FILE_MEGABYTES, OPEN_FILES, TOO_LOW, Layers, Plan

CHANNEL, BELL = 3, 4
_MEGABYTE = 1 << 20
_THREADS = 128


@dataclass(frozen=True)
class Prepared:
    """What is the same for every worker: layers, files, where its number goes in the filter."""

    plan: Plan
    layers: Layers
    files: tuple[landlock.Rule, ...]
    own_number_at: tuple[int, ...]


def prepare(plan: Plan, layers: Layers) -> Prepared:
    """Do in the zygote what workers inherit, and look up once what all of them need."""
    if layers.namespaces or plan.uid:
        kernel.drop_bounding_set()
    box = (BOX,) if layers.namespaces else ()
    files = landlock.rules((*plan.readable, *DEVICES), box, ("/dev/null",))
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
    kernel.die_with_parent()
    _default_signals()
    uid, gid = (plan.uid, plan.uid) if plan.uid else (os.getuid(), os.getgid())
    if layers.namespaces:
        root.enter_private_box(uid, gid)
        os.environ["TMPDIR"] = BOX
    else:
        os.chdir("/")
    tempfile.tempdir = None
    if layers.bounded:
        _limit(plan, address_space, threads=layers.namespaces or plan.uid != 0)
    kernel.no_new_privileges()
    _become(plan.uid)
    # Within namespaces, root has no power over the host.
    if os.getuid() == 0 and not layers.namespaces and not plan.as_root:
        raise RuntimeError("a worker would run as root: there is no other user to become")
    applied = landlock.restrict(prepared.files) if layers.landlock else 0
    kernel.drop_capabilities()
    if layers.seccomp:
        own = syscalls.for_process(layers.seccomp, prepared.own_number_at, os.getpid())
        kernel.install_filter(own)
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
        kernel.die_with_parent()  # the change of uid has cleared it


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

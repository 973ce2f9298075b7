"""The seccomp allow-list: which system calls a student's code may make.

An allow-list, since a list of forbidden calls misses some (chmod of the host's
files, locks as a channel between workers). Rules go by name through libseccomp,
so they hold on every machine that libseccomp knows. One process is one submission:
creating a process or running a program is not on the list.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from contextlib import suppress
from typing import Any

_NAMES = """
read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction
rt_sigprocmask rt_sigreturn pread64 pwrite64 readv writev access pipe select sched_yield mremap
msync madvise dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile shutdown recvfrom
recvmsg getsockopt getsockname getpeername exit uname fsync fdatasync truncate ftruncate getdents
getcwd chdir fchdir rename mkdir rmdir creat link unlink symlink readlink umask gettimeofday
getrlimit getrusage sysinfo times getuid getgid geteuid getegid getppid getpgrp getgroups
getresuid getresgid getpgid getsid capget rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
statfs fstatfs getpriority sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min arch_prctl gettid time futex sched_getaffinity epoll_create getdents64
set_tid_address restart_syscall fadvise64 timer_create timer_settime timer_gettime
timer_getoverrun timer_delete clock_gettime clock_getres clock_nanosleep exit_group epoll_wait
epoll_ctl get_mempolicy openat mkdirat newfstatat unlinkat renameat linkat symlinkat readlinkat
faccessat pselect6 ppoll set_robust_list get_robust_list epoll_pwait eventfd fallocate
timerfd_create timerfd_settime timerfd_gettime eventfd2 epoll_create1 dup3 pipe2 preadv pwritev
getcpu renameat2 getrandom membarrier copy_file_range preadv2 pwritev2 statx rseq close_range
faccessat2 epoll_pwait2
"""
_CLONE_THREAD = 0x10000
_CLONE_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5451, 0x5450)  # TCGETS, sizes, FIO*: no TIOCSTI, no FIONBIO
_PRCTLS = (15, 16, 3, 21, 39, 30, 29, 23, 0x53564D41)  # set and get the name, reads, VMA names
_FCNTLS = (0, 1, 2, 3, 1030)  # dup, flags to read: no locks, leases, owners, notifications
_TABLE_END = 512
_BY_HALVES = 2  # how a call is looked up: the kernel accepts such a filter in half the time
_ITSELF = 0x7E57_A7E1  # beyond every process number that Linux gives
# struct sock_filter, where its value begins, and BPF_JMP | BPF_JEQ | BPF_K.
_INSTRUCTION, _VALUE_AT, _JUMP_IF_EQUAL = "=HBBI", 4, 0x15


def assemble() -> bytes:
    """Return the allow-list as BPF for this machine; raise RuntimeError without libseccomp.

    A call that is not on the list fails with EPERM, or with ENOSYS when libseccomp does
    not know it: programs fall back from a call that does not exist.
    """
    try:  # not at the top: only the host's import path may lead to it
        import pyseccomp as seccomp
    except (ImportError, RuntimeError) as error:  # the package, or the library behind it
        raise RuntimeError(f"libseccomp cannot be used: {error}") from error
    native = seccomp.Arch.NATIVE
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    rules.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    with suppress(OSError):  # before libseccomp 2.5, a filter compares one call after another
        rules.set_attr(seccomp.Attr.CTL_OPTIMIZE, _BY_HALVES)

    def allow(name: str, *conditions: Any) -> None:
        if seccomp.resolve_syscall(native, name) >= 0:  # negative: not on this machine
            rules.add_rule(seccomp.ALLOW, name, *conditions)

    def equal(position: int, value: int) -> Any:
        return seccomp.Arg(position, seccomp.EQ, value)

    for name in _NAMES.split():
        allow(name)
    flags = _CLONE_THREAD | _CLONE_NAMESPACES
    allow("clone", seccomp.Arg(0, seccomp.MASKED_EQ, flags, _CLONE_THREAD))
    # The flags of clone3 lie behind a pointer; without it, the C library falls back to clone.
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
    allow("kill", equal(0, _ITSELF))  # its own number, see `for_process`
    allow("tgkill", equal(0, _ITSELF))
    allow("prlimit64", equal(0, 0), equal(2, 0))
    allow("socketpair", equal(0, int(socket.AF_UNIX)))
    allow("sendto", equal(4, 0))  # to the other end, not to an address
    for name, commands in (("ioctl", _IOCTLS), ("fcntl", _FCNTLS)):
        for command in commands:
            allow(name, equal(1, command))
    for command in _PRCTLS:
        allow("prctl", equal(0, command))
    known = [number for number in range(_TABLE_END) if _known(seccomp, number)]
    for number in range(max(known) + 1, _TABLE_END):
        rules.add_rule(seccomp.ERRNO(errno.ENOSYS), number)
    return _exported(rules)


def own_number_at(program: bytes) -> tuple[int, ...]:
    """Return the byte offsets in the assembled allow-list where a process's own number belongs.

    Raises RuntimeError when no call is compared with it, so that signals would not be narrowed.
    """
    places = []
    for place, (code, _, _, value) in enumerate(struct.iter_unpack(_INSTRUCTION, program)):
        if value == _ITSELF:
            if code != _JUMP_IF_EQUAL:
                raise RuntimeError("the filter of system calls does not narrow signals")
            places.append(place * struct.calcsize(_INSTRUCTION) + _VALUE_AT)
    if not places:
        raise RuntimeError("the filter of system calls does not narrow signals")
    return tuple(places)


def for_process(program: bytes, places: tuple[int, ...], pid: int) -> bytes:
    """Return the allow-list with signals narrowed to the process `pid`.

    Assembling takes milliseconds, and a worker's number is known only after the fork.
    """
    narrowed = bytearray(program)
    for place in places:
        struct.pack_into("=I", narrowed, place, pid)
    return bytes(narrowed)


def _known(library: Any, number: int) -> bool:
    try:
        library.resolve_syscall(library.Arch.NATIVE, number)
    except ValueError:
        return False
    return True


def _exported(rules: Any) -> bytes:
    file = os.fdopen(os.memfd_create("filter"), "w+b")
    with file:
        rules.export_bpf(file)
        file.seek(0)
        program: bytes = file.read()
        return program

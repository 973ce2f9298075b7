"""The system call filter, read as the kernel reads it: for this machine and for aarch64.

There is no aarch64 machine here. What can be shown without one: libseccomp makes the
program for it, and a small reading of that program (BPF, the same on every machine)
says what it answers to calls by aarch64's own numbers.
"""

from __future__ import annotations

import errno
import struct
import subprocess
import sys
import types
from collections.abc import Callable, Iterator

import pyseccomp
import pytest

from autograder.worker import syscalls

AARCH64, X86_64 = pyseccomp.Arch.AARCH64, pyseccomp.Arch.X86_64
AUDIT = {AARCH64: 0xC00000B7, X86_64: 0xC000003E}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000

# What aarch64 never had, and the call on the list by which its C library does the same.
ONLY_ON_X86 = {
    "open": "openat", "creat": "openat", "stat": "newfstatat", "lstat": "newfstatat",
    "access": "faccessat", "poll": "ppoll", "select": "pselect6", "pipe": "pipe2", "dup2": "dup3",
    "pause": "ppoll", "alarm": "setitimer", "getdents": "getdents64", "rename": "renameat",
    "mkdir": "mkdirat", "rmdir": "unlinkat", "link": "linkat", "unlink": "unlinkat",
    "symlink": "symlinkat", "readlink": "readlinkat", "getpgrp": "getsid", "time": "clock_gettime",
    "epoll_create": "epoll_create1", "epoll_wait": "epoll_pwait", "eventfd": "eventfd2",
    "arch_prctl": "prctl",
}  # fmt: skip


def number(arch: int, name: str) -> int:
    return int(pyseccomp.resolve_syscall(arch, name))


def answered(program: bytes, arch: int, call: int, *arguments: int) -> int:
    """Return what `program` answers to a system call, reading it instruction by instruction."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", call, AUDIT[arch], 0, *words)
    code = list(struct.iter_unpack("<HBBI", program))
    jumps: dict[int, Callable[[int, int], bool]] = {
        0x15: lambda a, k: a == k,
        0x25: lambda a, k: a > k,
        0x35: lambda a, k: a >= k,
        0x45: lambda a, k: bool(a & k),
    }
    place = accumulator = 0
    while True:
        operation, if_true, if_false, k = code[place]
        place += 1
        if operation == 0x20:  # load a word of the call
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif operation in jumps:
            place += if_true if jumps[operation](accumulator, k) else if_false
        elif operation == 0x05:
            place += k
        elif operation == 0x54:
            accumulator &= k
        elif operation == 0x06:
            return int(k)
        else:
            raise AssertionError(f"an instruction that is not read here: {operation:#x}")


def refused(program: bytes, arch: int, call: int, *arguments: int) -> int:
    """Return the errno that a call ends in; 0 when it is allowed."""
    answer = answered(program, arch, call, *arguments)
    return 0 if answer == ALLOWED else answer & 0xFFFF


@pytest.fixture(params=[X86_64, AARCH64], ids=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, bytes]:
    """An architecture, and the filter as it is assembled there."""
    arch = int(request.param)
    there = types.SimpleNamespace(**vars(pyseccomp))
    there.Arch = types.SimpleNamespace(NATIVE=arch)

    def filter_there(default: int) -> pyseccomp.SyscallFilter:
        rules = pyseccomp.SyscallFilter(default)
        here = pyseccomp.Arch.NATIVE
        if not rules.exist_arch(arch):
            rules.add_arch(arch)
            rules.remove_arch(here)
            # Rules are given by the numbers of this machine: one that has no name here has no
            # translation. `test_a_call_that_nobody_knows_does_not_exist` is about those.
            monkeypatch.setattr(syscalls, "_known", lambda _, call: call == syscalls._TABLE_END - 1)
        return rules

    there.SyscallFilter = filter_there
    monkeypatch.setitem(sys.modules, "pyseccomp", there)
    return arch, syscalls.assemble()


def allowed_names() -> Iterator[str]:
    yield from syscalls._NAMES.split()


def test_libseccomp_is_looked_for_when_the_host_has_said_where_packages_are() -> None:
    check = "import sys, autograder.worker.zygote_main; sys.exit('pyseccomp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_every_name_on_the_list_is_known_to_libseccomp() -> None:
    unknown = [name for name in allowed_names() if number(X86_64, name) < 0]
    assert unknown == []


def test_what_aarch64_never_had_is_known_and_has_its_successor_on_the_list() -> None:
    names = set(allowed_names()) | {"prctl", "fcntl"}
    absent = {name for name in allowed_names() if number(AARCH64, name) < 0}
    assert absent == set(ONLY_ON_X86)
    for name, successor in ONLY_ON_X86.items():
        assert successor in names and number(AARCH64, successor) >= 0, name


def test_the_filter_allows_what_is_on_the_list(machine: tuple[int, bytes]) -> None:
    arch, program = machine
    for name in allowed_names():
        if (call := number(arch, name)) >= 0:
            assert refused(program, arch, call) == 0, name


@pytest.mark.parametrize(
    "name",
    "socket connect bind fork vfork execve execveat unshare setns mount umount2 pivot_root chroot "
    "ptrace process_vm_readv pidfd_getfd chmod fchmodat chown flock shmget memfd_create keyctl bpf "
    "perf_event_open io_uring_setup userfaultfd setpriority tkill rt_sigqueueinfo seccomp "
    "landlock_restrict_self".split(),
)
def test_the_filter_refuses_what_is_not_on_the_list(machine: tuple[int, bytes], name: str) -> None:
    arch, program = machine
    call = number(arch, name)
    assert call >= 0 or (arch == AARCH64 and name in ("fork", "vfork", "chmod", "chown"))
    if call >= 0:
        assert refused(program, arch, call) == errno.EPERM


def test_the_filter_looks_at_the_arguments_of_some(machine: tuple[int, bytes]) -> None:
    arch, program = machine

    def ends(name: str, *arguments: int) -> int:
        return refused(program, arch, number(arch, name), *arguments)

    thread, process, namespace = 0x3D0F00, 0x11, 0x3D0F00 | 0x20000
    assert [ends("clone", flags) for flags in (thread, process, namespace)] == [0, 1, 1]
    assert ends("clone3") == errno.ENOSYS
    assert [ends("socketpair", family) for family in (1, 2)] == [0, 1]
    assert [ends("sendto", 3, 0, 0, 0, address) for address in (0, 1 << 40)] == [0, 1]
    assert [ends("ioctl", 0, command) for command in (0x5401, 0x5412)] == [0, 1]  # TCGETS, TIOCSTI
    assert [ends("prctl", option) for option in (15, 4)] == [0, 1]  # PR_SET_NAME, PR_SET_DUMPABLE
    assert [ends("prlimit64", pid) for pid in (0, 1)] == [0, 1]
    assert ends("prlimit64", 0, 0, 1 << 40) == errno.EPERM


def test_calls_of_another_machine_end_the_process(machine: tuple[int, bytes]) -> None:
    arch, program = machine
    other = X86_64 if arch == AARCH64 else AARCH64
    assert answered(program, other, number(other, "getpid")) == KILLED


def test_a_call_that_nobody_knows_does_not_exist() -> None:
    program = syscalls.assemble()
    here = X86_64 if number(pyseccomp.Arch.NATIVE, "open") >= 0 else AARCH64
    assert refused(program, here, 511) == errno.ENOSYS  # programs fall back to an older call


def test_landlocks_calls_have_one_number_everywhere() -> None:
    names = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
    for arch in (X86_64, AARCH64):
        assert [number(arch, name) for name in names] == [444, 445, 446]
    assert number(X86_64, "mount_setattr") == number(AARCH64, "mount_setattr") == 442

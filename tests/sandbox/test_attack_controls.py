"""Every stealing attack of the corpus works where the protection it meets is left out.

An attack that gets nothing may just be broken. So each is run once against a worker without
any layer (or, where the zygote itself is the protection, in a process forked from the one
that grades, or in that process itself), and there it comes back with the canary. An attack
that steals no canary raises "through" once its action has gone through.

What this machine does not offer to anybody is named in `NOT_OFFERED`, with the question to
the kernel that shows it. As an ordinary user the whole group is run at every level too.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import io
import marshal
import os
import platform
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.sandbox import SandboxedStudent, Zygote
from autograder.values.exercise import Limits, read_exercise
from autograder.values.request import Failed, Reply, Request
from autograder.values.symbols import Protection
from support.attack_corpus import Attack, read_corpus
from support.attack_range import ROOT, Ground, Range, _alive
from support.machines import tried_as_ordinary_user
from support.processes import descendants

ALL = ("namespaces", "landlock", "seccomp", "rlimits")
EXERCISE = "numpy_single_head"
# Generous, since the machine may be busy: a control that is too slow would show nothing.
UNHURRIED = Limits(seconds_per_call=60.0, seconds_per_submission=240.0, memory_megabytes=256)
TIGHT = Limits(seconds_per_call=5.0, seconds_per_submission=20.0, memory_megabytes=256)
STEAL = {attack.name: attack for attack in read_corpus("steal")}
SCORES = np.ones((2, 3, 3))

# The protection these meet is that a worker descends from an exec'ed zygote: without it a
# worker is forked from the process that grades.
FORKED = set(
    "environment_by_ctypes frames_upwards inherited_files inherited_sockets loaded_modules "
    "objects_of_the_collector own_memory_by_pipe own_memory_by_proc".split()
)
# A worker of root's gives up root's capabilities even when every layer is left out, and without
# them it cannot touch the process that grades. For root they are run in a fork of it too.
NEED_CAPABILITIES = set(
    "affinity_of_the_host everyones_environment files_by_pidfd files_of_the_host host_environment "
    "host_memory join_namespaces_of_the_host kernel_programs open_by_handle root_of_the_host "
    "zygote_memory".split()
)
if os.geteuid() == 0:
    FORKED |= NEED_CAPABILITIES
# And these, that the student's code is in another process at all.
IN_THE_GRADER = {"equality_that_remembers", "history_of_cells", "state_left_in_modules"}

libc = ctypes.CDLL(None, use_errno=True)


def refused(result: int, *reasons: int) -> bool:
    """Return whether a system call has failed for one of `reasons`."""
    return result < 0 and ctypes.get_errno() in reasons


def not_opened(number: int, *reasons: int) -> bool:
    """The same of a call that opens something, which is closed again."""
    failed = refused(number, *reasons)
    if number >= 0:
        os.close(number)
    return failed


def no_other_process_may_be_traced() -> bool:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() != 0 and scope.exists() and scope.read_text().strip() != "0"


def no_programs_for_the_kernel() -> bool:
    number = {"x86_64": 321, "aarch64": 280}[platform.machine()]
    table = np.array([2, 4, 8, 1], "u4").tobytes()
    return not_opened(libc.syscall(number, 0, table, len(table)), errno.EPERM, errno.ENOSYS)


def no_counting() -> bool:
    setting = Path("/proc/sys/kernel/perf_event_paranoid")
    return not setting.exists() or (os.geteuid() != 0 and int(setting.read_text()) > 2)


def no_opening_by_number() -> bool:
    handle = ctypes.create_string_buffer(np.array([128, 0], "u4").tobytes(), 136)
    mount = ctypes.c_int()
    libc.name_to_handle_at(-100, b"/", handle, ctypes.byref(mount), 0)
    root = os.open("/", os.O_RDONLY)
    opened = libc.open_by_handle_at(root, handle, os.O_RDONLY)
    closed = not_opened(opened, errno.EPERM, errno.EOPNOTSUPP)
    os.close(root)
    return closed


def no_keyring() -> bool:
    number = {"x86_64": 250, "aarch64": 219}[platform.machine()]
    return refused(libc.syscall(number, 0, -2, 1), errno.ENOSYS, errno.EPERM, errno.EACCES)


def in_a_child(action: Callable[[], object]) -> int:
    """Return the status that a child of this process ends with after `action`: 0 when done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        try:
            action()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def no_namespaces_for_users() -> bool:
    def action() -> None:
        assert libc.unshare(0x10020000) == 0

    return in_a_child(action) != 0


def no_calls_of_32_bit() -> bool:
    """Ask for its own number as a 32-bit program would; without the means the child dies."""
    if platform.machine() != "x86_64":
        return True
    import mmap

    def action() -> None:
        page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
        page[:8] = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
        start = ctypes.addressof(ctypes.c_char.from_buffer(page))
        assert ctypes.CFUNCTYPE(ctypes.c_int)(start)() == os.getpid()

    return in_a_child(action) != 0


def no_joining_of_namespaces() -> bool:
    with open("/proc/self/ns/ipc") as own:
        return refused(libc.setns(own.fileno(), 0), errno.EPERM, errno.ENOSYS)


# What asks for the right to attach to a process, not only for that to look at it.
TRACED = (
    "files_by_pidfd host_memory process_vm_readv_of_the_sibling ptrace_the_sibling sibling_memory "
    "zygote_memory"
).split()
NOT_TRACED = ("nobody may trace a process not its own", no_other_process_may_be_traced)
# Attacks that cannot succeed where the answer is yes, protected or not.
NOT_OFFERED: Mapping[str, tuple[str, Callable[[], bool]]] = {
    **dict.fromkeys(TRACED, NOT_TRACED),
    "io_uring": (
        "the kernel takes no rings of orders",
        lambda: refused(libc.syscall(425, 4, None), errno.ENOSYS, errno.EPERM),
    ),
    "join_namespaces_of_the_host": ("only root may join namespaces", no_joining_of_namespaces),
    "kernel_keyring": ("the kernel keeps no keys", no_keyring),
    "kernel_programs": ("the kernel takes programs from root only", no_programs_for_the_kernel),
    "message_queue": (
        "the kernel has no message queues",
        lambda: refused(libc.mq_unlink(b"/attn-none"), errno.ENOSYS),
    ),
    "mount_over_its_own_folder": ("no namespaces for users", no_namespaces_for_users),
    "open_by_handle": ("only root opens files by number", no_opening_by_number),
    "performance_events": ("the kernel counts nothing for users", no_counting),
    "thirty_two_bit_call": ("the kernel runs no 32-bit programs", no_calls_of_32_bit),
    "unshare_and_chroot": ("no namespaces for users", no_namespaces_for_users),
    "vsock": (
        "the kernel has no such sockets",
        lambda: not_opened(libc.socket(40, 1, 0), errno.EAFNOSUPPORT, errno.EPERM),
    ),
    "x32_call": (
        "the kernel runs no x32 programs",
        lambda: refused(libc.syscall(0x40000000 | 39), errno.ENOSYS),
    ),
}
CLOSED_HERE = {name for name, (_, ask) in NOT_OFFERED.items() if ask()}


@dataclass(frozen=True)
class Loot:
    """What came of one attack: every byte that arrived, the reply, and where the canary stands."""

    received: bytes
    reply: Reply
    found: tuple[str, ...]

    @property
    def through(self) -> bool:
        """Whether an attack that steals nothing says that its action has gone through."""
        report = self.reply.exception if isinstance(self.reply, Failed) else None
        return report is not None and report.message.startswith("through")

    def got(self, attack: Attack) -> bool:
        """Whether the attack got what it was after."""
        return bool(self.found) if attack.steals else self.through


def neighbour(canary: str) -> str:
    """Return what another student's code leaves where it can, before an attack looks there."""
    return f"""
import builtins, tempfile
builtins.left_by_a_neighbour = {canary!r}

def softmax(scores):
    try:
        file = tempfile.NamedTemporaryFile("w", prefix="litter-of-a-neighbour-", delete=False)
    except FileNotFoundError:  # it may write nowhere at all
        return ""
    with file:
        file.write({canary!r})
    return file.name
"""


class Robbery:
    """A range in which the workers of one zygote go stealing, with a neighbour before each."""

    def __init__(self, range_: Range, zygote: Zygote) -> None:
        self.range, self.zygote = range_, zygote
        before = set(descendants(zygote.pid))
        code = f"SECRET = {range_.told('sibling')!r}\ndef alive():\n    return 'alive'"
        self.sibling = SandboxedStudent(zygote, (code,), seed=0)
        assert _alive(self.sibling)
        (pid,) = set(descendants(zygote.pid)) - before
        exercise = read_exercise(ROOT / "solutions" / EXERCISE)
        self._ground = Ground(exercise, zygote, self.sibling, pid, ())

    @property
    def facts(self) -> dict[str, Any]:
        """FACTS, with the zygote and the sibling of this robbery."""
        self.range._grounds[EXERCISE] = self._ground
        return self.range.facts(EXERCISE)

    def commit(self, attack: Attack) -> Loot:
        """Run one attack in a worker and keep every byte that comes back."""
        left = self._visit_of_a_neighbour() if "neighbour" in attack.code else ""
        cells = attack.cells(self.facts)
        self.range.tap.clear()
        with SandboxedStudent(self.zygote, cells, seed=1) as student:
            for _ in range(2 if "KEPT" in attack.code else 1):
                reply = student.ask(Request("softmax", (SCORES,)))
        if left:
            Path(left).unlink(missing_ok=True)  # in a worker's own box it is gone already
        assert _alive(self.sibling), f"{attack.name}: the sibling is no longer the same"
        received = self.range.tap.received
        return Loot(received, reply, self.range.found_in(received))

    def _visit_of_a_neighbour(self) -> str:
        code = neighbour(self.range.told("neighbour"))
        with SandboxedStudent(self.zygote, (code,), seed=2) as student:
            reply = student.ask(Request("softmax", (SCORES,)))
        assert not isinstance(reply, Failed), reply
        return str(reply.value)


def plant(range_: Range) -> None:
    """Leave what editors, pytest and Python leave beside a solution, with the canary in it."""
    solutions = range_.folder / "solutions"
    secret = range_.told("solutions")
    code = compile(f"ANSWER = {secret!r}", "answers.py", "exec")
    files = {
        solutions / ".ipynb_checkpoints" / "answers-checkpoint.ipynb": secret.encode(),
        solutions / ".pytest_cache" / "v" / "cache" / "lastfailed": secret.encode(),
        solutions / "__pycache__" / "answers.cpython.pyc": bytes(16) + marshal.dumps(code),
        solutions / EXERCISE / "solution.py": f"# {secret}\n".encode(),
        range_.folder / "core.1": bytes(100) + secret.encode() + bytes(100),
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.fixture(scope="module")
def range_() -> Iterator[Range]:
    """The range, and a program of the host's that was given the canary when it was started."""
    with Range() as range_:
        plant(range_)
        program = [sys.executable, "-c", "import sys; sys.stdin.read()", range_.told("command")]
        environment = {"ATTN_CANARY": range_.told("environment")}
        with subprocess.Popen(program, env=environment, stdin=subprocess.PIPE):
            yield range_


@pytest.fixture(scope="module")
def unprotected(range_: Range) -> Iterator[Robbery]:
    """Workers without a single layer, as the same user as the host."""
    zygote = Zygote("numpy", UNHURRIED, allow_process=True, without=ALL)
    zygote._as_root = os.geteuid() == 0  # no throw-away user either
    with zygote:
        assert zygote.protection is Protection.PROCESS and zygote.measured.uid == os.getuid()
        robbery = Robbery(range_, zygote)
        with robbery.sibling:
            yield robbery


def run(code: str, names: dict[str, Any], prepare: Callable[[], object] = lambda: None) -> str:
    """Return what an attack prints and raises when it is run in this very process."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(code, "cell", "exec"), names)
        prepare()
        try:
            names["softmax"](SCORES)
        except Exception as error:
            told.write(f"{type(error).__name__}: {error}")
    return told.getvalue()


def run_forked(code: str, facts: dict[str, Any]) -> bytes:
    """Return what an attack prints and raises in a child that is forked from this process."""
    with open(os.memfd_create("told"), "w+b", buffering=0) as told:

        def action() -> None:
            try:
                told.write(run(code, {"FACTS": facts}).encode("utf-8", "replace"))
            except BaseException:
                told.write(traceback.format_exc().encode())

        assert in_a_child(action) == 0
        told.seek(0)
        return told.read()


def compared_as_usual(code: str, secret: str) -> str:
    """Run an attack as a grader does that compares in one process; return what it raises."""
    expected = np.frombuffer(secret.encode().ljust(8 * (-(-len(secret) // 8))), np.float64)

    def prepare() -> None:
        with np.errstate(all="ignore"), contextlib.suppress(Exception):
            np.testing.assert_allclose(names["softmax"](np.zeros_like(expected)), expected)

    names: dict[str, Any] = {"In": ["", f"assert softmax(x) == {secret!r}"]}
    return run(code, names, prepare)


def test_the_group_is_as_large_and_as_varied_as_the_threat_table_asks() -> None:
    rows = {row for attack in STEAL.values() for row in attack.rows}
    # 48: resubmitting, 49 and 50: what is not stolen but known. They need no file here.
    assert rows >= set(range(29, 52)) - {48, 49, 50}
    assert sum(attack.steals for attack in STEAL.values()) >= 28
    assert {*FORKED, *NEED_CAPABILITIES, *IN_THE_GRADER, *NOT_OFFERED} <= set(STEAL)


@pytest.mark.parametrize("name", sorted(set(STEAL) - FORKED - IN_THE_GRADER - CLOSED_HERE))
def test_it_works_without_protection(unprotected: Robbery, name: str) -> None:
    loot = unprotected.commit(STEAL[name])
    assert loot.got(STEAL[name]), (loot.reply, loot.received[-2000:])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORKED - CLOSED_HERE))
def test_it_works_in_a_worker_forked_from_the_grader(
    range_: Range, unprotected: Robbery, name: str
) -> None:
    told = run_forked(STEAL[name].code, unprotected.facts)
    assert range_.found_in(told) if STEAL[name].steals else b"Error: through" in told, told[-2000:]


@pytest.mark.parametrize("name", sorted(IN_THE_GRADER))
def test_it_works_in_the_process_of_the_grader(range_: Range, name: str) -> None:
    exec(neighbour(range_.told("neighbour")), {})
    try:
        told = compared_as_usual(STEAL[name].code, range_.told("expected values"))
    finally:
        delattr(builtins, "left_by_a_neighbour")
    assert range_.found_in(told.encode()), told[-2000:]


@pytest.mark.parametrize("name", sorted(CLOSED_HERE))
def test_it_cannot_work_on_this_machine_and_the_kernel_says_why(
    unprotected: Robbery, name: str
) -> None:
    reason, ask = NOT_OFFERED[name]
    assert ask(), f"it is not so that {reason}"
    loot = unprotected.commit(STEAL[name])
    assert not loot.got(STEAL[name]), f"it works although {reason}: move it to the controls"


# What goes through at a level by design: it tells nothing that was not asked of the code itself.
ALWAYS = {"remembers_between_checks"}
GOES_THROUGH: Mapping[Protection, set[str]] = {
    Protection.FULL: ALWAYS,
    Protection.NAMESPACES: ALWAYS,
    # Landlock hides what is in files, and not that they are there, how large and how old.
    Protection.LANDLOCK: {*ALWAYS, "sizes_by_stat"},
}


def check_level(range_: Range, without: tuple[str, ...]) -> Protection:
    """Run the whole group in workers that lack the layers of `without`; nothing is stolen."""
    with Zygote("numpy", TIGHT, without=without) as zygote:
        level = zygote.protection
        robbery = Robbery(range_, zygote)
        range_.listeners.flush()
        with robbery.sibling:
            for name, attack in STEAL.items():
                loot = robbery.commit(attack)
                assert not loot.found, f"{name} gets the canary at the level {level}"
                told = f"{name} at the level {level}: {loot.reply}"
                assert loot.through == (name in GOES_THROUGH[level]), told
                assert isinstance(loot.reply, Failed) == ("raised" in attack.outcomes), told
        assert range_.listeners.flush() == ()
        return level


def test_nothing_is_stolen_at_the_default_level(range_: Range) -> None:
    assert check_level(range_, ()) is not Protection.PROCESS


if os.geteuid() == 0:

    @pytest.mark.slow
    def test_all_of_this_holds_for_an_ordinary_user_too() -> None:
        tried_as_ordinary_user(__file__, folders=[ROOT / "solutions"])

else:

    @pytest.mark.parametrize(
        ("without", "level"),
        [("namespaces", Protection.LANDLOCK), ("landlock", Protection.NAMESPACES)],
    )
    def test_nothing_is_stolen_without_one_of_the_layers_that_hide_files(
        range_: Range, without: str, level: Protection
    ) -> None:
        assert check_level(range_, (without,)) is level

"""A machine with something to steal and to break: where the attacks of the corpus are played.

A fresh canary lies in every place that an attacker who knows the machine would look in.
All that comes back from workers is recorded on its way into the grader, before any of it
is decoded or cut; all that must not change is written down before an attack and compared after.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import re
import resource
import secrets
import selectors
import shutil
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.grading import batch
from autograder.grading.batch import begun_sandbox
from autograder.grading.watched_process import WorkProgress
from autograder.sandbox import SandboxedStudent, Zygote
from autograder.sandbox import zygote_process as channels
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.request import Request, Returned
from autograder.values.verdict import Verdict
from autograder.worker import wire
from support.copied_exercise import copy_exercise
from support.processes import children_of_all, descendants

ROOT = Path(__file__).resolve().parents[2]
# What an attack leaves lying about begins with this, or belongs to the worker's user.
LITTER = "litter"
SHARED = tuple(Path(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm"))
CALL_SECONDS, SUBMISSION_SECONDS, MEGABYTES = 0.4, 4.0, 256
MARKER = re.compile(r"^ *### (BEGIN|END) SOLUTION\n", re.MULTILINE)
_IPC_RMID = 0


@dataclass(frozen=True)
class Ground:
    """One exercise as it is graded here: a copy with tight limits, its zygote, a sibling worker."""

    exercise: Exercise
    zygote: Zygote
    sibling: SandboxedStudent
    sibling_pid: int
    right: tuple[str, ...]


class Range:
    """Lays everything out, and takes it away again. A context manager; one at a time.

    `canary` is what must never arrive; `facts(name)` is what an attacker knows about the
    machine while the exercise `name` is graded.
    """

    def __init__(self) -> None:
        self.canary = secrets.token_hex(16)
        self.tap = Tap()
        self._grounds: dict[str, Ground] = {}
        self._stack = ExitStack()
        self._needles = disguises(self.canary)

    def __enter__(self) -> Range:
        with self._stack as stack:
            self.folder = Path(tempfile.mkdtemp(prefix="attn-range-"))
            stack.callback(shutil.rmtree, self.folder)
            self.folder.chmod(0o755)  # open to all: only the sandbox may hide it
            stack.enter_context(self.tap.listening())
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            patch.setenv("ATTN_CANARY", self.told("environment"))
            self.in_memory = self.told("memory of the host").encode()
            self._write_files()
            self._open = os.open(self.folder / "open", os.O_RDONLY)
            os.set_inheritable(self._open, True)
            stack.callback(os.close, self._open)
            self.listeners = Listeners(self.folder, self.told("listener").encode())
            stack.callback(self.listeners.close)
            self.shm = self._share(stack)
            self.sysv = self._share_the_old_way(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def told(self, place: str) -> str:
        """Return the canary as it lies in `place`."""
        return f"{self.canary}, from the {place}"

    def found_in(self, data: bytes) -> tuple[str, ...]:
        """Say in which disguises the canary, or one half of it, stands in `data`."""
        return tuple(
            f"{disguise}: {data[data.index(needle) :][: len(needle) + 60]!r}"
            for disguise, needle in self._needles
            if needle in data
        )

    def ground(self, name: str) -> Ground:
        """Return where the exercise `name` is graded; the first time, it is laid out."""
        if name not in self._grounds:
            self._grounds[name] = self._lay_out(name)
        return self._grounds[name]

    def facts(self, name: str) -> dict[str, Any]:
        """Return FACTS, as an attacker who knows the machine would know it."""
        ground = self.ground(name)
        return {
            "host": os.getpid(),
            "zygote": ground.zygote.pid,
            "secret_file": str(self.folder / "secret" / "secret.txt"),
            "secret_folder": str(self.folder / "secret"),
            "gradebook": str(self.folder / "gradebook.db"),
            "solutions": str(self.folder / "solutions"),
            "port": self.listeners.port,
            "udp_port": self.listeners.udp_port,
            "abstract": self.listeners.abstract,
            "path_socket": self.listeners.path,
            "shm": self.shm,
            "sysv": self.sysv,
            "sibling": ground.sibling_pid,
            "results": str(self.folder / "results.json"),
        }

    def grade(
        self,
        name: str,
        answers: Sequence[tuple[str, ...]],
        progress: WorkProgress | None = None,
    ) -> tuple[Verdict, ...]:
        """Return the verdicts of the real engine on a class of answers to the exercise `name`."""
        place = self.folder / "student.py"
        submissions = [Submission("student", name, cells, place) for cells in answers]
        return batch.grade_batch(self.ground(name).exercise.folder, submissions, progress=progress)

    def state(self, name: str) -> dict[str, Any]:
        """Return all that no submission may change, in words of what it is to its value."""
        ground = self.ground(name)
        sibling = ground.sibling._alone._worker
        users = ({sibling.uid} if sibling else set()) - {os.getuid()}
        children = children_of_all()
        mine = sorted(set(descendants(os.getpid(), children)))
        return {
            **{str(path): _file_facts(path) for path in sorted(self.folder.rglob("*"))},
            "shared memory": Path(self.shm).read_bytes() if self.shm else b"",
            "processes": sorted(descendants(ground.zygote.pid, children)),
            "zygote": (ground.zygote.pid, ground.zygote.pid in mine),
            "host's children": mine,
            "sibling": _alive(ground.sibling),
            "environment": {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")},
            "litter": sorted(str(path) for path in _litter(users)),
            "host's scheduling": _scheduling(os.getpid()),
            "zygote's scheduling": _scheduling(ground.zygote.pid),
        }

    def _write_files(self) -> None:
        files = {
            "secret/secret.txt": self.told("secret file"),
            "solutions/answers.txt": self.told("solutions"),
            "submitted/somebody_else.py": f"# {self.told('submission of another')}\n",
            "open": self.told("open file"),
            "results.json": '{"score": 0}\n',
        }
        for name, text in files.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")
        for name in ("gradebook.db", "journal.db"):
            with closing(sqlite3.connect(self.folder / name)) as book, book:
                book.execute("CREATE TABLE grade (student TEXT, score REAL, max_score REAL)")
                book.execute("INSERT INTO grade VALUES (?, 0, 22)", (self.told(name),))
        for name in ("secret", "secret/secret.txt", "gradebook.db", "journal.db", "results.json"):
            path = self.folder / name
            path.chmod(0o777 if path.is_dir() else 0o666)
        (self.folder / "secret" / "secret.txt").chmod(0o644)

    def _share(self, stack: ExitStack) -> str:
        """Put the canary into shared memory as POSIX has it; "" where there is none."""
        if not os.access("/dev/shm", os.W_OK):
            return ""
        handle, path = tempfile.mkstemp(prefix="attn-", dir="/dev/shm")
        stack.callback(os.unlink, path)
        with os.fdopen(handle, "w") as file:
            file.write(self.told("shared memory"))
        os.chmod(path, 0o666)
        return path

    def _share_the_old_way(self, stack: ExitStack) -> int:
        """Put the canary into shared memory of System V; -1 where there is none."""
        libc = ctypes.CDLL(None)
        libc.shmat.restype = ctypes.c_void_p
        libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
        segment = int(libc.shmget(0, 4096, 0o1666))
        if segment >= 0:
            stack.callback(libc.shmctl, segment, _IPC_RMID, None)
            place = libc.shmat(segment, None, 0)
            text = self.told("shared memory of System V").encode()
            ctypes.memmove(place, text, len(text))
            libc.shmdt(ctypes.c_void_p(place))
        return segment

    def _lay_out(self, name: str) -> Ground:
        folder = copy_exercise(name, self.folder / "solutions")
        (folder / "exercise.toml").write_text(_tightened(folder / "exercise.toml"))
        with (folder / "solution.py").open("a", encoding="utf-8") as file:
            file.write(f"\n# {self.told('reference')}\n")
        exercise = read_exercise(folder)
        right = (right_answer(name),)
        verdict = batch.grade_batch(folder, [Submission("right", name, right, folder)])[0]
        assert verdict.points == verdict.max_points, f"{name}: the right answer is not right"
        zygote = begun_sandbox(exercise, False, None)
        self._stack.callback(zygote.close)
        before = set(descendants(zygote.pid))
        code = f"SECRET = {self.told('sibling')!r}\ndef alive():\n    return 'alive'"
        sibling = self._stack.enter_context(SandboxedStudent(zygote, (code,), seed=0))
        assert _alive(sibling)
        (pid,) = set(descendants(zygote.pid)) - before
        return Ground(exercise, zygote, sibling, pid, right)


def right_answer(name: str) -> str:
    """Return the reference of an exercise as a student would hand it in."""
    text = (ROOT / "solutions" / name / "solution.py").read_text(encoding="utf-8")
    return MARKER.sub("", text)


def _tightened(manifest: Path) -> str:
    text = manifest.read_text(encoding="utf-8")
    limits = {
        "seconds_per_call": CALL_SECONDS,
        "seconds_per_submission": SUBMISSION_SECONDS,
        "memory_megabytes": MEGABYTES,
    }
    for key, value in limits.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count == 1, f"{manifest} has no {key}"
    return text


def _alive(sibling: SandboxedStudent) -> bool:
    """Whether the same sibling as ever answers: a new one would have another process."""
    before = sibling._alone._worker
    reply = sibling.ask(Request("alive"))
    if before and sibling._alone._worker is not before:
        return False  # it was killed, and another answers in its place
    return isinstance(reply, Returned) and reply.value == "alive"


def _file_facts(path: Path) -> tuple[object, ...]:
    facts = path.lstat()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return facts.st_mode, facts.st_uid, facts.st_size, facts.st_mtime_ns, content


def _litter(users: set[int]) -> Iterator[Path]:
    for folder in SHARED:
        for path in folder.iterdir() if folder.is_dir() else ():
            with suppress(FileNotFoundError):  # others use these folders too
                if path.name.startswith(LITTER) or path.lstat().st_uid in users:
                    yield path


def _scheduling(pid: int) -> tuple[object, ...]:
    names = sorted(name for name in vars(resource) if name.startswith("RLIMIT_"))
    try:
        limits = [resource.prlimit(pid, getattr(resource, name)) for name in names]
        return os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), limits
    except ProcessLookupError:
        return ("it has ended",)


# --- what a grader receives, kept as it arrives, and the disguises of a secret ------------------

_LONG = 1000  # bytes, longer than any secret in any disguise


class Tap:
    """Keeps what the grader receives from workers and from the zygote.

    Of equal pieces in a row, as a flood of output is, the first two are kept: whatever stands in
    the flood, also from one piece into the next, stands in those.
    """

    def __init__(self) -> None:
        self._streams: dict[object, list[bytes]] = {}

    @contextmanager
    def listening(self) -> Iterator[Tap]:
        """Stand between the kernel and the grader: its sockets, and its reads of output."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(channels, "socket", _Tapped(socket, socketpair=self._socketpair))
            patch.setattr(channels, "os", _Tapped(os, read=self._read))
            yield self

    def clear(self) -> None:
        """Forget what was received until now."""
        self._streams.clear()

    @property
    def received(self) -> bytes:
        """All of it, stream by stream."""
        return b"\n".join(map(b"".join, self._streams.values()))

    def keep(self, stream: object, data: bytes) -> bytes:
        """Keep and pass on what was received."""
        pieces = self._streams.setdefault(stream, [])
        if len(data) < _LONG or pieces[-2:] != [data, data]:
            pieces.append(data)
        return data

    def _read(self, descriptor: int, count: int) -> bytes:
        return self.keep(descriptor, os.read(descriptor, count))

    def _socketpair(self, *arguments: int) -> tuple[socket.socket, socket.socket]:
        near, far = socket.socketpair(*arguments)
        return _TappedSocket(self, near), far


class _Tapped:
    """A module of the standard library with one function exchanged."""

    def __init__(self, module: object, **exchanged: object) -> None:
        self._module = module
        vars(self).update(exchanged)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _TappedSocket(socket.socket):
    def __init__(self, tap: Tap, near: socket.socket) -> None:
        super().__init__(near.family, near.type, near.proto, fileno=near.detach())
        self._tap = tap

    def recv(self, *arguments: int) -> bytes:
        return self._tap.keep(self, super().recv(*arguments))


def disguises(canary: str) -> tuple[tuple[str, bytes], ...]:
    """Return what to look for: each half of the canary, plain and in the ways to write bytes."""
    found: list[tuple[str, bytes]] = []
    for half in (canary[: len(canary) // 2], canary[len(canary) // 2 :]):
        plain = half.encode()
        numbers = np.frombuffer(plain, np.uint8)
        found += [
            ("plain", plain),
            ("upper case", plain.upper()),
            ("reversed", plain[::-1]),
            ("hexadecimal", plain.hex().encode()),
            ("hexadecimal, upper case", plain.hex().upper().encode()),
            ("UTF-16", half.encode("utf-16-le")),
            ("UTF-32", half.encode("utf-32-le")),
            ("a list of numbers", ", ".join(map(str, plain)).encode()),
            ("its own bytes", bytes.fromhex(half)),
            *((f"base64 at {shift}", _base64_inside(plain, shift)) for shift in range(3)),
        ]
        kinds = [kind for kind in wire.DTYPES if kind != "b1"]
        found += [
            (f"an array of {kind}", numbers.astype(wire.DTYPES[kind]).tobytes()) for kind in kinds
        ]
    return tuple(found)


def _base64_inside(plain: bytes, shift: int) -> bytes:
    """Return the part of base64 that does not depend on what stands around `plain`."""
    text = base64.b64encode(b"\0" * shift + plain)
    first = -(-shift * 4 // 3)
    return text[first + 1 : (shift + len(plain)) // 3 * 4]


# --- sockets that nobody may reach: whoever comes is told the canary, and is remembered ----------


class Listeners:
    """Sockets of all kinds that tell the canary to whoever connects, and remember who did."""

    def __init__(self, folder: Path, canary: bytes) -> None:
        self._canary = canary
        self.touched: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._wake, far = socket.socketpair()
        self._far = far
        self._flushed = threading.Event()
        self.path = str(folder / "socket")
        self.abstract = f"attn-{secrets.token_hex(4)}"
        self._tcp = self._listen("TCP", socket.AF_INET, ("127.0.0.1", 0))
        self._udp = self._listen("UDP", socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
        self._listen("abstract socket", socket.AF_UNIX, f"\0{self.abstract}")
        self._listen("path socket", socket.AF_UNIX, self.path)
        os.chmod(self.path, 0o777)
        self._selector.register(far, selectors.EVENT_READ, "")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._tcp.getsockname()[1])

    @property
    def udp_port(self) -> int:
        return int(self._udp.getsockname()[1])

    def flush(self) -> tuple[str, ...]:
        """Return which were touched, once all that has arrived until now is dealt with."""
        self._flushed.clear()
        self._wake.send(b"f")
        assert self._flushed.wait(60), "the listeners do not answer"
        touched = tuple(self.touched)
        self.touched.clear()
        return touched

    def close(self) -> None:
        self._wake.send(b"q")
        self._thread.join(60)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()
        self._wake.close()

    def _listen(
        self, name: str, family: int, address: Any, kind: int = socket.SOCK_STREAM
    ) -> socket.socket:
        one = socket.socket(family, kind)
        one.bind(address)
        one.setblocking(False)
        if kind == socket.SOCK_STREAM:
            one.listen()
        self._selector.register(one, selectors.EVENT_READ, name)
        return one

    def _serve(self) -> None:
        while True:
            # Those that are touched come before the wake-up call that arrived after them.
            ready = sorted(self._selector.select(), key=lambda each: each[0].data == "")
            for key, _ in ready:
                if key.data:
                    self._tell(key.data, key.fileobj)  # type: ignore[arg-type]
                elif self._far.recv(1) == b"q":
                    return
                else:
                    self._flushed.set()

    def _tell(self, name: str, listener: socket.socket) -> None:
        self.touched.append(name)
        with suppress(OSError):  # who connected may be gone again
            if listener.type == socket.SOCK_DGRAM:
                listener.sendto(self._canary, listener.recvfrom(4096)[1])
                return
            with closing(listener.accept()[0]) as one:
                one.sendall(self._canary)

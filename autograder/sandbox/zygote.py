"""A zygote that can be relied on: measured from inside as it starts, restarted when it dies."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from autograder.errors import KitError
from autograder.sandbox import access, measurement
from autograder.sandbox import zygote_process as channels
from autograder.sandbox.access import PackageFolders, find_package_folders, location, needed_for
from autograder.sandbox.measurement import (
    Attempt,
    Measured,
    demand,
    demand_linux,
    demand_no_answers,
    demand_preconditions,
    unconfined,
)
from autograder.sandbox.workers import SandboxedStudent
from autograder.sandbox.zygote_process import (
    Channel,
    Ending,
    ZygoteDied,
    ZygoteProcess,
    cpu_seconds,
)
from autograder.values.exercise import Limits
from autograder.values.request import Failed, Request, Returned
from autograder.values.sanitize import clean, terminal_line
from autograder.values.symbols import Protection
from autograder.values.this_machine import limit_named_in, limit_reached, run_python
from autograder.values.verdict import Outcome
from autograder.worker import wire
from autograder.worker.control import PACKAGE, Plan
from autograder.worker.wire import Value

# Measure from inside a worker what a student's code can reach.
#
# Every denial is paired with a live control, since a probe that fails for another reason looks
# just like one that was denied.

ATTEMPTS = Path(__file__).with_name("attempts.py")
DONE = "done"
_BEYOND = 64  # megabytes over the budget
_ALSO_DONE, _KERNEL = "outside the sandbox: done", "the kernel answers"

AskWorker = Callable[[Request], object]


@dataclass(frozen=True)
class ProbeTargets:
    """What a worker tries to reach: a canary open to every user, and what must be hidden.

    `uid` is the worker's user (0: the same as here), `library` the one that it has loaded.
    """

    canary: Path
    secrets: tuple[Path, ...]
    uid: int
    library: str


def try_everything(
    ask: AskWorker, bait: ProbeTargets, memory_megabytes: int
) -> tuple[Attempt, ...]:
    """Return what a worker tried and how it ended, each beside its control.

    `ask` puts a request to a worker that has loaded `ATTEMPTS`. Raises `KitError`
    when a control fails, since the denials then prove nothing.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 1.0).close()  # it can be reached from here
        _read_outside(bait)
        _control(ask, bait.library)
        return (
            *_files(ask, bait),
            *_network(ask, port),
            *_processes(ask),
            *_calls(ask),
            *_resources(ask, memory_megabytes),
        )


def try_without_end(ask: AskWorker) -> tuple[Attempt, ...]:
    """Return how an endless loop and endless output end; it takes as long as one call may."""
    return (
        _stopped(ask, "spin", "loop without end", Outcome.TIMED_OUT),
        _stopped(ask, "flood", "print without end", Outcome.OUTPUT_LIMIT),
    )


def _read_outside(bait: ProbeTargets) -> None:
    """Read, outside the sandbox, what a worker must not reach; raise `KitError` if that fails.

    The canary is also read as the worker's user: a file that this user could not read anyway
    would prove nothing.
    """
    try:
        bait.canary.read_bytes()
        for path in _of_the_grader().values():
            os.listdir(path) if os.path.isdir(path) else Path(path).read_bytes()
        if bait.uid:
            subprocess.run(
                ["/bin/cat", str(bait.canary)],
                user=bait.uid,
                group=bait.uid,
                extra_groups=[],
                cwd="/",
                env={},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
    except (OSError, subprocess.CalledProcessError) as error:
        raise KitError(
            f"nothing can be said about what is hidden from a worker: {error}",
            place=str(bait.canary.parent),
            cure="set TMPDIR to a folder that every user may enter, such as /tmp, and mount /proc",
        ) from None


def _control(ask: AskWorker, library: str) -> None:
    wanted: tuple[tuple[str, tuple[Value, ...]], ...] = (
        ("read", (os.__file__,)),
        ("read_module", (library,)),
        ("read_module", ("autograder.worker.wire",)),
        ("signal", (0,)),
        ("thread", ()),
        ("allocate", (16,)),
    )
    for name, arguments in wanted:
        seen = _ask(ask, name, *arguments)
        if seen != DONE:
            what = " ".join((name, *map(str, arguments)))
            raise KitError(
                f"a worker cannot do what every exercise needs: {what} ends in {seen}",
                place="the probe of the sandbox",
                cure="let every user read the interpreter, its environment and this package "
                f"(`chmod -R go+rX {sys.prefix}`), and make sure that memory is free",
            )


def _files(ask: AskWorker, bait: ProbeTargets) -> Iterator[Attempt]:
    tried = {bait.canary: "read a file open to every user"}
    tried |= {path: f"read {path}" for path in bait.secrets}
    for path, words in tried.items():
        ended = _ask(ask, "read", str(path))
        control = _ALSO_DONE if path == bait.canary else "read its libraries: done"
        yield _denied("files", words, ended, control, f"a worker can read {path}")


def _network(ask: AskWorker, port: int) -> Iterator[Attempt]:
    ended = _ask(ask, "connect", port)
    gap = "a worker can reach the network of this machine"
    yield _denied("network", "connect to this machine", ended, _ALSO_DONE, gap)


def _of_the_grader() -> dict[str, str]:
    folder = f"/proc/{os.getpid()}"
    return {
        "read the grader's environment": f"{folder}/environ",
        "read the grader's memory map": f"{folder}/maps",
        "list the grader's open files": f"{folder}/fd",
    }


def _processes(ask: AskWorker) -> Iterator[Attempt]:
    gap = "a worker can reach other processes"
    for words, path in _of_the_grader().items():
        yield _denied("processes", words, _ask(ask, "read", path), _ALSO_DONE, gap)
    ended = _ask(ask, "signal", os.getpid())
    yield _denied("processes", "signal the grader", ended, "signal itself: done", gap)


def _calls(ask: AskWorker) -> Iterator[Attempt]:
    many = "a worker can make processes, or system calls that no exercise needs"
    tried = (("fork", "make a process"), ("call_unshare", "make a call that is not on the list"))
    for name, words in tried:
        yield _denied("system calls", words, _ask(ask, name), "make a thread: done", many)
    filtered = bool(_ask(ask, "filtered"))
    words, ended = "ask whether calls are filtered", "a filter" if filtered else "no filter"
    yield Attempt("system calls", words, ended, _KERNEL, many * (not filtered))


def _resources(ask: AskWorker, megabytes: int) -> Iterator[Attempt]:
    gap = "a worker can use more memory or time than its limits"
    ended = _ask(ask, "allocate", megabytes + _BEYOND)
    words = f"take {megabytes + _BEYOND} of {megabytes} MB"
    yield _denied("resources", words, ended, "take 16 MB: done", gap)
    limited = bool(_ask(ask, "limited"))
    words, ended = "ask for its limits of time and files", "limits" if limited else "no limits"
    yield Attempt("resources", words, ended, _KERNEL, gap * (not limited))


def _denied(demand: str, tried: str, ended: Value, control: str, gap: str) -> Attempt:
    """Return what a worker tried; where that was done, there is a gap."""
    return Attempt(demand, tried, str(ended), control, gap if ended == DONE else "")


def _stopped(ask: AskWorker, name: str, words: str, expected: Outcome) -> Attempt:
    reply = ask(Request(name))
    ended = str(reply.outcome) if isinstance(reply, Failed) else DONE
    gap = "" if ended == expected else f"a worker can {words}"
    again = _ask(ask, "signal", 0)  # the next call finds a fresh worker
    return Attempt("resources", words, ended.replace("_", " "), f"the next call: {again}", gap)


def _ask(ask: AskWorker, name: str, *arguments: Value) -> Value:
    reply = ask(Request(name, arguments))
    if not isinstance(reply, Returned):
        raise KitError(
            f"the probe {name!r} does not answer: {reply}",
            place="the probe of the sandbox",
            cure="run it again; if it fails again, report it with this message",
        )
    return reply.value


# Why workers cannot load a library that they need: the real cause, and its cure.
#
# "Not installed" is only one of many causes. The library may lie where no worker looks, need a
# file that workers cannot see, or be broken outside the sandbox too. So the host looks and tries
# itself.

_SECONDS, _MOST_WORDS = 120.0, 300
_MISSING_FILES = ("cannot open shared object file", "No such file", "Permission denied")


def load_failure(library: str, greeting: Mapping[str, object], folders: PackageFolders) -> KitError:
    """Return the error about `library`, which no worker can use.

    `greeting` is what the zygote said: how it `failed` and, if an import failed, the `module`
    that was not found ("" when every module was found).
    """
    said = str(greeting.get("failed", greeting))
    if "module" not in greeting:
        return KitError(
            f"the sandbox cannot work with {library}: {said}",
            place=sys.executable,
            cure=measurement.REPORT,
        )
    return _not_imported(library, said, str(greeting["module"]), folders)


def _not_imported(library: str, said: str, module: str, folders: PackageFolders) -> KitError:
    name = (module or library).partition(".")[0]
    what = library if name == library else f"{library}, which needs {name}"
    where = location(name)
    if where is None:
        return KitError(
            f"the sandbox cannot load {what}: {name} is not installed for this Python",
            place=sys.executable,
            cure=f"install it: `{sys.executable} -m pip install {name}`",
        )
    exclusion = folders.exclusion_of(where)
    if exclusion and not folders.shows(where):
        why = f"it is installed in {exclusion.folder}, which no worker may see: {exclusion.reason}"
        cure = f"install {name} into a folder that holds only packages, such as {sys.prefix}"
    elif hidden := _not_shown(where, folders):
        why = f"{name} lies in {where}, {hidden}"
        cure = (
            f"install {name} as plain files into a folder of sys.path: no `--editable`, no "
            "links to a cache (`uv pip install --link-mode=copy`)"
        )
    else:
        return _broken(what, library, where, said)
    return KitError(f"the sandbox cannot load {what}: {why}", place=str(where), cure=cure)


def _not_shown(where: Path, folders: PackageFolders) -> str:
    """Say which part of a package no worker can see, "" when workers see all of it."""
    if not folders.shows(where):
        return "where an import hook finds it; workers look only in the folders of sys.path"
    for folder, _, names in os.walk(where):
        for file in (Path(folder, name) for name in names):
            if file.is_symlink() and not folders.shows(file):
                return (
                    f"and its files are links to {file.resolve().parent}, which workers cannot see"
                )
    return ""


def _broken(what: str, library: str, where: Path, said: str) -> KitError:
    outside = _import_outside(library)
    if outside:
        return KitError(
            f"{what} cannot be imported by this Python, inside the sandbox or outside: {outside}",
            place=str(where),
            cure=f"reinstall it (`{sys.executable} -m pip install --force-reinstall {library}`)",
        )
    fact = f"the sandbox cannot load {what}, though it is installed and loads outside: "
    cure = f"let every user read it (`chmod -R go+rX {where}`)"
    if any(words in said for words in _MISSING_FILES):
        cure += ", and install it from a wheel, which brings the libraries that it needs"
        if os.environ.get("LD_LIBRARY_PATH"):
            cure += (
                "; from LD_LIBRARY_PATH, workers see only what lies below the interpreter or its "
                "packages"
            )
    return KitError(
        fact + terminal_line(said, _MOST_WORDS),
        place=str(where),
        cure=f"{cure}; `attn doctor` tries it again",
    )


def _import_outside(library: str) -> str:
    """Import the library in a process of its own, without the sandbox; return how it failed."""
    code = f"import sys; sys.path[:] = {sys.path!r}; import {library}"
    try:
        run = run_python(("-P", "-c", code), folder=Path("/"), seconds=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"it takes longer than {_SECONDS:g} seconds"
    if not run.failed:
        return ""
    return terminal_line(run.said[-1] if run.said else f"exit code {run.code}", _MOST_WORDS)


_TO_CONFINE = 20.0
_SOLUTIONS = PACKAGE.parent / "solutions"


@dataclass(frozen=True)
class Worker:
    """A confined process that waits for a student's code."""

    pid: int
    channel: Channel
    process: ZygoteProcess
    landlock: int
    uid: int


class Zygote:
    """Forks confined workers. A context manager; use it from one thread.

    `library` is "numpy" or "torch"; `limits` hold for each submission.
    `allow_process` accepts a machine that falls short of the default demand.
    `secrets` are files and folders that a worker must not be able to read (default:
    the solutions beside the package). Workers do not see a folder of packages that
    holds one of them, or anything in `hidden`. `without` names layers to leave out
    (namespaces, landlock, seccomp, rlimits), to show what each is for.

    `begin` starts it, and entering waits until it is ready, so that other work can be done
    meanwhile. Both raise a `KitError` that names what is missing when the demand is not met.
    The zygote dies with the thread that began, so that thread must live as long.
    """

    def __init__(
        self,
        library: str,
        limits: Limits,
        allow_process: bool = False,
        *,
        secrets: tuple[Path, ...] | None = None,
        hidden: tuple[Path, ...] = (),
        without: tuple[str, ...] = (),
    ) -> None:
        self.limits = limits
        self._library, self._allow_process = library, allow_process
        self._secrets = _beside_the_package() if secrets is None else secrets
        self._hidden = hidden
        self._folders = PackageFolders(())
        self._without = without
        self._as_root = False
        self._process: ZygoteProcess | None = None
        self._begun: ZygoteProcess | None = None  # nobody has heard of it yet
        self._folder: Path | None = None
        self._measuring = False
        self.measured = Measured(namespaces=(), landlock=0, seccomp=False, uid=os.getuid())

    @property
    def protection(self) -> Protection:
        """The level that was measured."""
        return self.measured.protection

    @property
    def pid(self) -> int:
        """The host's pid of the process that was started; 0 when there is none."""
        return self._process.pid if self._process else 0

    def begin(self) -> Self:
        """Start the process that will be entered; a second call does nothing."""
        if self._folder:
            return self
        demand_linux()
        demand_no_answers()
        demand_preconditions()
        hidden = (*_beside_the_package(), *self._secrets, *self._hidden)
        self._folders = find_package_folders(hidden)
        self._folder = access.folder_for_a_canary(access.throw_away_uid())
        with self._closed_on_failure():
            self._canary.write_text("what no worker may read\n", encoding="ascii")
            self._canary.chmod(0o644)  # so that only the sandbox can keep it from a worker
            self._begun = self._launch(self._without)
        return self

    def __enter__(self) -> Self:
        self.begin()
        with self._closed_on_failure():
            self._start()
        return self

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = str(self._folder)
            self.close()
            raise limit_reached(error) or KitError(
                f"the sandbox cannot be set up: {error}",
                place=place,
                cure="free some space there, or set TMPDIR to a folder that you may write to",
            ) from None
        except BaseException:
            self.close()
            raise

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the zygote and every worker."""
        for process in filter(None, (self._process, self._begun)):
            process.close()
        if self._folder:
            shutil.rmtree(self._folder)
            self._folder = None

    def fork(self, seed: int) -> Worker:
        """Return a new worker whose generators are seeded with `seed`.

        Restarts the zygote when it has died. Raises `ZygoteDied` when it dies meanwhile
        or the worker cannot be confined, and `KitError` when the machine no longer
        meets the demand.
        """
        if self._process is None or not self._process.alive:
            if self._measuring:
                raise ZygoteDied("the zygote ended while it was being measured")
            self._start()
        assert self._process is not None
        return self._fork(self._process, seed)

    def end(self, worker: Worker, patience: float = 0.0) -> Ending:
        """Return how `worker` ended; after `patience` seconds it is killed. Keeps its output.

        Raises `ZygoteDied` when that cannot be learned; then the worker is dead too.
        """
        try:
            ending = worker.process.wait(worker.pid, patience) if patience else None
            return ending or worker.process.kill(worker.pid)
        finally:
            worker.channel.close()

    def _start(self, once_more: bool = True) -> None:
        """Have a process that is measured and accepted.

        One that ends meanwhile may have been killed by somebody, so it is started `once_more`.
        """
        if self._process:
            self._process.close()
        self._process, self._begun = self._begun or self._launch(self._without), None
        try:
            greeting = self._greeting(self._process)
            refused = greeting.get("refused", {})
            if refused:
                self._process.close()
                self._process = self._launch((*self._without, "namespaces"))
                greeting = self._greeting(self._process)
            self._accept(self._process, greeting, refused)
        except BaseException as error:
            ended = not self._process.alive
            self._process.close()  # a zygote that was not accepted must not fork
            if once_more and ended and isinstance(error, KitError | ZygoteDied):
                self._start(once_more=False)
                return
            # Somebody allowed it by name, and no other user can enter the interpreter's folder.
            if isinstance(error, KitError) and self._allow_process and not self._as_root:
                self._as_root = os.geteuid() == 0
                if self._as_root:
                    self._start()
                    return
            raise

    def _accept(
        self, process: ZygoteProcess, greeting: dict[str, Any], refused: dict[str, str]
    ) -> None:
        ready = greeting.get("ready")
        if type(ready) is not dict:
            raise load_failure(self._library, greeting, self._folders)
        self.measured = Measured(
            namespaces=tuple(ready["namespaces"]),
            landlock=ready["landlock"],
            seccomp=ready["seccomp"] is True,
            uid=self._uid or os.getuid(),
            missing=ready["missing"] | refused,
        )
        try:
            self._measure(process)
        except (KitError, ZygoteDied) as error:
            uid = 0 if self.measured.namespaces else self._uid  # namespaces bind all first
            detail, needed = str(error).splitlines()[0], needed_for(self._library)
            raise access.out_of_reach(uid, detail, needed) or error from None
        if not self._allow_process:
            demand(self.measured)

    def _launch(self, without: tuple[str, ...]) -> ZygoteProcess:
        plan = Plan(
            library=self._library,
            memory_megabytes=self.limits.memory_megabytes,
            cpu_seconds=cpu_seconds(self.limits),
            canary=str(self._canary),
            uid=self._uid,
            without=without,
            as_root=self._as_root,
            import_path=self._folders.path,
            linked=self._folders.linked,
        )
        return ZygoteProcess(plan)

    def _greeting(self, process: ZygoteProcess) -> dict[str, Any]:
        try:
            return process.greeting
        except ZygoteDied as error:
            raise limit_named_in(str(error)) or KitError(
                f"the sandbox does not start: {error}",
                place=sys.executable,
                cure="run it again; if it fails again, report it with this message",
            ) from None

    @property
    def _uid(self) -> int:
        return 0 if self._as_root else access.throw_away_uid()

    @property
    def _canary(self) -> Path:
        assert self._folder is not None, "a zygote is used within its `with`"
        return self._folder / "canary"

    def _measure(self, process: ZygoteProcess) -> None:
        """Complete `measured` with a worker's user and layers, and with what it could do."""
        cells = (ATTEMPTS.read_text(encoding="utf-8"),)
        try:
            worker = self._fork(process, 0)
            self.end(worker)
        except ZygoteDied as error:
            raise unconfined(str(error)) from None
        self.measured = replace(self.measured, landlock=worker.landlock, uid=worker.uid)
        bait = ProbeTargets(self._canary, self._secrets, self._uid, self._library)
        self._measuring = True
        try:
            with SandboxedStudent(self, cells, seed=0) as attempts:
                memory = self.limits.memory_megabytes
                trials = try_everything(attempts.ask, bait, memory)
        finally:
            self._measuring = False
        self.measured = replace(self.measured, trials=trials)

    def _fork(self, process: ZygoteProcess, seed: int) -> Worker:
        channel = Channel(1024 * self.limits.output_kilobytes)
        try:
            pid = process.fork(seed, channel.far_ends)
        except (ZygoteDied, TimeoutError) as error:
            channel.hand_over()
            channel.close()
            process.close()
            raise ZygoteDied(str(error)) from None
        channel.hand_over()
        try:
            header, _ = channel.receive(time.monotonic() + _TO_CONFINE)
            facts = header.get("confined")
            if type(facts) is not dict:
                raise ZygoteDied(clean(str(header.get("unconfined")), 500))
            layers = int(facts["landlock"]), int(facts["uid"])
            return Worker(pid, channel, process, *layers)
        except (channels.Late, channels.Closed, channels.Flooded, wire.WireError) as error:
            process.close()
            channel.close()
            raise ZygoteDied(f"a worker does not report: {error!r}") from None


def _beside_the_package() -> tuple[Path, ...]:
    return (_SOLUTIONS,) if _SOLUTIONS.is_dir() else ()

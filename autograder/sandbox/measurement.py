"""Which protection really holds, and what to do about what is missing.

Sandboxes that quietly do less on a weaker machine have failed open before. So
the level is measured from inside a worker and written into every result. Below
the default demand, grading starts only when somebody asks for it by name.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.errors import KitError
from autograder.values.request import Failed, Request, Returned
from autograder.values.symbols import Protection
from autograder.values.this_machine import ANSWERS, TOO_FEW_FILES, limit_named_in, no_proc
from autograder.values.verdict import Outcome
from autograder.worker.plan import FILE_MEGABYTES, OPEN_FILES, TOO_LOW
from autograder.worker.wire import Value

# What to do about a missing layer, on the machine where it is missing.
#
# The same refusal has different causes: a setting of the distribution, a container, an old
# kernel. A wrong remedy costs an instructor an evening. So the settings are read, and where the
# cause cannot be known, the remedy offers alternatives.

# A setting, the value that forbids ordinary users to make namespaces, and the one that allows it.
_SWITCHES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "15000"),
)
_CONTAINERS = ("/.dockerenv", "/run/.containerenv")
_IN_A_CONTAINER = (
    "start the container so that it may make namespaces (`docker run --cap-add SYS_ADMIN "
    "--security-opt apparmor=unconfined`), which weakens the container itself"
)
MOVE = (
    "move what can be read away from the interpreter and its environment, which every worker reads"
)
USER = (
    "grade as an ordinary user, or as a root that can switch its workers to another user "
    "(not within a user namespace that maps only root)"
)
LIMITS = "grade on Linux, where a process can be given limits"
OWN_LIMITS = "raise it in the shell that grades (`ulimit -a` shows all), or have it raised for you"
CONFINEMENT = (
    "grade as an ordinary user, or where namespaces are allowed; `attn doctor` says what is missing"
)
REPORT = "run `attn doctor`; if it shows nothing missing, report it with this message"


def remedy_for(layer: str, reason: str, system: Path = Path("/")) -> str:
    """Return what to do about `layer` (namespaces, landlock, seccomp), missing for `reason`.

    `system` is the root of the machine whose switches are read.
    """
    if layer == "namespaces":
        return _namespaces(system)
    if layer == "landlock":
        return _landlock(reason)
    if "pyseccomp" in reason:
        return "`pip install pyseccomp`, which talks to libseccomp"
    return "install libseccomp (`apt install libseccomp2`) and `pip install pyseccomp`"


def _namespaces(system: Path) -> str:
    for name, forbids, allows in _SWITCHES:
        switch = system / "proc/sys" / name
        if switch.is_file() and switch.read_text("ascii").strip() == forbids:
            return f"allow user namespaces (`sysctl {name.replace('/', '.')}={allows}`)"
    if any((system / name.lstrip("/")).exists() for name in _CONTAINERS):
        return _IN_A_CONTAINER
    return "allow user namespaces for this user, or grade as root outside a container"


def _landlock(reason: str) -> str:
    if "switched off" in reason:
        return "switch Landlock on (kernel parameter `lsm=landlock,...`, then the other names)"
    return "use a kernel with Landlock (Linux 5.13 or newer, and not hidden by the container)"


DEMANDS = ("files", "network", "processes", "system calls", "resources", "user")
_WITHOUT_NAMESPACES = "a worker stays root, since there is no other user for it to become"


@dataclass(frozen=True)
class Attempt:
    """One thing that a worker tried and must not be able to do, beside a control.

    `ended` is "done" or the name of the error, and `control` what worked at the same time, so that
    a denial is no accident. `gap` says what a worker can do; it is empty where that was denied.
    """

    demand: str
    tried: str
    ended: str
    control: str
    gap: str = ""


@dataclass(frozen=True)
class Measured:
    """What was measured: the layers in force, and what a worker could and could not do.

    `namespaces` names those that are not the host's, `landlock` is the version in force (0: none),
    `uid` the worker's user, and `missing` the reason for each missing layer.
    """

    namespaces: tuple[str, ...]
    landlock: int
    seccomp: bool
    uid: int
    missing: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[Attempt, ...] = ()

    @property
    def gaps(self) -> dict[str, str]:
        """What was seen for each demand that is not met; empty when all demands are met."""
        gaps: dict[str, str] = {}
        for trial in self.trials:
            if trial.gap:
                gaps.setdefault(trial.demand, trial.gap)
        if not self.seccomp:
            gaps.setdefault("system calls", "no system call filter is in force")
        if not self.namespaces and not self.landlock:
            gaps.setdefault("files", "nothing hides files from a worker")
        if self.uid == 0 and not self.namespaces:  # within namespaces, root is harmless
            gaps["user"] = _WITHOUT_NAMESPACES
        return gaps

    @property
    def protection(self) -> Protection:
        """The level that follows from the facts; without trials, the lowest."""
        if self.gaps or not self.trials:
            return Protection.PROCESS
        if self.namespaces and self.landlock:
            return Protection.FULL
        return Protection.LANDLOCK if self.landlock else Protection.NAMESPACES

    @property
    def layers(self) -> str:
        """The layers in one line, for a log or a message."""
        have = {
            "namespaces": "yes" if self.namespaces else "no",
            "landlock": f"version {self.landlock}" if self.landlock else "no",
            "seccomp": "yes" if self.seccomp else "no",
        }
        for name in have:
            if name in self.missing:
                have[name] = f"no ({self.missing[name]})"
        return ", ".join(f"{name} {state}" for name, state in have.items())


def demand(measured: Measured) -> None:
    """Raise a `KitError` that names what is missing, unless every demand is met."""
    if measured.protection is not Protection.PROCESS:
        return
    gaps = measured.gaps or {"files": "nothing was measured"}
    raise KitError(
        "this machine does not protect the grader from what it grades: " + "; ".join(gaps.values()),
        place=f"{platform.system()} {platform.release()}: {measured.layers}",
        cure=f"{'; '.join(cures(measured))}; "
        "or, only for code that you trust, add --allow-protection=process (in nbgrader_config.py: "
        'c.WriteVerdict.allow_protection = "process")',
    )


def cures(measured: Measured) -> tuple[str, ...]:
    """Return what to do so that every demand is met, for what is missing on this machine."""

    def remedy(layer: str) -> str:
        return remedy_for(layer, measured.missing.get(layer, ""))

    gaps, found = measured.gaps, []
    if not measured.seccomp:
        found.append(remedy("seccomp"))
    if "files" in gaps or "processes" in gaps:
        if measured.namespaces or measured.landlock:
            found.append(MOVE)
        else:
            found.append(f"{remedy('landlock')}, or {remedy('namespaces')}")
    if "user" in gaps:
        found.append(USER)
    if "resources" in gaps:
        found.append(LIMITS)
    return tuple(found) or (REPORT,)


# What a machine needs before a sandbox can be started at all, and what is missing.
#
# A submission is promised a number of open files and a size of files; the grader needs no less.

_OF_PROC = ("/proc/self/statm", "/proc/self/task", "/proc/self/ns/mnt")


def demand_linux() -> None:
    """Raise `KitError` on a system that has no sandbox."""
    if sys.platform != "linux":
        raise KitError(
            "the sandbox needs Linux",
            place=sys.platform,
            cure="grade in a Linux container or virtual machine (Docker, Lima)",
        )


def demand_no_answers() -> None:
    """Raise `KitError` where the kit has solutions in it, which the code of students could read."""
    if ANSWERS.exists():
        raise KitError(
            "this installation of the kit is one for learning alone: it holds the solutions, where "
            "the code that is graded could read them",
            place=str(ANSWERS),
            cure="grade with the kit from its repository (`pip install '.[grading]'`), "
            "or with a wheel that was released without --with-answers",
        )


def demand_preconditions() -> None:
    """Raise `KitError` without /proc, or when the limits on open files or file size are too low.

    Only on Linux: elsewhere nothing is started.
    """
    if sys.platform != "linux":
        return
    import resource

    if not all(Path(path).exists() for path in _OF_PROC):
        raise no_proc()
    _demand(
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        OPEN_FILES,
        "only {} files may be open at once",
        *TOO_FEW_FILES,
    )
    _demand(
        resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        FILE_MEGABYTES << 20,
        "a file may hold only {} bytes",
        "the limit on the size of files of this process (`ulimit -f`)",
        "raise it (`ulimit -f unlimited`), and run the same command again",
    )


def unconfined(why: str) -> KitError:
    """Return the error about a worker that cannot be confined, for the reason that it gave."""
    limited = TOO_LOW in why
    return limit_named_in(why) or KitError(
        f"a worker cannot be confined: {why}",
        place="the limits of this process" if limited else f"{sys.prefix} and {sys.base_prefix}",
        cure=OWN_LIMITS if limited else CONFINEMENT,
    )


def _demand(allowed: int, least: int, words: str, place: str, cure: str) -> None:
    if 0 <= allowed < least:  # no limit at all is a negative number
        fact = f"{words.format(f'{allowed:,}')}, but grading needs {least:,}"
        raise KitError(fact, place=place, cure=cure)


# Measure from inside a worker what a student's code can reach.
#
# Every denial is paired with a live control, since a probe that fails for another reason looks
# just like one that was denied.

ATTEMPTS = Path(__file__).with_name("attempts.py")
DONE = "done"
_BEYOND = 64  # megabytes over the budget
_ALSO_DONE = "outside the sandbox: done"

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
        gap = f"a worker can read {path}" if ended == DONE else ""
        control = _ALSO_DONE if path == bait.canary else "read its libraries: done"
        yield Attempt("files", words, str(ended), control, gap)


def _network(ask: AskWorker, port: int) -> Iterator[Attempt]:
    ended = _ask(ask, "connect", port)
    gap = "a worker can reach the network of this machine" if ended == DONE else ""
    yield Attempt("network", "connect to this machine", str(ended), _ALSO_DONE, gap)


def _of_the_grader() -> dict[str, str]:
    folder = f"/proc/{os.getpid()}"
    return {
        "read the grader's environment": f"{folder}/environ",
        "read the grader's memory map": f"{folder}/maps",
        "list the grader's open files": f"{folder}/fd",
    }


def _processes(ask: AskWorker) -> Iterator[Attempt]:
    def trial(words: str, ended: Value, control: str) -> Attempt:
        gap = "a worker can reach other processes" if ended == DONE else ""
        return Attempt("processes", words, str(ended), control, gap)

    for words, path in _of_the_grader().items():
        yield trial(words, _ask(ask, "read", path), _ALSO_DONE)
    yield trial("signal the grader", _ask(ask, "signal", os.getpid()), "signal itself: done")


def _calls(ask: AskWorker) -> Iterator[Attempt]:
    many = "a worker can make processes, or system calls that no exercise needs"
    tried = (("fork", "make a process"), ("call_unshare", "make a call that is not on the list"))
    for name, words in tried:
        ended = _ask(ask, name)
        yield Attempt(
            "system calls", words, str(ended), "make a thread: done", many if ended == DONE else ""
        )
    filtered = _ask(ask, "filtered")
    ended = "a filter" if filtered else "no filter"
    yield Attempt(
        "system calls",
        "ask whether calls are filtered",
        ended,
        "the kernel answers",
        "" if filtered else many,
    )


def _resources(ask: AskWorker, megabytes: int) -> Iterator[Attempt]:
    gap = "a worker can use more memory or time than its limits"
    ended = _ask(ask, "allocate", megabytes + _BEYOND)
    words = f"take {megabytes + _BEYOND} of {megabytes} MB"
    yield Attempt("resources", words, str(ended), "take 16 MB: done", gap if ended == DONE else "")
    limited = _ask(ask, "limited")
    ended = "limits" if limited else "no limits"
    words = "ask for its limits of time and files"
    yield Attempt("resources", words, ended, "the kernel answers", "" if limited else gap)


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

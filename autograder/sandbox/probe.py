"""Measure from inside a worker what a student's code can reach.

Every denial is paired with a live control, since a probe that fails for another
reason looks just like one that was denied.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.errors import KitError
from autograder.sandbox.measurement import Attempt
from autograder.values.request import Failed, Request, Returned
from autograder.values.verdict import Outcome
from autograder.worker.wire import Value

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

"""Measure from inside a worker what a student's code can reach.

Every denial is paired with a live control, since a probe that fails for another
reason looks just like one that was denied.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

from autograder.errors import KitError
from autograder.request import Request, Returned
from autograder.wire import Value

ATTEMPTS = Path(__file__).with_name("attempts.py")
_DONE = "done"
_BEYOND = 64  # megabytes over the budget

Ask = Callable[[Request], object]


def find_gaps(
    ask: Ask, *, canary: Path, secrets: Iterable[Path], memory_megabytes: int
) -> dict[str, str]:
    """Return for each demand that is not met what was seen instead; empty when all are.

    `ask` puts a request to a worker that has loaded `ATTEMPTS`. Raises `KitError`
    when a control fails, so that nothing can be said about the denials.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 1.0).close()  # it can be reached from here
        canary.read_bytes()
        _control(ask)
        gaps = dict([*_files(ask, (canary, *secrets)), *_network(ask, port), *_processes(ask)])
    if (
        _ask(ask, "fork") == _DONE
        or _ask(ask, "call_unshare") == _DONE
        or not _ask(ask, "filtered")
    ):
        gaps["system calls"] = "a worker can make processes, or system calls that no exercise needs"
    too_much = _ask(ask, "allocate", memory_megabytes + _BEYOND) == _DONE
    if too_much or not _ask(ask, "limited"):
        gaps["resources"] = "a worker can use more memory or time than its limits"
    return gaps


def _control(ask: Ask) -> None:
    wanted: tuple[tuple[str, tuple[Value, ...]], ...] = (
        ("read", (os.__file__,)),
        ("signal", (0,)),
        ("thread", ()),
        ("allocate", (16,)),
    )
    for name, arguments in wanted:
        seen = _ask(ask, name, *arguments)
        if seen != _DONE:
            raise KitError(
                f"a worker cannot do what every exercise needs: {name} ends in {seen}",
                place="the probe of the sandbox",
                cure="check that the interpreter's folder can be entered and that memory is free",
            )


def _files(ask: Ask, paths: Iterable[Path]) -> Iterable[tuple[str, str]]:
    for path in paths:
        if _ask(ask, "read", str(path)) == _DONE:
            yield "files", f"a worker can read {path}"


def _network(ask: Ask, port: int) -> Iterable[tuple[str, str]]:
    if _ask(ask, "connect", port) == _DONE:
        yield "network", "a worker can reach the network of this machine"


def _processes(ask: Ask) -> Iterable[tuple[str, str]]:
    host = os.getpid()
    reached = [_ask(ask, "read", f"/proc/{host}/{name}") for name in ("environ", "maps", "fd")]
    if _DONE in (*reached, _ask(ask, "signal", host)):
        yield "processes", "a worker can reach other processes"


def _ask(ask: Ask, name: str, *arguments: Value) -> Value:
    reply = ask(Request(name, arguments))
    if not isinstance(reply, Returned):
        raise KitError(
            f"the probe {name!r} does not answer: {reply}",
            place="the probe of the sandbox",
            cure="run it again; if it stays, report it with this message",
        )
    return reply.value

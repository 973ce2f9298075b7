"""The child as its parent sees it: started, given a job, listened to, ended.

multiprocessing starts it. On Linux the child is forked from a server that has the array library
in memory, so the next one is ready at once. If that server cannot work, the child is a new Python
that does its own imports. The same is true on macOS and Windows, where not all libraries survive
a fork.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import util
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autograder.errors import KitError
from autograder.values.exercise import Exercise
from autograder.values.this_machine import end_with_parent, requirement_of, safe_for_a_new_process

if TYPE_CHECKING:
    from autograder.judging.examples import Example
    from autograder.learning.job import Send


# The process that runs a learner's own code: it gets ready, does one job, and ends.
#
# So nothing of one save affects the next. It sends its parent messages in JSON.

ENDING = 5.0  # seconds for a parent to end after its last pipe closed
ALWAYS = ("numpy.random", "jaxtyping", "autograder.learning.job")
# The modules that the first `backward` would import.
TORCH = ("torch.fx.experimental.symbolic_shapes",)


def imports(library: str) -> tuple[str, ...]:
    """Return the modules that a child needs and a fork server imports in advance."""
    return (library, *ALWAYS, *(TORCH if library == "torch" else ()))


def main(line: Connection, exercise: Exercise) -> None:
    """Get ready for an exercise, wait for a job, do it, and end."""

    def send(**message: Any) -> None:
        line.send_bytes(json.dumps(message, default=lambda array: array.tolist()).encode())

    imported = [library for library in ("numpy", "torch") if library in sys.modules]
    silence()
    _leave_group()
    # The learner's code may start processes of its own, such as those of a DataLoader.
    multiprocessing.current_process().daemon = False
    try:
        end_with_parent(_end_what_it_started)
        folder = exercise.folder.resolve()
        os.chdir(folder)
        examples = _ready(replace(exercise, folder=folder))
        sys.path.append(str(folder))
        send(event="ready", server=os.getppid(), imported=imported)
        _do(json.loads(line.recv_bytes()), examples, send)
    except KitError as error:
        send(event="error", fact=error.fact, place=error.place, cure=error.cure)
    except BaseException as error:
        with suppress(OSError):  # nobody is listening any more
            send(event="raised", how=f"{type(error).__name__}: {error}".removesuffix(": "))
    os._exit(0)  # whatever the learner's code has left running


def silence() -> None:
    """Keep output that bypasses Python's streams off the screen; then Ctrl-C may end the process.

    Who has started it keeps Ctrl-C from it until then.
    """
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.close(nothing)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _leave_group() -> None:
    """Shield this process from Ctrl-C, and make it possible to end it with all its children."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        os.setsid()


def _end_what_it_started() -> None:
    """Remove what a killed parent has left, and kill this process with all that it started."""
    parent = multiprocessing.parent_process()
    if sys.platform == "linux" and parent and parent.pid and _gone(parent.pid):
        shutil.rmtree(util.get_temp_dir(), ignore_errors=True)  # the parent's
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)


def _gone(pid: int) -> bool:
    """Wait a little until a process is gone; a process that ends in good order cleans up itself."""
    end = time.monotonic() + ENDING
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except OSError:
            return True
        time.sleep(0.01)
    return False


def _ready(exercise: Exercise) -> tuple[Example, ...]:
    """Import the slow modules, and read the examples."""
    try:
        importlib.import_module(exercise.library)
    except ImportError as error:
        raise KitError(
            f"{exercise.title} needs {exercise.library}, and this Python cannot import it "
            f"({type(error).__name__}: {error})",
            place=str(exercise.folder),
            cure=f"run `python -m pip install {requirement_of(exercise.library)}` and check again",
        ) from None
    for name in imports(exercise.library):
        with suppress(ImportError):
            importlib.import_module(name)
    if exercise.library == "torch":
        importlib.import_module("torch").set_num_threads(1)
    from autograder.judging.examples import read_examples

    return read_examples(exercise.folder)


def _do(facts: dict[str, Any], examples: tuple[Example, ...], send: Send) -> None:
    """Do a job without anybody to answer questions or close windows."""
    from autograder.judging.inprocess import undisturbed
    from autograder.learning.job import Job

    os.environ["MPLBACKEND"] = "Agg"
    _bound_memory(facts["megabytes"])
    with undisturbed():
        Job(facts, examples, send).run()


def _bound_memory(megabytes: int) -> None:
    """Make code that asks for far too much memory fail with an error; on Linux only."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + megabytes * 1024 * 1024
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


METHODS = ("forkserver", "spawn") if sys.platform == "linux" else ("spawn",)
SERVER = "autograder.learning.server"
LONGEST = 1 << 26  # bytes of one message
STARTING = 120.0  # seconds for a slow disk to load PyTorch
_one_at_a_time = threading.Lock()


class Stopped(Exception):
    """The check was stopped."""


class Stop:
    """Stops a check, from any thread."""

    def __init__(self) -> None:
        self.asked, self._ask = multiprocessing.Pipe(duplex=False)

    def give(self) -> None:
        """Stop the check."""
        self._ask.send_bytes(b"stop")

    def look(self) -> None:
        """Raise `Stopped` if the check was stopped."""
        if self.asked.poll():
            raise Stopped


@dataclass(frozen=True)
class ForkServer:
    """The process that children are forked from: its id, and the array libraries it imported."""

    pid: int
    imported: tuple[str, ...]

    def end(self) -> None:
        """End it, so that multiprocessing starts one with another library."""
        if sys.platform == "linux":
            with suppress(OSError):  # it is not our child, or has ended
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                os.kill(self.pid, signal.SIGKILL)
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)


class Child:
    """A `JobRunner`, a process of its own: it gets ready, does one job, and ends.

    It is a context manager, which ends the process. It takes the place of the child `before`,
    which has been ended. If the server of that one lacks the library of this exercise, the server
    is ended, too.
    """

    def __init__(self, exercise: Exercise, before: Child | None = None) -> None:
        self.exercise = exercise
        # Until the child is ready and says its own.
        self._server: ForkServer | None = before._server if before else None
        self._spent = False
        self._process: BaseProcess | None = None
        self._line, far = multiprocessing.Pipe()
        # In a thread, because it takes as long as the server's imports. Not a daemon: this program
        # waits for it at its end, or the folder of the server's socket would go while it is filled.
        threading.Thread(target=self._start, args=(far,), daemon=False).start()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    @property
    def usable(self) -> bool:
        """Whether the child can take a job, now or when it is ready."""
        process = self._process
        ended = process and process.pid and not process.is_alive()
        return not self._spent and not ended

    def wait_until_ready(self, stop: Stop | None = None) -> None:
        """Wait until the child is ready; raise `KitError` if it never will be, or `Stopped`."""
        message = self.receive(STARTING, stop)
        if message["event"] == "ready":
            self._server = ForkServer(message["server"], tuple(message["imported"]))
            return
        self.end()
        if message["event"] == "error":
            raise KitError(message["fact"], place=message["place"], cure=message["cure"])
        raise KitError(
            f"Python did not start: {message.get('how', 'it says nothing')}",
            place=str(self.exercise.folder),
            cure=f"see whether `python -c 'import {self.exercise.library}'` works here",
        )

    def send(self, job: Mapping[str, Any]) -> None:
        """Give the child its job."""
        self._spent = True
        with suppress(OSError):  # it has ended, and `receive` will say so
            self._line.send_bytes(json.dumps(job).encode())

    def receive(self, seconds: float, stop: Stop | None = None) -> dict[str, Any]:
        """Wait for a message; after `seconds` without one, return a `silent` one. Raise `Stopped`.

        Messages are JSON: nothing from the learner's process is ever unpickled.
        """
        ready = wait([self._line, stop.asked] if stop else [self._line], seconds)
        if stop:
            stop.look()
        if not ready:
            return {"event": "silent"}
        try:
            message: dict[str, Any] = json.loads(self._line.recv_bytes(LONGEST))
        except (EOFError, OSError, ValueError):
            return {"event": "ended", "how": self._how()}
        if message["event"] == "done" and self._process:
            self._process.join(ENDING)
        return message

    def end(self) -> None:
        """End the process and all that it started. If it has not started yet, it ends by itself."""
        process, worked = self._process, self._spent
        self._process, self._spent = None, True
        self._line.close()
        if process and process.pid and (worked or process.is_alive()):
            if sys.platform != "win32":
                with suppress(ProcessLookupError, PermissionError):  # nothing is left
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.join()

    def another(self) -> Child:
        """Return one for the same exercise, which can take the next job."""
        return Child(self.exercise)

    def _start(self, far: Connection) -> None:
        _keep_ctrl_c_for_later()
        with far, _one_at_a_time, safe_for_a_new_process(), _without_main():
            if self._server and self.exercise.library not in self._server.imported:
                self._server.end()
            for method in METHODS:
                if self._spent:  # it was ended before its turn came
                    return
                with suppress(OSError, EOFError):  # no socket, or an import that kills the server
                    process = self._made(method, far)
                    process.start()
                    self._process = process
                    return

    def _made(self, method: str, far: Connection) -> BaseProcess:
        context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            util.get_temp_dir()  # the server's socket lies there, and now the child knows it too
            context.set_forkserver_preload([SERVER, *imports(self.exercise.library)])
        arguments = (far, self.exercise)
        process: BaseProcess = context.Process(target=main, args=arguments, daemon=True)
        return process

    def _how(self) -> str:
        """Return how the process ended, in the system's words."""
        if not self._process or not self._process.pid:
            return "no process could be started"
        self._process.join(ENDING)
        code = self._process.exitcode
        if code is None:
            return "it does not answer"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _keep_ctrl_c_for_later() -> None:
    """Let what this thread starts hear of Ctrl-C when it is silent: it would print a traceback."""
    if sys.platform != "win32":
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # first: it undoes what is set here
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a process that starts in the body from running this program's main module."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main

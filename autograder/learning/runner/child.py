"""The process that runs a learner's own code: it gets ready, does one job, and ends.

So nothing of one save affects the next. It sends its parent messages in JSON.
"""

from __future__ import annotations

import builtins
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing import util
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.machine_fault import requirement_of
from autograder.model.parent_process import end_with_parent

if TYPE_CHECKING:
    from autograder.learning.runner.job import Questions, Send

ENDING = 5.0  # seconds for a parent to end after its last pipe closed
ALWAYS = ("numpy.random", "jaxtyping", "autograder.learning.runner.job")
# The modules that the first `backward` would import.
TORCH = ("torch.fx.experimental.symbolic_shapes",)


def imports(library: str) -> tuple[str, ...]:
    """Return the modules that a child needs and a fork server imports in advance."""
    return (library, *ALWAYS, *(TORCH if library == "torch" else ()))


def main(line: Connection, exercise: Exercise) -> None:
    """Get ready for an exercise, wait for a job, do it, and end."""

    def send(**message: Any) -> None:
        line.send_bytes(json.dumps(message).encode())

    imported = [library for library in ("numpy", "torch") if library in sys.modules]
    silence()
    _leave_group()
    # The learner's code may start processes of its own, such as those of a DataLoader.
    multiprocessing.current_process().daemon = False
    try:
        end_with_parent(_end_what_it_started)
        folder = exercise.folder.resolve()
        os.chdir(folder)
        questions = _ready(replace(exercise, folder=folder))
        sys.path.append(str(folder))
        send(event="ready", server=os.getppid(), imported=imported)
        _do(json.loads(line.recv_bytes()), questions, send)
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


def _ready(exercise: Exercise) -> Questions:
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
    from autograder.learning.runner.job import Questions

    return Questions.read(exercise.folder, exercise.library)


def _do(facts: dict[str, Any], questions: Questions, send: Send) -> None:
    """Do a job without anybody to answer questions or close windows."""
    from autograder.learning.runner.job import Job

    os.environ["MPLBACKEND"] = "Agg"
    builtins.input = _nobody_there
    _bound_memory(facts["megabytes"])
    Job(facts, questions, send).run()


def _nobody_there(prompt: object = "") -> NoReturn:
    raise EOFError("nobody answers while a check runs")


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

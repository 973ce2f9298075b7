"""The process that runs a learner's own code: `python -m autograder.learning.runner.child`.

It imports the array library at once and waits for a job, which it does and ends, so that
nothing of one save is left in the next. FORKING it does each job in a fork and waits for the
next, where forks can be relied on. What it sees goes to the parent as lines of JSON, on
descriptors that the learner's code does not meet by accident.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from autograder.errors import KitError
from autograder.learning.runner.start_method import COLD, FORKING

if TYPE_CHECKING:
    from autograder.learning.runner.asking import Questions


class ParentLine:
    """Lines of JSON from and to the parent, in place of stdin and stdout."""

    def __init__(self) -> None:
        self._input = os.fdopen(os.dup(0), encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        # What a library prints below Python joins the errors, which the parent keeps apart.
        os.dup2(2, 1)

    def send(self, **message: Any) -> None:
        """Send one message."""
        self._output.write(json.dumps(message) + "\n")
        self._output.flush()

    def end_line(self) -> None:
        """End the line that another process may have been ended in."""
        self._output.write("\n")

    def receive(self) -> dict[str, Any]:
        """Wait for a message; end the process when there will be none."""
        line = self._input.readline()
        if not line:
            sys.exit()
        message: dict[str, Any] = json.loads(line)
        return message


def main(folder: str, library: str, manner: str) -> None:
    """Import `library`, read the examples in `folder`, do what is asked, and end."""
    channel = ParentLine()
    try:
        importlib.import_module(library)
    except ImportError as error:
        channel.send(event="no_library", words=f"{type(error).__name__}: {error}")
        return
    from autograder.learning.runner.asking import Questions

    if library == "torch":
        importlib.import_module("torch").set_num_threads(1)
    if manner != COLD:
        _warm_up(library)
    try:
        questions = Questions.read(Path(folder), library)
    except KitError as error:
        channel.send(event="error", fact=error.fact, place=error.place, cure=error.cure)
        return
    channel.send(event="ready")
    while True:
        facts = channel.receive()
        if manner != FORKING:
            _do(facts, questions, channel, folder)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            channel.send(event="forked", pid=os.getpid())
            _do(facts, questions, channel, folder)
        status = os.waitpid(pid, 0)[1]
        channel.end_line()
        channel.send(event="ended", how=_how(status))


def _do(facts: dict[str, Any], questions: Questions, channel: ParentLine, folder: str) -> NoReturn:
    """Do one job and end the process, with what the learner's code has left running in it."""
    from autograder.learning.runner.job import Job

    builtins.input = _nobody_there
    sys.path.append(folder)
    _bound_memory(facts["megabytes"])
    try:
        Job(facts, questions, channel.send).run()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _warm_up(library: str) -> None:
    """Do once what costs time only the first time."""
    importlib.import_module("jaxtyping")
    importlib.import_module("autograder.learning.runner.job")
    numpy = importlib.import_module("numpy")
    square = numpy.random.default_rng(0).standard_normal((8, 8))
    numpy.einsum("ij,jk->ik", numpy.exp(square), square @ square)
    if library == "torch":
        torch = importlib.import_module("torch")
        result = torch.nn.Linear(4, 4)(torch.ones(2, 3, 4)).softmax(-1)
        result.backward(torch.ones_like(result))


def _nobody_there(prompt: object = "") -> NoReturn:
    raise EOFError("nobody answers while a check runs")


def _bound_memory(megabytes: int) -> None:
    """Let what asks for far too much fail in words; Linux only, elsewhere the system decides."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + megabytes * 1024 * 1024
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Does the jobs of a check in this very process, where there are no others, as in a browser.

The messages are those of a child. What a job changes in Python is put back after it. Code that
cannot be interrupted stops everything: whoever runs this Python has to end it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from autograder.judging.examples import read_examples
from autograder.judging.inprocess import undisturbed
from autograder.learning.job import Job
from autograder.values.exercise import Exercise

if TYPE_CHECKING:
    from autograder.learning.process import Stop


class _PythonEnded(BaseException):
    """The learner's code ended Python. Not an `Exception`, so that code rarely catches it."""


class SameProcess:
    """A `JobRunner` for one exercise that works here, and may be used again and again.

    `heard` is given each message as soon as it is there, while the job goes on.
    """

    def __init__(
        self, exercise: Exercise, heard: Callable[[Mapping[str, Any]], None] = lambda message: None
    ) -> None:
        self._heard = heard
        self._folder = exercise.folder.resolve()
        self._examples = read_examples(self._folder)
        self._messages = deque[str]()

    def wait_until_ready(self, stop: Stop | None = None) -> None:
        """Do nothing: it is ready."""

    def send(self, job: Mapping[str, Any]) -> None:
        """Do a job."""
        self._messages.clear()
        try:
            with undisturbed(), _restored(self._folder, job["packages"]):
                # As it would arrive elsewhere.
                Job(json.loads(json.dumps(job)), self._examples, self._say).run()
        except _PythonEnded as error:
            self._say(event="ended", how=str(error))
        except BaseException as error:
            self._say(event="raised", how=_described(error))

    def receive(self, seconds: float, stop: Stop | None = None) -> dict[str, Any]:
        """Return the next message."""
        message: dict[str, Any] = json.loads(self._messages.popleft())
        return message

    def end(self) -> None:
        """Do nothing: this process goes on."""

    def another(self) -> SameProcess:
        """Return this one, which takes the next job as well."""
        return self

    def _say(self, **message: Any) -> None:
        self._messages.append(json.dumps(message, default=lambda array: array.tolist()))
        self._heard(message)


@contextmanager
def _restored(folder: Path, packages: Iterable[str]) -> Iterator[None]:
    """Work in `folder`; put back afterwards what code may change of the process itself.

    The names in these packages and in Python's own modules, too: `np.exp = None` ends with the job.
    """
    importers, paths, known = [*sys.meta_path], [*sys.path], {**sys.modules}
    place, environment, depth = os.getcwd(), dict(os.environ), sys.getrecursionlimit()
    interrupted = signal.getsignal(signal.SIGINT)
    changeable = {*sys.stdlib_module_names, *packages}
    held = [
        (vars(module), {**vars(module)})
        for name, module in known.items()
        if name.partition(".")[0] in changeable and isinstance(module, ModuleType)
    ]
    try:
        os.chdir(folder)
        os.environ["MPLBACKEND"] = "Agg"
        os._exit = _end
        sys.path.append(str(folder))
        yield
    finally:
        for names, before in held:  # first and without a built-in, which may be another by now
            names.update(before)
        for names, before in held:
            for name in names.keys() - before.keys():
                if not isinstance(names[name], ModuleType):  # a part of a package, imported since
                    del names[name]
        sys.modules.update(known)
        signal.signal(signal.SIGINT, interrupted)
        sys.setrecursionlimit(depth)
        os.chdir(place)
        os.environ.clear()
        os.environ.update(environment)
        sys.meta_path[:], sys.path[:] = importers, paths
        for name in sys.modules.keys() - known.keys():
            # The learner may save it before the next job.
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).is_relative_to(folder):
                del sys.modules[name]


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except BaseException:  # its words are the learner's code, too
        return type(error).__name__


def _end(status: int) -> NoReturn:
    raise _PythonEnded(f"exit code {status}")

"""Answer requests in this very process.

For code that is trusted to run here: the reference, the known wrong
implementations, and a learner's own function in the learner's own notebook.
Values are encoded and decoded as on the wire, so that an answer is judged the
same wherever it came from.
"""

from __future__ import annotations

import builtins
import linecache
import os
import random
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from autograder.judging.time_limit import StillRunning, at
from autograder.values.request import ExceptionReport, Failed, Reply, Request, Returned, Watched
from autograder.values.symbols import UNWRITTEN, not_there, not_written
from autograder.values.verdict import Outcome
from autograder.worker.arrays import Generators, to_library
from autograder.worker.call import (
    Call,
    CallWatch,
    EarlierCall,
    Missing,
    StandIn,
    describe,
    perform,
)
from autograder.worker.wire import OF_ANY_LIBRARY, Value, copied, round_tripped

# What runs around the code, and is never a line of it.
ROOMS = ("judging", "worker", "learning")
_PACKAGE = Path(__file__).resolve().parents[1]
# Python's own modules, from where they are really loaded: in a browser, out of an archive.
_PYTHON = (os.path.dirname(traceback.__file__) + os.sep, "<frozen ")
OURS = tuple(_PACKAGE / name for name in ROOMS)


class InProcess:
    """A `Respondent` over the names of a namespace, such as a module's."""

    def __init__(self, namespace: Mapping[str, Any], library: str = "numpy") -> None:
        self._namespace = namespace
        self._library = library

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; an exception of the code becomes `Failed`, none is raised.

        `leaning_on` has no meaning here: nothing is replaced in the namespace.
        """
        target = self._namespace.get(request.target)
        if target is None:
            return Failed(Outcome.NOT_WRITTEN, not_there(request.target))
        try:
            return self._performed(target, request)
        except Missing as missing:
            return Failed(Outcome.NOT_WRITTEN, not_there(str(missing), request.target))
        except NotImplementedError as error:
            stub = describe(error, _lines_asked).get("stub")
            if stub is None:
                return Failed(Outcome.RAISED, exception=report(error))
            return Failed(Outcome.NOT_WRITTEN, not_written(stub), report(error))
        except SystemExit as error:
            return Failed(Outcome.CRASHED, exception=report(error))
        except MemoryError as error:
            return Failed(Outcome.OUT_OF_MEMORY, exception=report(error))
        except Exception as error:
            return Failed(Outcome.RAISED, exception=report(error))

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request`, with the calls of `steps`; see `Watchable`."""
        names = self._namespace
        assert isinstance(names, dict)  # where the functions themselves look up their names
        watch = CallWatch(names, steps, self._library, stand_ins, request.dtype)
        with watch.on():
            reply = self.ask(request)
        return Watched(reply, watch.calls, frozenset(watch.reached))

    def _performed(self, target: Any, request: Request) -> Returned:
        performed = perform(target, call_of(request, self._library))
        return Returned(
            round_tripped(performed.value, self._library),
            tuple(round_tripped(argument, self._library) for argument in performed.after),
            {
                name: round_tripped(value, self._library)
                for name, value in performed.attributes.items()
            },
            tuple(round_tripped(gradient, self._library) for gradient in performed.gradients),
            # A NumPy exercise asks nothing of PyTorch, which a notebook may have loaded as well.
            tuple(
                name
                for name in performed.observations
                if self._library == "torch" or name in OF_ANY_LIBRARY
            ),
        )


def call_of(request: Request, library: str) -> Call:
    """Return a request with the values that code gets in this process: copies, in its library."""
    generators = Generators()

    def own(value: Value) -> Any:
        return to_library(copied(value), library, request.dtype, generators)

    return Call(
        arguments=[own(value) for value in request.arguments],
        keywords={name: own(value) for name, value in request.keywords.items()},
        method=request.method,
        method_arguments=[own(value) for value in request.method_arguments],
        attributes={name: own(value) for name, value in request.attributes.items()},
        read=list(request.read),
        before=list(request.before),
        calls=request.calls,
        dtype=request.dtype,
        backward=own(request.backward),
        layouts=[list(order) if order else None for order in request.layouts],
        earlier=[EarlierCall.of(own(earlier.values)) for earlier in request.earlier],
        recording=request.recording,
    )


def report(error: BaseException) -> ExceptionReport:
    """Describe an exception by its own words and the innermost line of whoever's code is asked.

    One that arises in a library after that code has run, as in a backward pass, has no line.
    """
    facts = describe(error, _lines_asked)
    shapes = {name: tuple(size) for name, size in facts["shapes"].items()}
    return ExceptionReport(facts["type"], facts["message"], facts["line"], facts["code"], shapes)


def _lines_asked(file: str) -> list[str] | None:
    installed = "-packages" in file or file.endswith(".pyx") or file.startswith(_PYTHON)
    # Code that was made by `exec` has no lines; then the line is told that calls it.
    return None if installed or Path(file).parent in OURS else linecache.getlines(file) or None


# Keeps the random state and the settings of the libraries as they were before a check.
#
# A learner gets the same numbers with and without a check between two cells. While it is checked,
# the learner's code may seed, draw or switch off gradients; all of that is undone. Nobody answers
# `input()` meanwhile, and `exit()` ends the code that calls it, not the kernel.


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the random state and the settings of Python, NumPy and PyTorch after the body.

    Warnings are hidden in the body: the card says what an overflow did. On stderr, a warning
    would make nbgrader's Validate fail even for a right answer.
    """
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    errors, printing = np.geterr(), np.get_printoptions()
    torch = sys.modules.get("torch")
    settings = _torch_settings(torch) if torch else None
    asked, ends = builtins.input, _ends_of_the_kernel()
    names = vars(sys.modules["__main__"])
    try:
        builtins.input = _nobody_there
        names.update(dict.fromkeys(ends, _stop))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        builtins.input = asked
        names.update(ends)
        random.setstate(python)
        np.random.set_state(numpy)
        np.seterr(**errors)
        np.set_printoptions(**printing)
        if torch and settings:
            _set_torch(torch, *settings)


def _ends_of_the_kernel() -> dict[str, Any]:
    """Return what ends a kernel a moment later, without stopping the code that calls it."""
    names = vars(sys.modules["__main__"])
    found = {name: names.get(name) for name in ("exit", "quit")}
    return {
        name: value
        for name, value in found.items()
        if type(value).__module__.startswith("IPython.")
    }


def _nobody_there(prompt: object = "") -> NoReturn:
    raise EOFError("nobody answers while a check runs")


def _stop(*_: object) -> NoReturn:
    raise SystemExit("the code has called exit() or quit()")


def _torch_settings(torch: Any) -> tuple[Any, bool, Any]:
    return torch.get_rng_state(), torch.is_grad_enabled(), torch.get_default_dtype()


def _set_torch(torch: Any, random_state: Any, gradients: bool, dtype: Any) -> None:
    torch.set_rng_state(random_state)
    torch.set_grad_enabled(gradients)
    torch.set_default_dtype(dtype)


# Why a learner's layer gives nothing to show, in one sentence; outside of any check.


class Unusable(Exception):
    """A layer gave something that cannot be used; the text says what, in one sentence."""


def layer_error_words(error: BaseException) -> str:
    """Return why a layer gave nothing, from what it raised."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, StillRunning):
        seen = report(error)
        where = at((seen.line, seen.code, ""))
        return f"your layer was still running after {error.seconds:g} s{where}, and was stopped."
    if isinstance(error, NotImplementedError):
        name, _, rest = str(error).partition(" ")
        what = f"`{name}`" if rest == UNWRITTEN else "a step"
        return f"{what} {UNWRITTEN}."
    if isinstance(error, NameError):
        return f"there is no `{error.name}`: is the code there that defines it, and has it run?"
    said = f": {error}" if str(error) else ""
    return f"your layer stops with {type(error).__name__}{said}."

"""Answer requests in this very process.

For code that is trusted to run here: the reference, the known wrong
implementations, and a learner's own function in the learner's own notebook.
Values take the same way over the wire as everywhere else, so that an answer is
judged alike wherever it was given.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autograder.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.verdict import Outcome
from autograder.wire import Linear, Payload, Value, decode, encode
from autograder.worker.library import inward, outward
from autograder.worker.performing import Call, Missing, perform

OURS = (Path(__file__).parent, Path(__file__).parent / "worker")


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
            return Failed(Outcome.NOT_WRITTEN, f"There is no `{request.target}` yet.")
        try:
            return self._performed(target, request)
        except Missing as missing:
            return Failed(
                Outcome.NOT_WRITTEN, f"There is no `{missing}` in `{request.target}` yet."
            )
        except NotImplementedError as error:
            # The stub's own words: it may be an earlier step that is called.
            name, _, rest = str(error).partition(" ")
            stub = rest == "is not written yet"
            detail = f"`{name if stub else request.target}` is not written yet."
            return Failed(Outcome.NOT_WRITTEN, detail, report(error))
        except MemoryError as error:
            return Failed(Outcome.OUT_OF_MEMORY, exception=report(error))
        except Exception as error:
            return Failed(Outcome.RAISED, exception=report(error))

    def _performed(self, target: Any, request: Request) -> Returned:
        performed = perform(target, self._call(request))
        return Returned(
            crossed(performed.value, self._library),
            tuple(crossed(argument, self._library) for argument in performed.after),
            {name: crossed(value, self._library) for name, value in performed.attributes.items()},
        )

    def _call(self, request: Request) -> Call:
        def own(value: Value) -> Any:
            return inward(copied(value), self._library, request.dtype)

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
        )


def copied(value: Value) -> Value:
    """Return a value whose arrays the code may change."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        return tuple(copied(item) for item in value)
    if isinstance(value, Linear):
        return Linear(copied(value.weight), copied(value.bias))
    return value


def crossed(value: Any, library: str) -> Value:
    """Return a copy of the value as it would arrive over the wire."""
    parts: list[bytes] = []
    facts = encode(outward(value, library), parts)
    return decode(facts, Payload(b"".join(parts)))


def report(error: BaseException) -> ExceptionReport:
    """Describe an exception by its own words and the innermost line outside this package."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if Path(frame.filename).parent not in OURS]
    own = [frame for frame in outside if "site-packages" not in frame.filename]
    innermost = (own or outside)[-1:]
    line = innermost[0].lineno or 0 if innermost else 0
    code = innermost[0].line or "" if innermost else ""
    return ExceptionReport(type(error).__name__, str(error)[:500], line, code)

"""Answer requests in this very process.

For code that is trusted to run here: the reference, the known wrong
implementations, and a learner's own function in the learner's own notebook.
Values take the same way over the wire as everywhere else, so that an answer is
judged alike wherever it was given.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.verdict import Outcome
from autograder.wire import Payload, Seed, Value, decode, encode


class InProcess:
    """A `Respondent` over the names of a namespace, such as a module's."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; an exception of the code becomes `Failed`, none is raised.

        `leaning_on` has no meaning here: nothing is replaced in the namespace.
        """
        target = self._namespace.get(request.target)
        if target is None:
            detail = f"There is no `{request.target}` yet."
            return Failed(Outcome.NOT_WRITTEN, detail)
        try:
            return perform(target, request)
        except NotImplementedError as error:
            return Failed(Outcome.NOT_WRITTEN, f"`{request.target}` is not written yet.", report(error))
        except MemoryError as error:
            return Failed(Outcome.OUT_OF_MEMORY, exception=report(error))
        except Exception as error:
            return Failed(Outcome.RAISED, exception=report(error))


def perform(target: Any, request: Request) -> Returned:
    """Call `target` as `request` says, with arguments of its own; exceptions pass through."""
    arguments = tuple(own(value) for value in request.arguments)
    if request.method is None:
        keywords = {name: own(value) for name, value in request.keywords.items()}
        value = target(*arguments, **keywords)
        return Returned(crossed(value), tuple(crossed(argument) for argument in arguments))
    instance = target(*arguments)
    for name, value in request.attributes.items():
        setattr(instance, name, own(value))
    value, arguments = None, ()
    if request.method:
        arguments = tuple(own(value) for value in request.method_arguments)
        keywords = {name: own(value) for name, value in request.keywords.items()}
        value = getattr(instance, request.method)(*arguments, **keywords)
    read = {name: crossed(getattr(instance, name)) for name in request.read if hasattr(instance, name)}
    return Returned(crossed(value), tuple(crossed(argument) for argument in arguments), read)


def own(value: Value) -> Any:
    """Return a copy that the code may change; a seed becomes a generator."""
    if isinstance(value, Seed):
        return np.random.default_rng(value.seed)
    return value.copy() if isinstance(value, np.ndarray) else value


def crossed(value: Any) -> Value:
    """Return the value as it would arrive over the wire."""
    parts: list[bytes] = []
    facts = encode(value, parts)
    return decode(facts, Payload(b"".join(parts)))


def report(error: BaseException) -> ExceptionReport:
    """Describe an exception by its own words and the innermost line outside this package."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if frame.filename != __file__]
    line = outside[0].lineno or 0 if outside else 0
    code = outside[0].line or "" if outside else ""
    return ExceptionReport(type(error).__name__, str(error)[:500], line, code)

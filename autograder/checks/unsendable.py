"""What a check hands to a student's code has to cross the wire to the sandbox.

In this process any object can be handed over, so nobody would notice before the first hand-in.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograder.checks.reference import Reference
from autograder.errors import KitError
from autograder.judging.inprocess import round_tripped
from autograder.model.exercise import GRADERS
from autograder.model.request import Request
from autograder.protocol.wire import Linear, Opaque, Value


def refuse_what_cannot_cross(check: str, request: Request, reference: Reference) -> None:
    """Raise `KitError` when a value of a request would not reach a worker as it is."""
    for name, value in _given(request):
        kind = _lost(value)
        if kind:
            raise KitError(
                f"the check {check} hands over a {kind} ({name}), which does not reach a "
                "student's code in the sandbox",
                place=str(reference.exercise.folder / GRADERS),
                cure="hand over arrays, numbers, text, bool, None, tuples of these, "
                "draw.seed() or linear layers",
            )


def _given(request: Request) -> Iterator[tuple[str, Value]]:
    for number, value in enumerate(request.arguments, start=1):
        yield f"argument {number}", value
    for number, value in enumerate(request.method_arguments, start=1):
        yield f"argument {number} of {request.method}", value
    yield from request.keywords.items()
    yield from request.attributes.items()
    yield "backward", request.backward


def _lost(value: Value) -> str:
    """Return the name of the type that would not arrive as it is, or ""."""
    if isinstance(value, tuple):
        return next(filter(None, map(_lost, value)), "")
    if isinstance(value, list):  # a tuple would arrive
        return "list"
    arrived = value if isinstance(value, Linear) else round_tripped(value, "numpy")
    return arrived.type_name if isinstance(arrived, Opaque) else ""

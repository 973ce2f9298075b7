"""What the checks of a step ask: their own requests, captured while the reference answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

import pytest

from autograder.checks.draw import Draw
from autograder.checks.plugin import step_of
from autograder.checks.reference import Reference
from autograder.checks.student import Student
from autograder.model.request import Reply, Request
from autograder.verification.mutants.quiet import quiet
from autograder.verification.mutants.sizes import Sizes


class _Capturing:
    """Answers as the reference does, and keeps what was asked."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        self.requests: list[Request] = []

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        self.requests.append(request)
        return self.reference.ask(request)


def questions(
    reference: Reference,
    checks: Iterable[object],
    sizes: Sizes | None = None,
    seed: int | None = None,
) -> tuple[Request, ...]:
    """Return the different requests that checks make, with these sizes of the axes.

    A check that cannot be asked so, because it is made for sizes of its own, asks less.
    """
    capturing = _Capturing(reference)
    for check in checks:
        if isinstance(check, pytest.Function):
            with quiet(), contextlib.suppress(Exception):
                _ask(capturing, check, sizes or {}, seed)
    return tuple({request.key: request for request in capturing.requests}.values())


def sizes_asked(reference: Reference, checks: Iterable[object]) -> tuple[Sizes, ...]:
    """Return the sizes that the checks of a step use, and those of the exercise, first."""
    grading = reference.exercise.grading
    drawn = [
        {**grading.sizes, **parameters.get("draw", {})}
        for check in checks
        if (parameters := _parameters(check))
    ]
    return (grading.sizes, {**grading.sizes, **grading.public_sizes}, *drawn)


def _ask(capturing: _Capturing, check: pytest.Function, sizes: Sizes, seed: int | None) -> None:
    reference, parameters = capturing.reference, _parameters(check)
    chosen = {**parameters.get("draw", {}), **sizes}
    given: dict[str, object] = {
        **parameters,
        "student": Student(step_of(check) or "", reference, capturing, naming=False),
        "draw": Draw.hidden(reference.exercise, check.name, chosen, seed),
    }
    check.obj(**{name: given[name] for name in check.fixturenames if name in given})


def _parameters(check: object) -> Mapping[str, Sizes]:
    callspec = getattr(check, "callspec", None)
    return callspec.params if callspec else {}

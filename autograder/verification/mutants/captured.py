"""What the checks of a step ask: their own requests, captured while the reference answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import pytest

from autograder.checks.check_questions import UNFIT, parameters, questions_of
from autograder.checks.draw import Draw
from autograder.checks.reference import Reference
from autograder.checks.sizes import Sizes
from autograder.model.request import Request
from autograder.verification.mutants.quiet import quiet


def questions(
    reference: Reference,
    checks: Iterable[pytest.Function],
    sizes: Sizes | None = None,
    seed: int | None = None,
) -> tuple[Request, ...]:
    """Return the different requests that checks make, with these sizes of the axes.

    A check that cannot be asked so, because it is made for sizes of its own, asks nothing.
    """
    found: dict[bytes, Request] = {}
    for check in checks:
        chosen = {**parameters(check).get("draw", {}), **(sizes or {})}
        draw = Draw.hidden(reference.exercise, check.name, chosen, seed)
        with quiet(), contextlib.suppress(*UNFIT):
            asked = [each for each in questions_of(check, reference, draw) if each.expectation]
            found |= {each.request.key: each.request for each in asked}
    return tuple(found.values())


def sizes_asked(reference: Reference, checks: Iterable[pytest.Function]) -> tuple[Sizes, ...]:
    """Return the sizes that the checks of a step use, and those of the exercise, first."""
    grading = reference.exercise.grading
    drawn = [{**grading.sizes, **parameters(check).get("draw", {})} for check in checks]
    return (grading.sizes, {**grading.sizes, **grading.public_sizes}, *drawn)

"""An author's checks of a step that its standing checks cover: they ask the same at other sizes.

Such a check is only asked where the step fails, to tell by which mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from autograder.checks.conversation import CheckQuestion
from autograder.checks.marks import is_run_again
from autograder.checks.reference import Reference
from autograder.checks.varied_request import by_position
from autograder.judging.conditions import conditions_of
from autograder.judging.expectation import Agrees
from autograder.judging.layers import LinearLayers
from autograder.model.request import Request


@dataclass(frozen=True)
class Coverage:
    """What the standing checks of a step ask, at sizes of their own.

    They begin from the questions `values` about results, and `layers` about the layers that a call
    makes. Results are asked for at `further_sizes`, in the precision `dtype` ("": in no other), and
    with the `gradients` of all arguments and parameters.
    """

    reference: Reference
    values: Sequence[CheckQuestion]
    layers: Sequence[CheckQuestion]
    further_sizes: bool
    dtype: str
    gradients: bool

    def covers(self, item: pytest.Function, asked: Sequence[CheckQuestion]) -> bool:
        """Say whether a check asks nothing else; `asked` are its questions."""
        again = is_run_again(item)
        return bool(asked) and all(self._covers(question, again) for question in asked)

    def _covers(self, question: CheckQuestion, again: bool) -> bool:
        request = question.request
        if request.calls != 1:
            return False
        if isinstance(question.expectation, LinearLayers):
            return again and not conditions_of(request) and self._is_among(self.layers, request)
        if not isinstance(question.expectation, Agrees):
            return False
        match conditions_of(request):
            case ():
                is_asked = again and self.further_sizes
            case ("dtype",):
                is_asked = request.dtype == self.dtype
            case ("backward",):
                is_asked = self.gradients
                if set(request.read) <= _gradients_of(request):
                    request = replace(request, read=())
            case _:
                is_asked = False
        return is_asked and self._is_among(self.values, request)

    def _is_among(self, questions: Sequence[CheckQuestion], request: Request) -> bool:
        """Say whether a call has the form of one that the standing checks make."""
        return self._form(request) in [self._form(each.request) for each in questions]

    def _form(self, request: Request) -> tuple[Any, ...]:
        given = by_position(request, self.reference)
        return (*form_of(given), len(given.arguments), tuple(given.attributes))


def form_of(request: Request) -> tuple[Any, ...]:
    """Return the form of a call: however an instance was made, its method is called in one form."""
    given = request.arguments if request.method is None else request.method_arguments
    return (request.method, len(given), tuple(request.keywords), request.read)


def _gradients_of(request: Request) -> set[str]:
    return {f"{name}.grad" for name in request.attributes}

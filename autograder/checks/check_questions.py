"""The questions that an author's checks ask, without asking a student: read off the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from autograder.checks.conversation import CheckQuestion, Conversation
from autograder.checks.draw import Draw
from autograder.checks.marks import step_of
from autograder.checks.reference import Reference
from autograder.checks.student import Student
from autograder.model.request import Reply, Request


@dataclass(frozen=True)
class OwnAnswers:
    """A `Respondent` that gives the reference's own answers, and keeps what it is `asked`."""

    reference: Reference
    asked: list[Request] = field(default_factory=list)

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request` as the reference does."""
        self.asked.append(request)
        return self.reference.expected(request)


@dataclass(frozen=True, eq=False)
class QuestionSource:
    """One question of a check, to be asked with other inputs: the question number `number`."""

    item: pytest.Function
    number: int
    reference: Reference

    def sizes(self, public: bool) -> Mapping[str, int]:
        """Return the sizes of axes that the check sets, for a worked example or as it is hidden."""
        if public:
            mark = self.item.get_closest_marker("public")
            return mark.kwargs if mark else {}
        return dict(parameters(self.item).get("draw", {}))

    def question(
        self, draw: Draw, label: str, sizes: Mapping[str, int], coarse: bool = False
    ) -> CheckQuestion:
        """Return the question with inputs of its own; `sizes` override those of the check."""
        own = self.sizes(draw.public)
        drawn = draw.beside(f"{self.item.originalname}/{label}", {**own, **sizes}, coarse)
        asked: tuple[CheckQuestion, ...] = self.reference.drawn(
            (self.item.nodeid, drawn.identity),
            lambda: questions_of(self.item, self.reference, drawn),
        )
        return asked[self.number]

    def kept(self, purpose: str, draw: Draw, make: Callable[[], Request]) -> Request:
        """Return a request that is made of this question, once for each purpose and draw."""
        identity = (purpose, self.item.nodeid, self.number, draw.identity)
        request: Request = self.reference.drawn(identity, make)
        return request


# What a check may raise that cannot be asked with some inputs, or that is wrong itself.
UNFIT = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def parameters(item: pytest.Function) -> Mapping[str, Any]:
    """Return the values of a check's parameters, by name."""
    return item.callspec.params if hasattr(item, "callspec") else {}


def questions_of(
    item: pytest.Function, reference: Reference, draw: Draw
) -> tuple[CheckQuestion, ...]:
    """Run a check over the reference itself and return what it asks.

    Raises what the check raises, and LookupError when it needs a fixture that is not one of ours.
    Whether the reference can work with the sizes of `draw`, an expectation tells.
    """
    conversation = Conversation(OwnAnswers(reference), judging=False)
    student = Student(step_of(item) or "", reference, conversation)
    known: dict[str, Any] = {**parameters(item), "student": student, "draw": draw}
    needed = [name for name in item.fixturenames if name != "request"]
    if not set(needed) <= set(known):
        raise LookupError(f"{item.name} needs fixtures of its own")
    item.obj(**{name: known[name] for name in needed})
    return tuple(conversation.expected)

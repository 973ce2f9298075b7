"""The standing properties of a step that draws: from its own generator, and anew every time."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from autograder.checks.check_questions import QuestionSource
from autograder.checks.draw import Draw
from autograder.checks.properties import StandingCheck
from autograder.checks.sizes import Sizes
from autograder.checks.student import Student
from autograder.checks.varied_request import with_seed
from autograder.judging.distribution import Distributed
from autograder.model.request import Request
from autograder.protocol.call import EarlierCall
from autograder.protocol.wire import Seed

_GENERATORS = 4  # whose draws must all differ
_NOT_ITS_GENERATOR = (
    "Two calls with the same seed in `{generator}` give different numbers.",
    "Which of your numbers do not come from `{generator}`?",
)
_OF_ANOTHER_CALL = (
    "The same seed in `{generator}` gives different numbers when your code is called between.",
    "What does one call share with another, or one instance with another?",
)
_SAME_DRAW = (
    "Two calls with different seeds in `{generator}` give the same numbers.",
    "Is there a fixed seed, or a generator that your code makes itself?",
)
_SAME_STREAM = (
    "Two calls with one and the same generator give the same numbers.",
    "Does your code draw from a copy of `{generator}`?",
)
_SAME_LAYERS = (
    "Two calls make layers with the same numbers.",
    "Does your code set a fixed seed, or keep the layers of the first call?",
)


def from_its_generator(sources: Sequence[QuestionSource], sizes: Sizes) -> StandingCheck:
    """Numbers are drawn from the generator that is passed in, and from nothing else."""

    def check(student: Student, draw: Draw) -> None:
        for source in sources:
            question = source.question(draw, "drawn", sizes)
            request, expectation = question.request, question.expectation
            assert isinstance(expectation, Distributed)
            name = _generator_name(request, source)

            def words(texts: tuple[str, str], name: str = name) -> Iterator[str]:
                return (text.format(generator=name) for text in texts)

            first = student.ask(request)
            first.is_distributed(mean=expectation.mean, deviation=expectation.deviation)
            requests = [with_seed(request, number) for number in range(_GENERATORS)]
            others = list(map(student.ask, requests))
            for answer, other in combinations(others, 2):
                answer.differs_from(other, *words(_SAME_DRAW))
            first.repeats(student.ask(request), *words(_NOT_ITS_GENERATOR))
            between = EarlierCall(requests[0].arguments)
            again = student.ask(replace(request, earlier=(between,)))
            first.repeats(again, *words(_OF_ANOTHER_CALL))
            # Made of the generator that another call has drawn from.
            continued = EarlierCall(request.arguments)
            if request.method is None:
                after = student.ask(replace(request, earlier=(continued,)))
                first.differs_from(after, *words(_SAME_STREAM))

    return check


def _generator_name(request: Request, source: QuestionSource) -> str:
    """Return the name of the parameter that the generator is passed in."""
    called = getattr(source.reference.module, request.target)
    given = zip(inspect.signature(called).parameters, request.arguments)
    return next((name for name, value in given if isinstance(value, Seed)), "rng")


def new_every_time(sources: Sequence[QuestionSource], sizes: Sizes) -> StandingCheck:
    """Every call makes layers with numbers of their own, also of other sizes."""

    def check(student: Student, draw: Draw) -> None:
        for source in sources:
            student.ask(source.question(draw, "layers", sizes).request).has_layers()
            request = source.question(draw, "layers", {}).request
            first, second = student.ask(request), student.ask(request)
            first.has_layers()
            second.has_layers()
            first.differs_from(second, *_SAME_LAYERS)

    return check

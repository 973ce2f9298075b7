"""The standing properties: each a check that asks an author's questions in another way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations

import numpy as np

from autograder.checks.check_questions import UNFIT, QuestionSource
from autograder.checks.conversation import CheckQuestion
from autograder.checks.draw import Draw
from autograder.checks.layouts import Layouts
from autograder.checks.sizes import LongQuestion, Sizes
from autograder.checks.student import Student
from autograder.checks.varied_request import (
    by_position,
    cotangent,
    earlier_call,
    far_down,
    made_of,
    spread_out,
    transposed,
    with_inputs_of,
    with_zeros,
)
from autograder.model.request import Request
from autograder.protocol.call import EarlierCall

StandingCheck = Callable[[Student, Draw], None]
SourcePair = tuple[QuestionSource, QuestionSource]

LARGER = 1024  # a power of 2, so that no digit is lost
# Scores are the square of it: far above 709, where exp overflows in float64. Many are below -1e4
# and some below -1e5, which are no masks, and none below -1e6, which is one.
LARGE_INPUTS = 256
MANY_SEQUENCES = 24  # so that some first token has such a score, and sees nothing else


@dataclass(frozen=True)
class Use:
    """In which ways a step is used at once: after calls of other sizes, in a layout, backward.

    `sizes` are those of the call, `earlier` those of calls before, None to make none. `layouts` are
    those of the arguments, None to leave them. `before` are methods of an instance to call first.
    """

    sizes: Sizes
    earlier: tuple[Sizes, ...] | None
    layouts: Layouts | None
    backward: bool
    before: tuple[str, ...]

    def of(self, source: QuestionSource, draw: Draw, others: Sequence[CheckQuestion]) -> Request:
        """Return a question of `source` under these conditions; `others` are of the same step."""
        question = source.question(draw, "use", self.sizes)
        request = replace(by_position(question.request, source.reference), before=self.before)
        if self.earlier is not None:
            request = replace(request, earlier=self._calls(request, source, draw, others))
        if self.layouts is not None:
            request = replace(request, layouts=self.layouts or transposed(request))
        return replace(request, backward=cotangent(question, draw) if self.backward else None)

    def _calls(
        self,
        request: Request,
        source: QuestionSource,
        draw: Draw,
        others: Sequence[CheckQuestion],
    ) -> tuple[EarlierCall, ...]:
        """Return the calls before that of `request`.

        The last one has the form and sizes of the call itself, so what was kept would fit.
        """
        sizes = [{**self.sizes, **each} for each in self.earlier or ()]
        before = [source.question(draw, "earlier", each).request for each in sizes]
        before += [with_inputs_of(request, other.request) for other in others]
        before += [source.question(draw, "again", self.sizes).request]
        return tuple(earlier_call(request, each) for each in before)


def in_every_use(
    sources: Sequence[QuestionSource], use: Use, fitting: Container[SourcePair]
) -> StandingCheck:
    """The answers are right in every use, and so are the gradients; see `fitting_pairs`."""

    def check(student: Student, draw: Draw) -> None:
        for source in sources:
            asked = source.kept("use", draw, partial(made, source, draw))
            student.ask(asked).agrees()

    def made(source: QuestionSource, draw: Draw) -> Request:
        others = [
            _at_sizes_of(source if (source, other) in fitting else None, other, draw, use.sizes)
            for other in sources
            if other is not source
        ]
        return use.of(source, draw, others)

    return check


def fitting_pairs(sources: Sequence[QuestionSource], draw: Draw, sizes: Sizes) -> list[SourcePair]:
    """Return the pairs whose second can be asked at the sizes of the first, and at `sizes`.

    So one instance can answer both.
    """
    found = []
    for source, other in permutations(sources, 2):
        # Where the reference cannot answer, the other needs sizes of its own.
        with contextlib.suppress(*UNFIT):
            found += [(source, other)] * bool(_at_sizes_of(source, other, draw, sizes).expectation)
    return found


@dataclass(frozen=True)
class Sized:
    """How a step is asked at `sizes`: in a precision, after calls of the methods `before`.

    If `enlarged`, numbers are large. If `used`, calls come before, and gradients flow back;
    otherwise, none are recorded unless `recording`.
    """

    sizes: Sizes
    dtype: str
    before: tuple[str, ...]
    recording: bool
    enlarged: bool
    used: bool

    def of(self, source: QuestionSource, place: int | None, draw: Draw) -> Request:
        """Return a question of `source`; `place` is the argument that may be enlarged."""
        question = source.question(draw, "sized", self.sizes)
        request = replace(
            with_zeros(question.request, place, LARGER if self.enlarged else 1),
            dtype=self.dtype,
            before=self.before,
            recording=self.recording or self.used,
        )
        if not self.used:
            return request
        # By then, an instance of the usual sizes has been made, and used.
        others = [source.question(draw, f"sized {each}", sizes) for each, sizes in self._earlier]
        earlier = tuple(earlier_call(question.request, other.request) for other in others)
        return replace(request, earlier=earlier, backward=cotangent(question, draw))

    @property
    def _earlier(self) -> tuple[tuple[str, Sizes], ...]:
        return (("usual", {}),)


def at_sizes(sources: Mapping[QuestionSource, int | None], sized: Sized) -> StandingCheck:
    """The answers are right at other sizes; `sources` come with their place, see `Sized.of`."""

    def check(student: Student, draw: Draw) -> None:
        for source, place in sources.items():
            purpose = f"at {dict(sized.sizes)}"
            asked = source.kept(purpose, draw, partial(sized.of, source, place, draw))
            student.ask(asked).agrees()

    return check


def at_long_axes(questions: Sequence[LongQuestion]) -> StandingCheck:
    """The answers are right with axes longer than any that code may have been written for."""

    def check(student: Student, draw: Draw) -> None:
        for each in questions:
            asked = each.source.question(draw, "long", each.sizes, coarse=True)
            student.ask(asked.request).agrees_if_in_time()

    return check


def with_large_numbers(sources: Sequence[QuestionSource]) -> StandingCheck:
    """A softmax is right for rows that hold very large and very small numbers."""

    def check(student: Student, draw: Draw) -> None:
        for source in sources:
            for rows in (spread_out, far_down):
                asked = source.kept(rows.__name__, draw, partial(with_rows, source, draw, rows))
                student.ask(asked).agrees()

    def with_rows(
        source: QuestionSource, draw: Draw, rows: Callable[[np.ndarray], np.ndarray]
    ) -> Request:
        request = source.question(draw, "large", {}).request
        (scores,) = request.arguments
        return replace(request, arguments=(rows(scores),))

    return check


def with_large_inputs(
    sources: Sequence[QuestionSource], sizes: Sequence[Sizes], dtype: str
) -> StandingCheck:
    """A layer is right for token vectors that hold large numbers, as its softmax has to be."""

    def check(student: Student, draw: Draw) -> None:
        for source in sources:
            for each in sizes:
                purpose = f"large {dict(each)}"
                asked = source.kept(purpose, draw, partial(enlarged, source, draw, each))
                student.ask(asked).agrees()

    def enlarged(source: QuestionSource, draw: Draw, sizes: Sizes) -> Request:
        request = source.question(draw, "large", sizes).request
        first, *others = request.method_arguments
        tokens = LARGE_INPUTS * first
        tokens[..., 1:2, :] = 0.0  # a token of zeros has scores of 0, which are scores too
        # With a bias, they would not be 0.
        attributes = {
            name: 0 * value if np.ndim(value) == 1 else value
            for name, value in request.attributes.items()
        }
        for name in [name for name, value in attributes.items() if np.ndim(value) > 1][-1:]:
            # The last weights bring the result back to its size, with the digits that it had.
            attributes[name] = attributes[name] / LARGE_INPUTS
        return replace(
            request, method_arguments=(tokens, *others), attributes=attributes, dtype=dtype
        )

    return check


def _at_sizes_of(
    source: QuestionSource | None, other: QuestionSource, draw: Draw, sizes: Sizes
) -> CheckQuestion:
    """The question of `other` at the sizes of `source`, or at its own; `sizes` override both."""
    own = {**draw.sizes, **source.sizes(draw.public)} if source else {}
    return other.question(draw, "again", {**own, **sizes})


def on_one_instance(
    sources: Sequence[QuestionSource], draw: Draw, usual: Sizes, sizes: Sizes
) -> bool:
    """Say whether an instance that is made for the `usual` sizes can be asked with others."""
    both = (usual, {**usual, **sizes})
    pairs = ([each.question(draw, "sizes", given) for given in both] for each in sources)
    return all(made_of(usual.request) == made_of(other.request) for usual, other in pairs)

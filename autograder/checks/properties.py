"""The standing properties: each a check that asks an author's questions in another way."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from types import MappingProxyType

import numpy as np

from autograder.checks.marks import Draw
from autograder.checks.student import CheckQuestion, Student
from autograder.checks.varied_request import (
    UNFIT,
    Layouts,
    QuestionSource,
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
from autograder.judging.expectation import Agrees
from autograder.values.exercise import Exercise
from autograder.values.request import Request
from autograder.worker.call import EarlierCall
from autograder.worker.wire import Value, arrays_in

# Which sizes of the axes a step's questions can be asked with: size 1, and larger ones.
#
# Some axes have size 1 while the others are much larger, which takes no questions of its own.
#
# An axis may depend on another, as the heads divide the hidden size. So sizes are tried on the
# reference.

Sizes = Mapping[str, int]

TIMES_LARGER = 3  # times the usual size
# Of one axis, while the others are small: longer than what code may have been written for, such as
# a mask of 256 tokens. Where the heads share an axis, it is the first of these that they can share.
LONG = (270, 272, 275, 276, 280, 288)
# Of a step that is given nothing but sizes, as one that makes a mask is.
LONG_ALONE = (1_040,)
MOST_NUMBERS = 100_000  # of a long result, where its other axes can be smaller


@dataclass(frozen=True)
class SizePlan:
    """The sizes to ask with: in each of `single`, some are 1; in `equal`, several are the same.

    `grown` are larger than the equal ones.
    """

    single: tuple[Sizes, ...]
    equal: Sizes
    grown: Sizes


def size_plan(
    sources: Sequence[QuestionSource],
    exercise: Exercise,
    public: bool,
    layer: Sequence[QuestionSource] = (),
) -> SizePlan:
    """Try sizes on the reference; return those that all questions of one step can be asked with.

    They are the sizes of worked examples if `public`, which are others. The questions about the
    `layer` must go with them too: a step that gets one of its linear layers may rely on how their
    sizes depend on each other.
    """
    trials = _Trials(tuple(sources), exercise, public, tuple(layer))
    single = [{axis: 1} for axis in trials.axes if trials.fit({axis: 1})]
    # Two calls for all axes, if the reference can work with several axes of size 1 at once.
    halves = [_joined(half) for half in (single[0::2], single[1::2]) if half]
    groups = halves if all(map(trials.fit, halves)) else single
    groups = [*groups, *trials.dependent(_joined(single))]
    plans = list(map(trials.enlarged, groups))
    if not all(any(plan.get(axis, 0) > 1 for plan in plans) for axis in trials.axes):
        plans.append(trials.enlarged({}))
    equal = trials.equal()
    return SizePlan(tuple(plans), equal, trials.from_(equal).grown())


def smaller_sizes(
    sources: Sequence[QuestionSource], exercise: Exercise, public: bool, usual: Sizes
) -> list[Sizes]:
    """Return for each axis a smaller size above 1 that the questions can be asked with.

    The sizes of the other axes are the `usual` ones.
    """
    trials = _Trials(tuple(sources), exercise, public, usual=usual)
    smaller = ({axis: max(2, size // 2)} for axis, size in trials.axes.items() if size > 2)
    return list(filter(trials.fit, smaller))


def other_sizes(sources: Sequence[QuestionSource], exercise: Exercise, public: bool) -> Sizes:
    """Return half the usual size for every axis that draws depend on, none smaller than 2."""
    trials = _Trials(tuple(sources), exercise, public)
    found: Sizes = {}
    for axis, size in trials.axes.items():
        more = {**found, axis: size // 2}
        found = more if size >= 4 and trials.fit(more) else found
    return found


@dataclass(frozen=True)
class LongQuestion:
    """A question of `source` with one long axis: its sizes, and how many numbers it takes.

    given: numbers that it hands over. expected: numbers in the answer.
    """

    source: QuestionSource
    axis: str
    sizes: Sizes
    given: int
    expected: int


def long_questions(
    source: QuestionSource, exercise: Exercise, public: bool
) -> Iterator[LongQuestion]:
    """Give a question with a long axis for each axis that can be long."""
    trials = _Trials((source,), exercise, public)
    for axis in trials.axes:
        if sizes := trials.long(axis):
            yield LongQuestion(source, axis, sizes, *trials.numbers(sizes))


def many_sequences(
    sources: Sequence[QuestionSource], exercise: Exercise, public: bool, count: int
) -> Sizes:
    """Return `count` for the first axis and short other ones, if the questions can be asked so.

    With few entries in a row of scores, hardly any two are near each other: then a softmax would
    hang on the last digits of what is large.
    """
    trials = _Trials(tuple(sources), exercise, public)
    first, *others = trials.axes
    found = {first: count}
    if not trials.fit(found):
        return {}
    for axis in others:
        shorter = {**found, axis: 2}
        found = shorter if trials.fit(shorter) else found
    return found


def _joined(sizes: Sequence[Sizes]) -> Sizes:
    return {axis: size for each in sizes for axis, size in each.items()}


class _Trials:
    """Asks the reference the questions of a step with one set of sizes after another."""

    def __init__(
        self,
        sources: tuple[QuestionSource, ...],
        exercise: Exercise,
        public: bool,
        layer: tuple[QuestionSource, ...] = (),
        usual: Sizes = MappingProxyType({}),
    ) -> None:
        drawn = Draw.worked if public else Draw.hidden
        own = drawn(exercise, "sizes", sources[0].sizes(public)).sizes
        self.axes, self._base = {**own, **usual}, usual
        self.from_ = partial(_Trials, sources, exercise, public, layer)  # with other usual sizes
        self._layer, self._sources = layer, sources
        self._draw = partial(drawn, exercise, "sizes", {})
        self._usual = self._keys({})

    def fit(self, sizes: Sizes) -> bool:
        """Say whether all questions can be asked with `sizes`, and one becomes another by it."""
        keys = self._keys(sizes)
        return keys is not None and keys != self._usual

    def equal(self) -> Sizes:
        """Return sizes of which many are equal: that of the last axis, where that goes.

        With equal sizes, axes can be confused without an error. There is one more sequence.
        """
        first, *others = self.axes
        last = self.axes[others[-1]] if others else 0
        found: Sizes = {}
        tried = {axis: last for axis in others if self.axes[axis] < 2 * last}
        for axis, size in {first: self.axes[first] + 1, **tried}.items():
            more = {**found, axis: size}
            found = more if self.fit(more) else found
        return found

    def grown(self) -> Sizes:
        """Return a slightly larger size for every axis that can have one."""
        found: Sizes = {}
        for axis, size in self.axes.items():
            tried = ({**found, axis: larger} for larger in (size + 1, 2 * size))
            found = next(filter(self.fit, tried), found)
        return found

    def enlarged(self, single: Sizes) -> Sizes:
        """Return the sizes `single`, with much larger ones for the other axes where that goes."""
        sizes = {axis: size for axis, size in self.axes.items() if axis not in single}
        # Not a multiple, so that even sizes become odd ones, and odd sizes even ones.
        for less in (1, 0):
            others = {axis: TIMES_LARGER * size - less for axis, size in sizes.items()}
            if self.fit({**others, **single}):
                return {**others, **single}
        found = single
        for axis, size in sizes.items():
            tried = ({**found, axis: TIMES_LARGER * size - less} for less in (1, 0))
            found = next(filter(self.fit, tried), found)
        return found

    def long(self, axis: str) -> Sizes:
        """Return sizes with a long axis and small others; {} where it cannot be long.

        Others have size 2, so that there is more than one of everything, and 1 where the result
        would be large. Beside another long axis, there is one sequence.
        """
        if self._keys({axis: 2 * self.axes[axis]}) == self._usual:
            return {}  # nothing that is asked has this axis
        sizes = LONG if self.numbers({})[0] else LONG_ALONE
        found = next(filter(self.fit, ({axis: size} for size in sizes)), {})
        first = next(iter(self.axes))
        others = [other for other in self.axes if other != axis] if found else []
        for other in others:
            # With one long sequence in a batch, scores are large enough.
            smaller = ({**found, other: size} for size in ((1,) if other == first else (2, 1)))
            found = next(filter(self.fit, smaller), found)
        for other in others:
            if self.numbers(found)[1] > MOST_NUMBERS and self.fit({**found, other: 1}):
                found = {**found, other: 1}
        return found

    def numbers(self, sizes: Sizes) -> tuple[int, int]:
        """Return how many numbers the questions hand over, and how many are expected."""
        draw, given = self._draw(), {**self._base, **sizes}
        asked = [source.question(draw, "sizes", given) for source in self._sources]
        expected = (each.expectation for each in asked)
        results = (each.expected for each in expected if isinstance(each, Agrees))
        return (
            sum(_count(each.request.inputs) for each in asked),
            sum(map(_count, results)),
        )

    def dependent(self, single: Sizes) -> list[Sizes]:
        """Return sizes for each axis that has size 1 only together with another."""
        found = []
        for axis in self.axes:
            if axis not in single and self._keys({axis: 1}) is None:
                pairs = ({axis: 1, other: 1} for other in self.axes if other != axis)
                found += [next((pair for pair in pairs if self.fit(pair)), {})]
        return [sizes for sizes in found if sizes]

    def _keys(self, sizes: Sizes) -> list[bytes] | None:
        """What is asked with `sizes`; None when the reference cannot answer."""
        draw = self._draw()
        try:
            with warnings.catch_warnings(action="error"):  # of layers without numbers, say
                given = {**self._base, **sizes}
                questions = [source.question(draw, "sizes", given) for source in self._sources]
                layer = [source.question(draw, "sizes", given) for source in self._layer]
                fits = all(map(_is_finite, questions)) and all(each.expectation for each in layer)
        except UNFIT:  # what the reference raises says only that it cannot
            return None
        return [question.request.key for question in questions] if fits else None


def _count(value: Value) -> int:
    return sum(array.size for array in arrays_in(value))


def _is_finite(question: CheckQuestion) -> bool:
    """Say whether the reference answers with finite numbers; raises what it raises.

    Where every very negative score is the same, negative infinity is one of them.
    """
    if not isinstance(question.expectation, Agrees):
        return True
    floor = question.expectation.form.compare == "floor"
    arrays = arrays_in(question.expectation.expected)
    return all((np.isfinite(each) | (floor & (each == -np.inf))).all() for each in arrays)


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


def agreeing(
    sources: Iterable[QuestionSource],
    *asked: tuple[str, Callable[[QuestionSource, Draw], Request]],
) -> StandingCheck:
    """The answers are right to what is made of each source, once for each purpose and draw."""

    def check(student: Student, draw: Draw) -> None:
        for source in sources:
            for purpose, made in asked:
                request = source.kept(purpose, draw, partial(made, source, draw))
                student.ask(request).agrees()

    return check


def in_every_use(
    sources: Sequence[QuestionSource], use: Use, fitting: Container[SourcePair]
) -> StandingCheck:
    """The answers are right in every use, and so are the gradients; see `fitting_pairs`."""

    def made(source: QuestionSource, draw: Draw) -> Request:
        others = [
            _at_sizes_of(source if (source, other) in fitting else None, other, draw, use.sizes)
            for other in sources
            if other is not source
        ]
        return use.of(source, draw, others)

    return agreeing(sources, ("use", made))


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
        usual = source.question(draw, "sized usual", {}).request
        earlier = (earlier_call(question.request, usual),)
        return replace(request, earlier=earlier, backward=cotangent(question, draw))


def at_sizes(places: Mapping[QuestionSource, int | None], sized: Sized) -> StandingCheck:
    """The answers are right at other sizes; `places` are those of `Sized.of`."""
    return agreeing(
        places,
        (f"at {dict(sized.sizes)}", lambda source, draw: sized.of(source, places[source], draw)),
    )


def at_long_axes(questions: Sequence[LongQuestion]) -> StandingCheck:
    """The answers are right with axes longer than any that code may have been written for."""

    def check(student: Student, draw: Draw) -> None:
        for each in questions:
            asked = each.source.question(draw, "long", each.sizes, coarse=True)
            student.ask(asked.request).agrees_if_in_time()

    return check


def with_large_numbers(sources: Sequence[QuestionSource]) -> StandingCheck:
    """A softmax is right for rows that hold very large and very small numbers."""

    def with_rows(
        rows: Callable[[np.ndarray], np.ndarray], source: QuestionSource, draw: Draw
    ) -> Request:
        request = source.question(draw, "large", {}).request
        (scores,) = request.arguments
        return replace(request, arguments=(rows(scores),))

    kinds = (spread_out, far_down)
    return agreeing(sources, *((rows.__name__, partial(with_rows, rows)) for rows in kinds))


def with_large_inputs(
    sources: Sequence[QuestionSource], sizes: Sequence[Sizes], dtype: str
) -> StandingCheck:
    """A layer is right for token vectors that hold large numbers, as its softmax has to be."""

    def enlarged(sizes: Sizes, source: QuestionSource, draw: Draw) -> Request:
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

    return agreeing(sources, *((f"large {dict(each)}", partial(enlarged, each)) for each in sizes))


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

"""Standing checks: what every step is held to, without a line by the author.

Their inputs are those of the author's own checks, under other conditions: called again, with the
memory layout of the layer, with gradients, in another precision, with axes of size 1, with large
numbers. An author switches one off for a step, with a reason, in `[grading.without.STEP]`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from autograder.checks import properties
from autograder.checks.marks import SHOWN_BY_LAYER, Draw, is_run_again, marks_of, step_of
from autograder.checks.properties import (
    LongQuestion,
    SizePlan,
    Sizes,
    StandingCheck,
    long_questions,
    many_sequences,
    other_sizes,
    size_plan,
    smaller_sizes,
)
from autograder.checks.reference import Reference
from autograder.checks.student import CheckQuestion, Student
from autograder.checks.substitution import unanswerable_steps
from autograder.checks.varied_request import (
    UNFIT,
    Layouts,
    QuestionSource,
    enlarged_argument,
    layouts_in,
    questions_of,
    takes_numbers,
    with_seed,
)
from autograder.errors import KitError
from autograder.judging.conditions import LONG_AXES, STANDING, conditions_of
from autograder.judging.distribution import Distributed
from autograder.judging.expectation import Agrees, are_shares
from autograder.judging.layers import LinearLayers
from autograder.values.exercise import MANIFEST, Step
from autograder.values.request import Request
from autograder.worker.call import EarlierCall
from autograder.worker.wire import Linear, Seed

# The standing properties of a step that draws: from its own generator, and anew every time.

_GENERATORS = 4  # whose draws must all differ
_FROM_GENERATOR = "the numbers come from the generator that is passed in, at any size"
_NEW_LAYERS = "every call makes new layers, of any size"
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


_USES = {
    "earlier_calls": "when it is called again",
    "memory_layout": "with its input in another order in memory",
    "gradients": "in a backward pass",
}
PROPERTIES = (*_USES, "other_precision", "size_1", LONG_AXES, "large_numbers", "own_draws")
# A layer is not asked with a long axis where that takes larger weights than these.
MOST_GIVEN = 50_000
# What a function is asked with a long axis in any case holds no more numbers, in and out.
MOST_ASKED = 10_000
OTHER_PRECISION = {"float32": "float64", "float64": "float32"}


def standing_checks(
    reference: Reference, items: Iterable[pytest.Item], public: bool = False
) -> list[pytest.Item]:
    """Return the standing checks of every step, as pytest items beside the author's `items`.

    If `public`, they are to be asked as worked examples, with sizes that fit those.
    Raises `KitError` when the author switches off a property that does not exist.
    """
    steps = [_HeldStep(reference, step, items, public) for step in reference.exercise.steps]
    classes = [step for step in steps if step.is_class]
    layer = [question.request for step in classes for question in step.questions()]
    layouts = layouts_in(reference, layer)
    sources = [source for step in classes for source in step.values]
    shown = frozenset(each.axis for step in classes for each in step.long_questions)
    return [check for step in steps for check in step.checks(layouts, sources, shown)]


class _HeldStep:
    """One step with the author's checks of it, and what follows from them."""

    def __init__(
        self, reference: Reference, step: Step, items: Iterable[pytest.Item], public: bool
    ) -> None:
        self._reference, self._step, self._public = reference, step, public
        functions = (item for item in items if isinstance(item, pytest.Function))
        self._items = [item for item in functions if step_of(item) == step.name]
        self._without = reference.exercise.grading.without.get(step.name, {})
        unknown = sorted(set(self._without) - set(PROPERTIES))
        if unknown:
            raise KitError(
                f"there is no standing property {unknown[0]!r} to switch off",
                place=str(reference.exercise.folder / MANIFEST),
                cure=f"use one of: {', '.join(PROPERTIES)}",
            )
        self._torch = reference.exercise.library == "torch"
        self.is_class = step.name in reference.layers
        self._known: dict[pytest.Function, tuple[CheckQuestion, ...]] = {}
        self.values = self._sources(Agrees)

    def questions(self) -> list[CheckQuestion]:
        """Return the author's questions about values, one of each form."""
        return [self._asked(source.item)[source.number] for source in self.values]

    def checks(
        self,
        layouts: Mapping[str, Layouts],
        layer: Sequence[QuestionSource],
        shown: frozenset[str],
    ) -> list[pytest.Item]:
        """Return the standing checks that have something to ask.

        layouts: of each step's arguments in the layer. layer: the questions about the layer.
        shown: the axes that are long in some of them.
        """
        exercise, found = self._reference.exercise, list[pytest.Item]()
        self._keep_one_of_its_own()
        if self.values:
            asked = [value for each in self.questions() for value in each.request.arguments]
            gets_layers = any(isinstance(value, Linear) for value in asked)
            plan = size_plan(self.values, exercise, self._public, layer if gets_layers else ())
            found += self._in_every_use(plan, layouts.get(self._step.name))
            found += self._at_sizes(plan)
            if plan.single and "size_1" not in self._without:
                self._leave_to_standing_checks()
        large, numbers = self._values_where(_is_softmax), self._values_where(takes_numbers)
        if large and "large_numbers" not in self._without:
            title = "very large and very small numbers in one row"
            found.append(self._item("large_numbers", title, properties.with_large_numbers(large)))
        if numbers and "large_numbers" not in self._without:
            title, dtype = "inputs that hold large numbers", "float64" if self._torch else ""
            many = many_sequences(numbers, exercise, self._public, properties.MANY_SEQUENCES)
            check = properties.with_large_inputs(numbers, ({}, many) if many else ({},), dtype)
            found.append(self._item("large_numbers", title, check))
        for sources, title, made in (
            (self._sources(Distributed), _FROM_GENERATOR, from_its_generator),
            (self._sources(LinearLayers)[:1], _NEW_LAYERS, new_every_time),
        ):
            if sources and "own_draws" not in self._without:
                sizes = other_sizes(sources, exercise, self._public)
                found.append(self._item("own_draws", title, made(sources, sizes)))
        return [*found, *self._at_long_axes(shown)]

    def _values_where(self, fits: Callable[[CheckQuestion], bool]) -> list[QuestionSource]:
        return [source for source, each in zip(self.values, self.questions()) if fits(each)]

    def _keep_one_of_its_own(self) -> None:
        """Let hand-ins share the inputs of all checks but one, the first of values.

        Of what is drawn at random, only the generator's seed is an input.
        """
        own = self.values[0].item if self.values else None
        for item in self._items:
            if item is not own:
                marks_of(item).shares_inputs = True

    def _leave_to_standing_checks(self) -> None:
        """Run an author's checks of values with their first sizes only, until the step fails."""
        for item in filter(is_run_again, self._items):
            asked = self._asked(item)
            values = (isinstance(each.expectation, Agrees) for each in asked)
            plain = (_is_plain(each.request, Agrees) for each in asked)
            if asked and all(values) and all(plain):
                marks_of(item).only_tells = True

    def _in_every_use(self, plan: SizePlan, layouts: Layouts | None) -> list[pytest.Item]:
        held = [name for name in _USES if name not in self._without]
        if not self._torch:
            held = [name for name in held if name == "earlier_calls"]
        elif not layouts and not self.is_class:
            held = [name for name in held if name != "memory_layout"]
        if not held:
            return []
        *others, last = (_USES[name] for name in held)
        title = f"the same {', '.join(others)}{' and ' * bool(others)}{last}"
        draw = self._drawn(self._reference.exercise, "sizes", {})
        # What was kept of a call of smaller sizes would not fit, so those come first.
        smaller = self._smaller(draw, plan.equal) if self.is_class else ()
        use = properties.Use(
            plan.equal,
            (*smaller, plan.grown) if "earlier_calls" in held else None,
            (layouts or ()) if "memory_layout" in held else None,
            "gradients" in held,
            ("eval", "train") if self._torch and self.is_class else (),
        )
        fitting = properties.fitting_pairs(self.values, draw, plan.equal)
        check = properties.in_every_use(self.values, use, fitting)
        return [self._item("every_use", title, check, tuple(held))]

    def _smaller(self, draw: Draw, usual: Sizes) -> tuple[Sizes, ...]:
        """Return smaller sizes that one instance can be called with: those of the last axis.

        So the very first call has fewer tokens, and as many sequences.
        """
        found = smaller_sizes(self.values, self._reference.exercise, self._public, usual)
        fit = partial(properties.on_one_instance, self.values, draw, usual)
        return tuple(list(filter(fit, found))[-1:])

    @property
    def _drawn(self) -> Callable[..., Draw]:
        return Draw.worked if self._public else Draw.hidden

    def _at_sizes(self, plan: SizePlan) -> list[pytest.Item]:
        own = self._reference.exercise.dtype
        other = "" if "other_precision" in self._without else OTHER_PRECISION[own]
        groups = () if "size_1" in self._without else plan.single
        in_torch = self._torch and self.is_class
        places = dict(zip(self.values, map(enlarged_argument, self.questions()), strict=True))
        found = []
        for number, sizes in enumerate(groups or ({},) * bool(other)):
            used = in_torch and not number
            dtype = "" if used else other
            single = [axis for axis, size in sizes.items() if size == 1]
            name = f"size_1[{','.join(single)}]" if single else "other_precision"
            title = self._sized_title(sizes, single, dtype)
            sized = properties.Sized(
                sizes,
                dtype,
                ("eval",) if in_torch else (),
                recording=not self._torch,
                enlarged=dtype == "float64",  # in float32, large numbers that cancel lose digits
                used=used,
            )
            check = properties.at_sizes(places, sized)
            varied = ("size_1",) * bool(single) + ("other_precision",) * bool(dtype)
            found.append(self._item(name, title, check, varied))
        return found

    @cached_property
    def long_questions(self) -> tuple[LongQuestion, ...]:
        """The questions with one long axis each."""
        if not self.values or LONG_AXES in self._without:
            return ()
        sources = self.values
        if self.is_class:  # one form of its call, that with the most options, takes all its steps
            asked = zip(sources, self.questions())
            sources = [max(asked, key=lambda pair: len(pair[1].request.keywords))[0]]
        return tuple(
            each
            for source in sources
            for each in long_questions(source, self._reference.exercise, self._public)
            if not self.is_class or self._can_be_long(each)
        )

    def _can_be_long(self, each: LongQuestion) -> bool:
        """Say whether a layer is asked so: the reference must be able to answer for its steps."""
        draw = self._drawn(self._reference.exercise, "sizes", {})
        asked = each.source.question(draw, "sizes", each.sizes).request
        return each.given <= MOST_GIVEN and not unanswerable_steps(self._reference, asked)

    def _at_long_axes(self, shown: frozenset[str]) -> list[pytest.Item]:
        """Return the check with long axes, and that for what a layer shows of a function.

        A function that is right in such a layer is not asked alone (see `marks.is_shown_by_layer`).
        """
        kinds: dict[str, list[LongQuestion]] = {LONG_AXES: [], SHOWN_BY_LAYER: []}
        for each in self.long_questions:
            alone = self.is_class or (
                each.axis not in shown and each.given + each.expected <= MOST_ASKED
            )
            kinds[LONG_AXES if alone or not shown else SHOWN_BY_LAYER].append(each)
        title = "one axis much longer than the others"
        return [
            self._item(name, title, properties.at_long_axes(questions), (LONG_AXES,))
            for name, questions in kinds.items()
            if questions
        ]

    def _sized_title(self, sizes: Sizes, single: Sequence[str], dtype: str) -> str:
        """Say what is asked of a step at other sizes, and only what applies to it."""
        asked = self.questions()
        others = self._axes(asked) - set(single) if single else set(sizes)
        words = [f"{' and '.join(single)} of size 1"] * bool(single)
        words += ["other axes larger" if single else "larger sizes"] * bool(others)
        words += [f"in {dtype}"] * (bool(dtype) and any(map(_takes_floats, asked)))
        return ", ".join(words) or "other sizes"

    def _axes(self, asked: Iterable[CheckQuestion]) -> set[str]:
        """Return the letters of the axes that the results of a step have."""
        wanted = (each.expectation for each in asked)
        forms = (each.form for each in wanted if isinstance(each, Agrees))
        return {letter for form in forms for axes in form.axes for letter in (axes or "").split()}

    def _sources(self, kind: type) -> list[QuestionSource]:
        """Return the author's questions with an expectation of this kind, one of each form."""
        found: dict[Any, QuestionSource] = {}
        for item in {item.originalname: item for item in reversed(self._items)}.values():
            for number, question in enumerate(self._asked(item)):
                if isinstance(question.expectation, kind) and _is_plain(question.request, kind):
                    found[_form(question.request)] = QuestionSource(item, number, self._reference)
        return list(reversed(found.values()))

    def _asked(self, item: pytest.Function) -> tuple[CheckQuestion, ...]:
        if item not in self._known:
            self._known[item] = self._questions_of(item)
        return self._known[item]

    def _questions_of(self, item: pytest.Function) -> tuple[CheckQuestion, ...]:
        sizes = QuestionSource(item, 0, self._reference).sizes(self._public)
        try:
            draw = self._drawn(self._reference.exercise, item.name, sizes)
            asked = questions_of(item, self._reference, draw)
            return tuple(question for question in asked if question.expectation)
        except UNFIT:  # where it is asked with these sizes, it raises again and is reported
            return ()

    def _item(
        self, name: str, title: str, check: properties.StandingCheck, held: tuple[str, ...] = ()
    ) -> pytest.Item:
        """Return a check; `held` are the properties it is about, where its name is none of them."""

        def standing(student: Student, draw: Draw) -> None:
            check(student, draw)

        standing.__doc__ = title
        item = pytest.Function.from_parent(
            self._items[0].parent,
            name=f"{STANDING}{name}",
            originalname=f"{STANDING}{name.partition('[')[0]}",
            callobj=standing,
        )
        item.add_marker(pytest.mark.step(self._step.name))
        item.add_marker(pytest.mark.stays("every step is held to it"))
        if any(own.get_closest_marker("public") for own in self._items):
            item.add_marker(pytest.mark.public)
        marks_of(item).properties = held or (name,)
        return item


def _is_plain(request: Request, kind: type) -> bool:
    """Say whether a check asks without conditions, so that they can be added."""
    read = kind is Agrees and request.read
    return not read and not conditions_of(request) and request.calls == 1


def _form(request: Request) -> tuple[Any, ...]:
    # However an instance was made, its method is called in one form.
    given = request.arguments if request.method is None else request.method_arguments
    return (request.method, len(given), tuple(request.keywords), request.read)


def _takes_floats(question: CheckQuestion) -> bool:
    given = question.request.inputs
    return any(isinstance(each, Linear) or np.asarray(each).dtype.kind == "f" for each in given)


def _is_softmax(question: CheckQuestion) -> bool:
    """Say whether a step turns the rows of its only array into shares that sum to 1."""
    request, expectation = question.request, question.expectation
    assert isinstance(expectation, Agrees)
    given, expected = request.arguments, expectation.expected
    return bool(
        request.method is None
        and len(given) == 1
        and isinstance(given[0], np.ndarray)
        and isinstance(expected, np.ndarray)
        and expected.shape == given[0].shape
        and are_shares(expected)
    )

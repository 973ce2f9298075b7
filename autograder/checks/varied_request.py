"""The questions that an author's checks ask, and what standing checks make of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from autograder.checks.marks import Draw, step_of
from autograder.checks.reference import Reference
from autograder.checks.student import CheckQuestion, Conversation, Student
from autograder.judging.compare import FLOOR
from autograder.judging.expectation import Agrees, are_shares
from autograder.values.request import Reply, Request
from autograder.worker.call import EarlierCall
from autograder.worker.wire import Linear, Seed, Value, round_tripped

# What each step gets when the reference's own layer calls it, and how that lies in memory.
#
# A transpose moves nothing in memory. So what a step gets in the layer may lie in another order
# than its axes are counted, and code that relies on the order works alone but not in the layer.

Layouts = tuple[tuple[int, ...] | None, ...]


def layouts_in(reference: Reference, requests: Iterable[Request]) -> Mapping[str, Layouts]:
    """Return for each step the order of its arguments' axes in memory, outermost first.

    requests: calls of the layer. An argument that lies in the usual order has None, and a step
    whose arguments all do is left out.
    """
    found: dict[str, Layouts] = {}

    def note(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        layouts = tuple(map(_order, arguments))
        if any(layouts):
            found.setdefault(name, layouts)

    reference.watched(requests, note)
    return found


def calls_in(reference: Reference, request: Request) -> tuple[Request, ...]:
    """Return the calls of steps in one call of the layer, those of a step by another among them."""
    found: list[Request] = []

    def plain(value: Any) -> Value:
        return round_tripped(value, reference.exercise.library)

    def note(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        if reference.exercise.step(name).random:
            return
        given, layouts = tuple(map(plain, arguments)), tuple(map(_order, arguments))
        named = {key: plain(value) for key, value in keywords.items()}
        used = layouts if any(layouts) else ()
        found.append(Request(name, given, named, dtype=request.dtype, layouts=used))

    reference.watched([request.alone], note)
    return tuple(found)


def _order(value: Any) -> tuple[int, ...] | None:
    """The axes of an array or tensor in the order of memory; None where that is their own."""
    if isinstance(value, np.ndarray):
        strides: tuple[int, ...] = value.strides
    elif hasattr(value, "stride"):
        strides = value.stride()
    else:
        return None
    order = tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))
    return None if 0 in strides or order == tuple(range(len(strides))) else order


# A softmax over a row that holds it and its negative overflows unless the row's own maximum is
# taken off. It is no larger than that takes: the digits of a larger one would be lost.
LARGE = {"float32": 300.0, "float64": 1e4}
# Below -1000, which looks like a mask and is none; a float32 there still has four digits behind it.
FAR_DOWN = {"float32": 1016.0, "float64": 2.0**14}


def spread_out(scores: np.ndarray) -> np.ndarray:
    """Rows that each hold very large and very small scores, the largest in another place each."""
    largest = LARGE[scores.dtype.name]
    row = np.resize(np.array([largest, 0.0, -largest]), scores.shape[-1])
    large = np.stack([np.roll(row, place) for place in range(scores.shape[-2])])
    spread: np.ndarray = (_rounded(scores) + large).astype(scores.dtype)
    return spread


def far_down(scores: np.ndarray) -> np.ndarray:
    """Every second row far below the others, and a last score of -inf: a mask may write that.

    In the other rows, a score is 0, which is one like any other.
    """
    rows = _rounded(scores)
    rows[..., ::2, :] -= FAR_DOWN[scores.dtype.name]
    rows[..., 1::4, -2] = rows[..., 3::4, 0] = 0  # above the diagonal and below
    rows[..., -1] = -np.inf
    return rows.astype(scores.dtype)


def _rounded(scores: np.ndarray) -> np.ndarray:
    """Multiples that float32 holds exactly, even when large ones are added."""
    return np.round(64 * scores) / 64


def enlarged_argument(question: CheckQuestion) -> int | None:
    """Return the number of the argument of a function that may be 1024 times as large.

    It is the first array. Shares that sum to 1 stay as they are, and the next array is taken. So
    do scores that become shares: those of large scores hang on their last digits.
    """
    request, expectation = question.request, question.expectation
    assert isinstance(expectation, Agrees)
    if isinstance(expectation.expected, np.ndarray) and are_shares(expectation.expected):
        return None
    for place, value in enumerate(request.arguments):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not are_shares(value):
            return place
    return None


def with_zeros(request: Request, place: int | None, factor: float) -> Request:
    """Return a request with every third number of an argument 0, and the others `factor` times."""
    if place is None:
        return request
    arguments = list(request.arguments)
    numbers = factor * arguments[place]
    numbers.flat[::3] = 0
    arguments[place] = numbers
    return replace(request, arguments=tuple(arguments))


def earlier_call(request: Request, other: Request) -> EarlierCall:
    """The call of `other` as one before that of `request`, on the same instance if it fits."""
    made = request.method is not None and made_of(other) == made_of(request)
    arguments = None if made else other.arguments
    return EarlierCall(arguments, other.method_arguments, other.keywords)


def by_position(request: Request, reference: Reference) -> Request:
    """Return a call of a method with what it was given by name given by position, where it can be.

    Whoever calls it may do either.
    """
    if not request.method or not request.keywords:
        return request
    called = getattr(getattr(reference.module, request.target), request.method)
    parameters = list(inspect.signature(called).parameters.values())[1:]
    given, keywords = list(request.method_arguments), dict(request.keywords)
    for parameter in parameters[len(given) :]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in keywords:
            break
        given.append(keywords.pop(parameter.name))
    return replace(request, method_arguments=tuple(given), keywords=keywords)


def takes_numbers(question: CheckQuestion) -> bool:
    """Say whether a method is first given an array of vectors of floating-point numbers."""
    given = question.request.method_arguments[:1]
    return any(_is_floating(value) and np.ndim(value) > 1 for value in given)


def with_inputs_of(request: Request, other: Request) -> Request:
    """Return another question about a method with the inputs of `request`, if they fit."""
    pairs = list(zip(request.method_arguments, other.method_arguments))
    if any(np.shape(own) != np.shape(value) for own, value in pairs):
        return other
    given = [own if isinstance(value, np.ndarray) else value for own, value in pairs]
    rest = other.method_arguments[len(pairs) :]
    return replace(other, method_arguments=(*given, *rest))


def made_of(request: Request) -> list[Any]:
    """Return what an instance is made of: the sizes it is given, and the shapes of its weights."""
    sizes = [value for value in request.arguments if not isinstance(value, Seed)]
    return [sizes, {name: np.shape(value) for name, value in request.attributes.items()}]


def transposed(request: Request) -> Layouts:
    """Layouts for a method's arguments, as after a transpose of their last two axes."""
    return tuple(
        (*range(value.ndim - 2), value.ndim - 1, value.ndim - 2)
        if isinstance(value, np.ndarray) and value.ndim > 1
        else None
        for value in request.method_arguments
    )


def cotangent(question: CheckQuestion, draw: Draw) -> Value:
    """Gradients to propagate back from a result, or None where nothing would receive them.

    Where a score is forbidden the gradient is 0: there it is very negative in many right ways.
    """
    given, expectation = question.request.inputs, question.expectation
    assert isinstance(expectation, Agrees)
    results = expectation.expected
    several = isinstance(results, tuple)
    parts = results if several else (results,)
    if not any(map(_is_floating, given)) or not all(map(_is_floating, parts)):
        return None
    drawn = draw.beside("backward", {})
    gradients = tuple(
        np.where(part <= FLOOR, 0, drawn.shaped(*part.shape)).astype(part.dtype) for part in parts
    )
    return gradients if several else gradients[0]


def _is_floating(value: Value) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "f")
    return isinstance(value, Linear)


def with_seed(request: Request, number: int) -> Request:
    """The same request, with generators of other seeds."""
    arguments = tuple(
        Seed(value.seed + 1 + number) if isinstance(value, Seed) else value
        for value in request.arguments
    )
    return replace(request, arguments=arguments)


# The questions that an author's checks ask, without asking a student: read off the reference.


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

"""What a check expects of a reply, as data: the closed vocabulary of a grader file.

Being data, an expectation can be judged beside the reference (hidden graders) or
written into the worked examples and judged in a learner's notebook: one engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from autograder.compare import Form, arrays_of, compare_form, type_words
from autograder.diagnosis import Candidate, diagnose, failure, named
from autograder.request import Failed, Reply, Request, Returned
from autograder.verdict import Finding, Outcome
from autograder.wire import Linear, Value


class CheckFailed(Exception):
    """A check saw something wrong; `finding` says what."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True)
class Agrees:
    """The result is the expected one, within the tolerance of its dtype."""

    expected: Value
    form: Form


@dataclass(frozen=True)
class Distributed:
    """Every array is a normal draw of its own with this mean and standard deviation.

    `expected` gives the shapes only; its numbers are another draw.
    """

    expected: Value
    form: Form
    mean: float
    deviation: float


@dataclass(frozen=True)
class Unchanged:
    """The arrays given as arguments are afterwards what they were before."""

    form: Form


@dataclass(frozen=True)
class Layers:
    """The linear layers have the expected shapes, and a bias exactly where one is expected.

    `expected` is a `Linear` per name of the form; its numbers are another draw.
    """

    expected: tuple[Linear, ...]
    form: Form


@dataclass(frozen=True)
class Refused:
    """The code raises one of these exceptions; `fact` is what to say when it does not."""

    kinds: tuple[str, ...]
    fact: str
    form: Form


Expectation = Agrees | Distributed | Unchanged | Layers | Refused


def judge(
    expectation: Expectation, request: Request, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return what is not as expected, or None."""
    finding = _missing(request, reply)
    if finding:
        return finding
    reply = _attributes(request, reply)
    candidates = (
        replace(candidate, reply=_attributes(request, candidate.reply)) for candidate in candidates
    )
    match expectation:
        case Agrees(expected, form):
            return diagnose(reply, expected, form, candidates)
        case Distributed():
            return _distributed(expectation, reply, candidates)
        case Unchanged():
            return _unchanged(request, reply, candidates)
        case Layers(expected, form):
            return _layers(expected, form, reply, candidates)
        case Refused():
            return _refused(expectation, reply)


def _attributes(request: Request, reply: Reply) -> Reply:
    """When attributes were read, they are the result: one value each, None where missing."""
    if isinstance(reply, Failed) or not request.read:
        return reply
    names = [name for name in request.read if name != "*"]
    values = tuple(reply.attributes.get(name) for name in names)
    return replace(reply, value=values[0] if len(names) == 1 else values)


def _missing(request: Request, reply: Reply) -> Finding | None:
    if isinstance(reply, Failed):
        return None
    absent = [name for name in request.read if name not in reply.attributes]
    if not absent:
        return None
    there = reply.attributes.get("*") or ()
    others = ", ".join(f"`{name}`" for name in there if isinstance(name, str))
    return Finding(
        Outcome.WRONG_TYPE,
        f"After `__init__` there is no attribute `{absent[0]}`.",
        look="The check reads what the class keeps by the names in its docstring."
        + (f" There are {others}." if others else ""),
    )


def _unchanged(request: Request, reply: Reply, candidates: Iterable[Candidate]) -> Finding | None:
    if isinstance(reply, Failed):
        return failure(reply)
    before = request.method_arguments if request.method else request.arguments
    changed = _changed(before, reply.after)
    if changed is None:
        return None
    finding = Finding(
        Outcome.WRONG_VALUES,
        f"It overwrites argument number {changed + 1}, an array that belongs to the caller.",
        right="It returns a result.",
        look="Operators such as `-=` and `out=` change an array in place; `a = a - b` makes a new one.",
    )
    for candidate in candidates:
        if isinstance(candidate.reply, Returned) and _changed(before, candidate.reply.after) == changed:
            return named(finding, candidate)
    return finding


def _changed(before: tuple[Value, ...], after: tuple[Value, ...]) -> int | None:
    for number, (one, two) in enumerate(zip(before, after)):
        if isinstance(one, np.ndarray) and not (
            isinstance(two, np.ndarray) and np.array_equal(one, two, equal_nan=True)
        ):
            return number
    return None


def _layers(
    expected: tuple[Linear, ...], form: Form, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    if isinstance(reply, Failed):
        return diagnose(reply, expected, form, candidates)
    finding = _layer_fault(expected, form, reply.value)
    if finding is None:
        return None
    for candidate in candidates:
        if isinstance(candidate.reply, Returned) and _layer_shapes(reply.value) == _layer_shapes(
            candidate.reply.value
        ):
            return named(finding, candidate)
    return finding


def _layer_shapes(value: Value) -> object:
    if isinstance(value, tuple):
        return tuple(_layer_shapes(item) for item in value)
    return (value.weight.shape, value.bias is None) if isinstance(value, Linear) else value


def _layer_fault(expected: tuple[Linear, ...], form: Form, value: Value) -> Finding | None:
    given = arrays_of(value, form)
    if len(given) != len(expected):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {type_words(value)}, and {len(expected)} linear layers are due: "
            f"{', '.join(form.names)}.",
        )
    for name, layer, due in zip(form.names, given, expected):
        if not isinstance(layer, Linear):
            fact = f"`{name}` is {type_words(layer)}, and a linear layer (nn.Linear) is due."
            return Finding(Outcome.WRONG_TYPE, fact)
        (outputs, inputs), (due_outputs, due_inputs) = layer.weight.shape, due.weight.shape
        if (outputs, inputs) != (due_outputs, due_inputs):
            other_way = (outputs, inputs) == (due_inputs, due_outputs)
            return Finding(
                Outcome.WRONG_SHAPE,
                f"`{name}` maps {inputs} numbers to {outputs}, "
                f"and {due_inputs} to {due_outputs} are due.",
                look="It is the other way round." if other_way else "",
            )
        if (layer.bias is None) != (due.bias is None):
            has, wanted = ("no", "one") if layer.bias is None else ("a", "none")
            fact = f"`{name}` has {has} bias, and {wanted} is due."
            return Finding(Outcome.WRONG_SHAPE, fact, right=f"The size of `{name}` is right.")
    return None


def _refused(expectation: Refused, reply: Reply) -> Finding | None:
    if isinstance(reply, Returned):
        return Finding(Outcome.WRONG_VALUES, expectation.fact)
    raised = reply.exception.type_name if reply.exception else ""
    return None if raised in expectation.kinds else failure(reply)


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a set of draws: its kind, which array, and the number that shows it."""

    kind: str
    array: str
    measure: float
    sentence: str


def _distributed(
    expectation: Distributed, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    if isinstance(reply, Failed):
        return diagnose(reply, expectation.expected, expectation.form, candidates)
    finding = compare_form(reply.value, expectation.expected, expectation.form)
    if finding:
        return finding
    fault = _fault(expectation, reply.value)
    if fault is None:
        return None
    finding = Finding(
        Outcome.WRONG_VALUES, fault.sentence, right="The arrays and their shapes are right."
    )
    for candidate in candidates:
        other = candidate.reply
        if isinstance(other, Returned) and _alike(fault, _candidate_fault(expectation, other.value)):
            return named(finding, candidate)
    return finding


def _candidate_fault(expectation: Distributed, value: Value) -> _Fault | None:
    if compare_form(value, expectation.expected, expectation.form):
        return None
    return _fault(expectation, value)


def _alike(one: _Fault, two: _Fault | None) -> bool:
    return (
        two is not None
        and (one.kind, one.array) == (two.kind, two.array)
        and bool(np.isclose(one.measure, two.measure, rtol=0.2, atol=1e-3))
    )


def _fault(expectation: Distributed, value: Value) -> _Fault | None:
    form, mean, deviation = expectation.form, expectation.mean, expectation.deviation
    arrays = dict(zip(form.names, arrays_of(value, form)))
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            return _Fault("finite", name, 0.0, f"`{name}` holds numbers that are not finite.")
        spread = float(array.std())
        if not abs(spread / deviation - 1) < 0.08:
            sentence = (
                f"The standard deviation of `{name}` is {spread:.3g}, and {deviation} is due."
            )
            return _Fault("spread", name, spread / deviation, sentence)
        if abs(array.mean() - mean) > 6 * deviation / np.sqrt(array.size):
            sentence = f"The mean of `{name}` is {array.mean():.3g}, and {mean} is due."
            return _Fault("mean", name, float(array.mean()) / deviation, sentence)
    names = list(arrays)
    for index, one in enumerate(names):
        for two in names[:index]:
            correlation = float(np.corrcoef(arrays[one].ravel(), arrays[two].ravel())[0, 1])
            if abs(correlation) > 6 / np.sqrt(arrays[one].size):
                sentence = f"`{two}` and `{one}` are not drawn independently of each other."
                return _Fault("independence", one, correlation, sentence)
    for name, array in arrays.items():
        tails = float((((array - array.mean()) / array.std()) ** 4).mean())
        if abs(tails - 3) > 8 * np.sqrt(24 / array.size):
            sentence = f"The numbers of `{name}` do not follow a normal distribution."
            return _Fault("normal", name, tails, sentence)
    return None

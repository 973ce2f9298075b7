"""What a check expects of a reply, as data: the closed vocabulary of a grader file.

Being data, an expectation can be judged beside the reference (hidden graders) or
written into the worked examples and judged in a learner's notebook: one engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from autograder.compare import Form, arrays_of, compare_form
from autograder.diagnosis import Candidate, diagnose, failure, named
from autograder.request import Failed, Reply, Request, Returned
from autograder.verdict import Finding, Outcome
from autograder.wire import Value


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


Expectation = Agrees | Distributed | Unchanged


def judge(
    expectation: Expectation, request: Request, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return what is not as expected, or None."""
    reply = _attributes(request, reply)
    if isinstance(reply, Returned) and request.read:
        missing = [name for name, value in zip(request.read, reply.value) if value is None]
        if missing:
            return Finding(
                Outcome.WRONG_TYPE,
                f"After `__init__` there is no attribute `{missing[0]}`.",
                look="The check reads the weights by the names in the class's docstring.",
            )
    match expectation:
        case Agrees(expected, form):
            return diagnose(reply, expected, form, candidates)
        case Distributed():
            return _distributed(expectation, request, reply, candidates)
        case Unchanged():
            return _unchanged(request, reply, candidates)


def _attributes(request: Request, reply: Reply) -> Reply:
    """When attributes were read, they are the result: one value each, None where missing."""
    if isinstance(reply, Failed) or not request.read:
        return reply
    return replace(reply, value=tuple(reply.attributes.get(name) for name in request.read))


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


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a set of draws: its kind, which array, and the number that shows it."""

    kind: str
    array: str
    measure: float
    sentence: str


def _distributed(
    expectation: Distributed, request: Request, reply: Reply, candidates: Iterable[Candidate]
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
        other = _attributes(request, candidate.reply)
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

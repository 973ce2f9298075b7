"""What a check expects of a reply, as data: the closed vocabulary of a grader file.

Being data, an expectation can be judged beside the reference (hidden graders) or
written into the worked examples and judged in a learner's notebook: one engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

import numpy as np

from autograder.judging.beyond_values import (
    judge_gradients,
    judge_observations,
    judge_precision,
    overwritten_words,
)
from autograder.judging.compare import ResultSpec, agree
from autograder.judging.diagnosis import Candidate, diagnose, failure, named, told_by_cause
from autograder.judging.distribution import Distributed, judge_distribution
from autograder.judging.layers import LinearLayers, judge_layers
from autograder.judging.precision import LOWER
from autograder.model.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.model.verdict import NO_ATTRIBUTE, Finding, Outcome
from autograder.protocol.wire import Value, arrays_in

# A name that a student's process gives is quoted only when it can be an attribute's.
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_LONGEST_NAME, _MOST_NAMES = 60, 16
_SLOW = (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY)


class CheckFailed(Exception):
    """A check saw something wrong; `finding` says what."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(frozen=True)
class Agrees:
    """The result is the expected one, within the tolerance of what was asked.

    Nothing else has changed: neither the arguments nor a setting of the library. After a backward
    pass, `gradients` are expected, one for each of `gradient_names` (`Returned.gradients` says in
    which order); where None is expected, anything may arrive. `observations` are those that the
    reference gives too. If `may_be_slow`, code that does not come to an end within the time and
    memory of a call is not wrong: nobody has asked for it to be fast.
    """

    expected: Value
    form: ResultSpec
    gradients: tuple[Value, ...] = ()
    gradient_names: tuple[str, ...] = ()
    observations: tuple[str, ...] = ()
    may_be_slow: bool = False


@dataclass(frozen=True)
class Refused:
    """The code raises one of these exceptions; `fact` is what to say when it does not."""

    kinds: tuple[str, ...]
    fact: str
    form: ResultSpec


Expectation = Agrees | Distributed | LinearLayers | Refused


def may_be_slow(expectation: Expectation) -> bool:
    """Say whether code that takes too long for so large a question is not wrong."""
    return isinstance(expectation, Agrees) and expectation.may_be_slow


def judge(
    expectation: Expectation,
    request: Request,
    reply: Reply,
    candidates: Iterable[Candidate],
    describe: bool = True,
) -> Finding | None:
    """Return what is not as expected, or None; without `describe`, in the barest words."""
    if isinstance(expectation, Refused):  # then no attribute is wanted
        return _refused(expectation, reply)
    finding = _missing(request, reply)
    if finding:
        return finding
    reply = with_attributes(request, reply)
    candidates = (
        replace(candidate, reply=with_attributes(request, candidate.reply))
        for candidate in candidates
    )
    match expectation:
        case Agrees():
            return _agrees(expectation, request, reply, candidates, describe)
        case Distributed():
            drawn = judge_distribution(expectation, reply, candidates)
            return drawn or _left_behind(reply, "The numbers are right.")
        case LinearLayers():
            layers = judge_layers(expectation, reply, candidates, request)
            return layers or _left_behind(reply, "The sizes of the layers are right.")


def _agrees(
    expectation: Agrees,
    request: Request,
    reply: Reply,
    candidates: Iterable[Candidate],
    describe: bool,
) -> Finding | None:
    expected, form = expectation.expected, expectation.form
    if expectation.may_be_slow and isinstance(reply, Failed) and reply.outcome in _SLOW:
        return None
    finding = diagnose(reply, expected, form, candidates, request, describe)
    if isinstance(reply, Failed):
        return finding
    if finding:
        return _overwriting(finding, request, reply) if describe else finding
    return (
        _unchanged(request, reply, candidates)
        or judge_precision(reply.value, expectation.expected, expectation.form)
        or judge_observations(reply, expectation.observations)
        or judge_gradients(expectation, request, reply, candidates)
    )


def _left_behind(reply: Reply, right: str) -> Finding | None:
    """Return what a call that makes something new has changed beside that."""
    finding = judge_observations(reply, ()) if isinstance(reply, Returned) else None
    return finding and replace(finding, right=right)


def with_attributes(request: Request, reply: Reply) -> Reply:
    """When attributes were read, they become the result: one value each, None where missing."""
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
    others = ", ".join(f"`{name}`" for name in listed_names(reply.attributes.get("*")))
    return Finding(
        Outcome.WRONG_TYPE,
        f"{NO_ATTRIBUTE} `{absent[0]}`.",
        look="The check reads the attributes that the docstring of the class names."
        + (f" Yours are {others}." if others else ""),
    )


def listed_names(listed: Value) -> tuple[str, ...]:
    """Return the first names of attributes in a list that the student's process made."""
    items = listed if isinstance(listed, tuple) else ()
    names = (item for item in items if isinstance(item, str))
    fit = (name for name in names if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name))
    return tuple(islice(fit, _MOST_NAMES))


def _unchanged(
    request: Request, reply: Returned, candidates: Iterable[Candidate]
) -> Finding | None:
    changed = overwritten(request, reply)
    if changed is None:
        return None
    finding = Finding(
        Outcome.WRONG_VALUES,
        f"It overwrites argument number {changed + 1}, which belongs to the caller.",
        look="`-=`, `out=` and `a[0] = b` change what they are given, and so do methods that end "
        "in `_`. `a = a - b` makes something new.",
    )
    return named(
        finding,
        [
            candidate
            for candidate in candidates
            if isinstance(candidate.reply, Returned)
            and overwritten(request, candidate.reply) == changed
        ],
        binding=False,  # what is done to the arguments says nothing about the result
    )


def _overwriting(finding: Finding, request: Request, reply: Returned) -> Finding:
    """Return the finding on a wrong result, told by a result or argument that is overwritten."""
    if finding.misconception or finding.outcome is not Outcome.WRONG_VALUES:
        return finding
    words = overwritten_words(reply)
    if words:
        return told_by_cause(finding, *words)
    changed = _unchanged(request, reply, ())
    if changed is None:
        return finding
    fact = f"{changed.fact} The result is not as expected either."
    return told_by_cause(finding, fact, changed.look)


def overwritten(request: Request, reply: Returned) -> int | None:
    """Return the number of the first argument whose arrays are not as they were given.

    None when nothing was sent back, as from a mistake that was written down.
    """
    if not reply.after:
        return None
    before = request.method_arguments if request.method else request.arguments
    for number, (given, left) in enumerate(zip_longest(before, reply.after)):
        pairs = zip_longest(arrays_in(given), arrays_in(left))
        if not all(_still(array, other, request.dtype) for array, other in pairs):
            return number
    return None


def _still(given: np.ndarray | None, left: np.ndarray | None, dtype: str) -> bool:
    """Say whether an array is the same after it was cast to `dtype` and used."""
    if given is None or left is None or given.shape != left.shape:
        return False
    if given.dtype == left.dtype and given.tobytes() == left.tobytes():
        return True  # as nearly always, and soon seen
    if not dtype or given.dtype.kind != "f":
        return np.array_equal(given, left, equal_nan=True)
    if dtype in LOWER:  # NumPy has no bfloat16 to cast to
        return bool(agree(left, given, dtype)[np.isfinite(given)].all())
    return np.array_equal(given.astype(dtype), left, equal_nan=True)


def _refused(expectation: Refused, reply: Reply) -> Finding | None:
    if isinstance(reply, Returned):
        return Finding(Outcome.WRONG_VALUES, expectation.fact)
    raised = reply.exception.type_name if reply.exception else ""
    if reply.outcome is Outcome.RAISED and raised in expectation.kinds:
        return None
    if reply.exception and re.search(r"\braise\b", reply.exception.code):
        return _of_another_kind(expectation, reply.exception)
    return failure(reply)


def _of_another_kind(expectation: Refused, exception: ExceptionReport) -> Finding:
    """The finding on code that refuses, as it should, with an exception of its own choice."""
    kinds = " or ".join(f"`{kind}`" for kind in expectation.kinds)
    return Finding(
        Outcome.RAISED,
        f"Line {exception.line} raises `{exception.type_name}`, but {kinds} is expected.",
        right="It refuses these sizes, which is right.",
        look="Callers who want to catch the error look for it by its kind.",
    )

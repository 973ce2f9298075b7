"""From what a student's code gave to the sentence the student reads.

Counterfactual replay comes first: every known wrong implementation of the step is
run on the same inputs, and one that gives the student's own result names the mistake.
When none does, a fingerprint of the difference (a constant factor, swapped axes, the
rows that agree) says more than "values differ".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.judging.compare import ResultSpec, agree, arrays_of, coarse, compare, compare_form
from autograder.judging.explanation import is_cryptic, meaning
from autograder.judging.fingerprint import fingerprint, near, numbers
from autograder.model.request import ExceptionReport, Failed, Reply, Returned
from autograder.model.symbols import EXIT, LOOP, PRINT, mark, our_fault
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.wire import Value


@dataclass(frozen=True)
class Candidate:
    """A known wrong implementation and its reply to the inputs at hand.

    `words` is its docstring: the first paragraph says what the code does, the rest says
    where to look.
    """

    name: str
    words: str
    reply: Reply


def diagnose(
    reply: Reply, expected: Value, form: ResultSpec, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return what is wrong with `reply`, named when it can be; None when it is right."""
    finding = failure(reply) if isinstance(reply, Failed) else compare(reply.value, expected, form)
    # Where only precision is lacking, no known mistake fits better than saying so.
    if finding is None or finding.outcome is Outcome.NOT_WRITTEN or _coarse(reply, expected, form):
        return finding
    matching = [
        candidate
        for candidate in candidates
        if same(reply, candidate.reply, form) and not _right(candidate.reply, expected, form)
    ]
    if matching:
        return named(finding, matching)
    if isinstance(reply, Failed) or finding.outcome is Outcome.WRONG_TYPE:
        return finding
    return replace(finding, look=fingerprint(reply.value, expected, form) or finding.look)


def _coarse(reply: Reply, expected: Value, form: ResultSpec) -> bool:
    if isinstance(reply, Failed) or compare_form(reply.value, expected, form):
        return False
    return coarse(reply.value, expected, form) is not None


def _right(reply: Reply, expected: Value, form: ResultSpec) -> bool:
    """Say whether a mistake stays hidden on these inputs, so that it explains nothing."""
    return isinstance(reply, Returned) and compare(reply.value, expected, form) is None


def named(finding: Finding, matching: Iterable[Candidate]) -> Finding:
    """Trace a difference to the known mistakes that give the same result, and name the first.

    The bare difference moves to the details. Without a match the finding stays as it is.
    """
    matches = tuple((candidate.name, candidate.words) for candidate in matching)
    if not matches:
        return finding
    seen = f"{finding.fact} {finding.look}".strip()
    return _worded(replace(finding, matches=matches, details=(*finding.details, seen)), *matches[0])


def _worded(finding: Finding, name: str, words: str) -> Finding:
    fact, _, look = words.partition("\n\n")
    return replace(
        finding, misconception=name, fact=" ".join(fact.split()), look=" ".join(look.split())
    )


def reconciled(findings: Sequence[Finding | None]) -> tuple[Finding | None, ...]:
    """Name the one mistake that explains all findings of a step, where several explain some.

    Two mistakes may give the same result on the inputs of one check and not on another's.
    """
    matched = [dict(finding.matches) for finding in findings if finding and finding.matches]
    common = [name for name in (matched[0] if matched else ()) if all(name in m for m in matched)]
    return tuple(_settled(finding, common[0] if common else None) for finding in findings)


def _settled(finding: Finding | None, name: str | None) -> Finding | None:
    if finding is None or not finding.matches:
        return finding
    words = dict(finding.matches)
    worded = _worded(finding, name, words[name]) if name in words else finding
    return replace(worded, matches=())


def same(reply: Reply, other: Reply, form: ResultSpec) -> bool:
    """Say whether two replies are the same result: equal arrays, or the same exception."""
    if isinstance(reply, Failed) or isinstance(other, Failed):
        return _same_exception(reply, other)
    ours, theirs = arrays_of(reply.value, form), arrays_of(other.value, form)
    if len(ours) != len(theirs):
        return False
    return all(_same_array(part, like, form) for part, like in zip(ours, theirs))


def _same_exception(reply: Reply, other: Reply) -> bool:
    if not (isinstance(reply, Failed) and isinstance(other, Failed)):
        return False
    first, second = reply.exception, other.exception
    if not first or not second:
        return False
    return (first.type_name, first.message) == (second.type_name, second.message)


def _same_array(actual: Value, other: Value, form: ResultSpec) -> bool:
    if type(actual) in (int, float) and type(actual) is type(other):
        return bool(actual == other)
    if not (isinstance(actual, np.ndarray) and isinstance(other, np.ndarray)):
        return actual is None and other is None
    if actual.shape != other.shape or not {actual.dtype.kind, other.dtype.kind} <= set("biuf"):
        return False
    precision = near(actual, form)
    actual, other = numbers(actual, form), numbers(other, form)
    both_nan = np.isnan(actual) & np.isnan(other)
    infinite = np.isinf(actual) & (actual == other)
    return bool((agree(actual, other, precision) | both_nan | infinite).all())


def failure(reply: Failed) -> Finding:
    """Say in words how the student's code ended without returning."""
    exception = reply.exception
    match reply.outcome:
        case Outcome.NOT_WRITTEN:
            fact = reply.detail or mark(reply.outcome).sentence
            return Finding(reply.outcome, fact, look=reply.look)
        case Outcome.RAISED if exception:
            full, look = _raised(exception), meaning(exception)
            if is_cryptic(exception):
                short = _raised(replace(exception, message=""))
                return Finding(reply.outcome, short, look=look, details=(full,))
            return Finding(reply.outcome, full, look=look)
        case Outcome.TIMED_OUT:
            fact = "It was still running at the time limit and was stopped."
            return Finding(reply.outcome, fact, look=reply.detail or LOOP)
        case Outcome.OUT_OF_MEMORY:
            fact = "It asked for more memory than a submission may use."
            look = "Is an array much larger than it needs to be?"
            return Finding(reply.outcome, fact, look=look)
        case Outcome.CRASHED:
            fact = "It ended the Python process instead of returning a result."
            return Finding(reply.outcome, fact, look=EXIT, details=_details(reply.detail))
        case Outcome.OUTPUT_LIMIT:
            fact = "It printed more than a submission may print."
            return Finding(reply.outcome, fact, look=PRINT)
        case Outcome.PROTOCOL | Outcome.PASSED:  # what did not return has not passed
            fact = "What it returned cannot be sent back as arrays."
            return Finding(Outcome.PROTOCOL, fact, details=_details(reply.detail))
        case Outcome.INFRASTRUCTURE:
            return our_fault(_details(reply.detail))
    return Finding(reply.outcome, reply.detail or "It did not return a result.")


def _details(detail: str) -> tuple[str, ...]:
    return (detail,) if detail else ()


def _raised(exception: ExceptionReport) -> str:
    place = f"Line {exception.line}, `{exception.code}`, raises" if exception.line else "It raises"
    # In backticks, since these are the words of Python or of a library.
    message = f": {exception.message}" if exception.message else ""
    quoted = f"{exception.type_name}{message}".replace("`", "'")
    return f"{place} `{quoted}`."

"""From what a student's code gave to the sentence the student reads.

Counterfactual replay comes first: every known wrong implementation of the step is
run on the same inputs, and one that gives the student's own result names the mistake.
When none does, a claim about the difference (a constant factor, swapped axes, the
rows that agree) says more than "values differ". What a check finds is told for good only when
all findings of a step are put together (`asking.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec, agree, arrays_of, coarse, compare, compare_form
from autograder.judging.explanation import is_cryptic, meaning
from autograder.judging.hypotheses import near, numbers
from autograder.values.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.values.symbols import EXIT, LOOP, PRINT, mark, our_fault
from autograder.values.verdict import Claim, Evidence, Finding, Measure, Outcome
from autograder.worker.wire import MESSAGE, Value

# Which size a number follows from, at all sizes that were seen.

_NEAR = 1e-3
_LARGEST = 4096  # of the numbers that somebody may have written down

Form = tuple[str, Callable[[int], float]]
_FORMS: tuple[Form, ...] = (
    ("{}", float),
    ("the square root of {}", math.sqrt),
    ("1 divided by {}", lambda size: 1 / size),
    ("1 divided by the square root of {}", lambda size: 1 / math.sqrt(size)),
    ("the square of {}", lambda size: float(size * size)),
    ("1 divided by the square of {}", lambda size: 1 / (size * size)),
)


def expression(measures: Sequence[Measure]) -> str:
    """Return the one expression that equals each number at its sizes, or "".

    Where a fixed number stands for a size, the expression holds that number.
    """
    fits = list(dict.fromkeys(_fits(measures)))
    if len(fits) == 1:
        return fits[0]
    return "" if fits else next(_fixed(measures), "")


def _fits(measures: Sequence[Measure]) -> Iterator[str]:
    same = all(_close(each.number, measures[0].number) for each in measures)
    if same and (_whole(measures[0].number) or _whole(1 / measures[0].number)):
        return  # a number that somebody may have written down, such as 2
    seen: set[tuple[int, ...]] = set()
    for name in _size_names(measures):
        sizes = tuple(dict(each.sizes)[name] for each in measures)
        if sizes in seen:
            continue  # another name of the same sizes
        seen.add(sizes)
        for words, value in _FORMS:
            if all(_close(each.number, value(size)) for each, size in zip(measures, sizes)):
                yield words.format(name)


def _fixed(measures: Sequence[Measure]) -> Iterator[str]:
    """Give expressions of a size and one fixed number, seen at two sizes or more."""
    for name in _size_names(measures):
        sizes = [dict(each.sizes)[name] for each in measures]
        if len(set(sizes)) < 2:
            continue
        for words, value in _FORMS[:4]:
            fixed = [each.number / value(size) for each, size in zip(measures, sizes)]
            if not all(_close(each, fixed[0]) for each in fixed):
                continue
            told = _told(fixed[0])
            if told:
                yield f"{words.format(name)}, {told}"


def _told(number: float) -> str:
    """Name a fixed number that somebody may have written down, or its square root."""
    for way, each in (("times", number), ("divided by", 1 / number)):
        if _whole(each):
            return f"{way} {round(each)}"
        if _whole(each * each):
            return f"{way} the square root of {round(each * each)}"
    return ""


def _size_names(measures: Sequence[Measure]) -> list[str]:
    """Return the names of the sizes that belong to every measure."""
    others = [dict(each.sizes) for each in measures[1:]]
    return [
        name
        for name, size in (measures[0].sizes if measures else ())
        if size > 1 and all(other.get(name, 0) > 1 for other in others)
    ]


def _close(number: float, wanted: float) -> bool:
    return math.isclose(number, wanted, rel_tol=_NEAR)


def _whole(number: float) -> bool:
    return 1.5 < number < _LARGEST and abs(number - round(number)) < _NEAR


# Claims put into a finding: the first that is true wherever the step is wrong.

FIXED = "Is a fixed number written where a size belongs?"


def described_together(
    findings: Sequence[Finding],
    claims: Sequence[Sequence[Claim]],
    passed: Sequence[Measure] = (),
) -> list[Finding]:
    """Return the findings of a step with the claims about them, one sequence for each finding.

    A claim of a kind that is true of all of them comes first. `passed` are measures of results
    that are right.
    """
    kind = _common(claims)
    told = [
        next((claim for claim in each if claim.kind == kind), each[0] if each else None)
        for each in claims
    ]
    measures = [claim.measure for claim in told if claim and claim.measure]
    sized = expression([*measures, *passed]) if kind and measures else ""
    return [_worded(finding, claim, sized) for finding, claim in zip(findings, told)]


def _common(claims: Sequence[Sequence[Claim]]) -> str | None:
    for claim in claims[0] if claims else ():
        if all(any(other.kind == claim.kind for other in each) for each in claims):
            return claim.kind
    return None


def _worded(finding: Finding, claim: Claim | None, sized: str) -> Finding:
    if claim is None:
        return finding
    if not claim.leads:
        return replace(finding, look=claim.fact)
    fact, look = claim.fact, claim.look or finding.look
    if claim.measure and sized:
        fact = f"{fact} That is {sized}."
        look = FIXED if "," in sized else look
    seen = f"{finding.fact} {finding.look}".strip()
    return replace(finding, fact=fact, look=look, details=(*finding.details, seen), vague=False)


PAIR = " and "  # between the names of two mistakes made together; no single name holds it


@dataclass(frozen=True)
class Candidate:
    """A known wrong implementation and its reply to the inputs at hand.

    `words` is its docstring: the first paragraph says what the code does, the rest says
    where to look. `step` is the step that it is about, "" where that is the one that was asked.
    """

    name: str
    words: str
    reply: Reply
    step: str = ""


# The signals that end a process when its own machine code goes wrong.
_BROKEN = re.compile(r"ended by (SIGSEGV|SIGBUS|SIGFPE|SIGILL|SIGTRAP)\b")
# Reads what `place_in` writes.
PLACE = re.compile(
    r"The fault is in `(?P<step>\w+)`, or in the part of `(?P<method>\w+)` that does its work\. "
)


def place_in(step: str, method: str) -> str:
    """Return the sentence that says where a mistake is that a whole layer shows."""
    return f"The fault is in `{step}`, or in the part of `{method}` that does its work."


def place_inside(step: str) -> str:
    """Return the sentence that says where a mistake is that a class makes by itself."""
    return f"The fault is in the part of your layer that does the work of `{step}`."


def diagnose(
    reply: Reply,
    expected: Value,
    form: ResultSpec,
    candidates: Iterable[Candidate],
    request: Request | None = None,
    describe: bool = True,
) -> Finding | None:
    """Return what is wrong with `reply`, named when it can be; None when it is right.

    `request` is the question, whose arguments and sizes may tell more about a wrong answer.
    Without `describe`, only the bare difference is told, which takes less time.
    """
    finding = failure(reply) if isinstance(reply, Failed) else compare(reply.value, expected, form)
    if finding is None or finding.outcome is Outcome.NOT_WRITTEN or not describe:
        return finding
    if isinstance(reply, Failed):
        return _ended(finding, reply, candidates)
    # Few are the same, so whether one explains anything is looked at last.
    alike = (each for each in candidates if same(reply, each.reply, form))
    matching = [each for each in alike if not _right(each.reply, expected, form)]
    if _coarse(reply, expected, form):
        # Where only precision is lacking, no known mistake fits better than saying so.
        return replace(finding, evidence=Evidence(finding, _names(matching)))
    claims = cache(partial(claims_about, reply.value, expected, form, request))
    found = named(finding, matching, claims=claims)
    evidence = found.evidence and replace(found.evidence, has_nan=_has_nan(reply.value, form))
    return replace(found, evidence=evidence)


def _ended(finding: Finding, reply: Failed, candidates: Iterable[Candidate]) -> Finding:
    """Return the finding on code that did not return, with the mistakes that end as it did.

    Many mistakes end alike, so that names none of them. Where the numbers of another check of the
    step name one, its words are told here too.
    """
    alike = [each for each in candidates if _ends_alike(reply, each)]
    matches = tuple((each.name, each.words) for each in alike if _same_exception(reply, each.reply))
    return replace(finding, matches=matches, evidence=Evidence(finding, _names(alike)))


def _names(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    return tuple(candidate.name for candidate in candidates)


def _ends_alike(reply: Failed, candidate: Candidate) -> bool:
    """Say whether a mistake raises the same kind of exception; how it words it may differ."""
    other = candidate.reply
    if not isinstance(other, Failed) or not reply.exception or not other.exception:
        return False
    return reply.exception.type_name == other.exception.type_name


def _coarse(reply: Reply, expected: Value, form: ResultSpec) -> bool:
    if isinstance(reply, Failed) or compare_form(reply.value, expected, form):
        return False
    return coarse(reply.value, expected, form) is not None


def _has_nan(value: Value, form: ResultSpec) -> bool:
    arrays = [each for each in arrays_of(value, form) if isinstance(each, np.ndarray)]
    return any(each.dtype.kind == "f" and np.isnan(each).any() for each in arrays)


def _right(reply: Reply, expected: Value, form: ResultSpec) -> bool:
    """Say whether a mistake stays hidden on these inputs, so that it explains nothing."""
    return isinstance(reply, Returned) and compare(reply.value, expected, form) is None


def named(
    finding: Finding,
    matching: Iterable[Candidate],
    claims: Callable[[], tuple[Claim, ...]] | None = None,
    binding: bool = True,
) -> Finding:
    """Trace a difference to the known mistakes that give the same result, and name the first.

    The bare difference moves to the details. Without a match, the first of the `claims` is told.
    No mistake is told of the step that does not match here, unless the finding is not `binding`.
    """
    matches = tuple((candidate.name, candidate.words) for candidate in matching)
    allowed = tuple(name for name, _ in matches) if binding else None
    evidence = Evidence(finding, allowed, claims)
    if matches:
        return replace(worded(finding, *matches[0]), matches=matches, evidence=evidence)
    (told,) = described_together([finding], [claims()]) if claims else [finding]
    return replace(told, evidence=evidence)


def named_by(
    finding: Finding,
    candidates: Iterable[Candidate],
    explains: Callable[[Returned], object],
    binding: bool = True,
) -> Finding:
    """Return the finding named by the candidates whose result `explains` it; see `named`."""
    pairs = ((each, each.reply) for each in candidates)
    matching = [each for each, reply in pairs if isinstance(reply, Returned) and explains(reply)]
    return named(finding, matching, binding=binding)


def worded(finding: Finding, name: str, words: str) -> Finding:
    """Return a finding in the words of a known mistake, with its bare fact among the details."""
    fact, _, look = words.partition("\n\n")
    seen = f"{finding.fact} {finding.look}".strip()
    return replace(
        finding,
        misconception=name,
        fact=" ".join(fact.split()),
        look=" ".join(look.split()),
        details=(*finding.details, seen),
        cause=False,
    )


def told_by_cause(finding: Finding, fact: str, look: str) -> Finding:
    """Return a finding without a name in words that tell what makes the answer wrong.

    They say more than any claim about the numbers; what was seen moves to the details.
    """
    seen = " ".join(part for part in (finding.fact, finding.look) if part)
    told = replace(
        finding, fact=fact, look=look, details=(*finding.details, seen), vague=False, cause=True
    )
    # Names that it agrees with are still weighed against the other findings of the step.
    before = finding.evidence or Evidence(told, None)
    return replace(told, evidence=replace(before, bare=told, claims=None))


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
    if form.compare == "floor" and ((actual == 0) != (other == 0)).any():
        return False  # a score of 0 and one of 1e-9 are written for different reasons
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
            if reply.look:  # it was stopped for another reason
                return Finding(reply.outcome, reply.detail, look=reply.look)
            return Finding(reply.outcome, fact, look=reply.detail or LOOP)
        case Outcome.OUT_OF_MEMORY:
            fact = "It asked for more memory than a submission may use."
            look = "Is an array much larger than it needs to be?"
            return Finding(reply.outcome, fact, look=look)
        case Outcome.CRASHED:
            broken = _BROKEN.search(reply.detail)
            if broken:
                fact = f"Python itself crashed in it ({broken[1]}) and returned no result."
                look = (
                    "Which line calls machine code, as `ctypes` does, or lifts the recursion limit?"
                )
                return Finding(reply.outcome, fact, look=look, details=_details(reply.detail))
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
    message = f": {_whole_words(exception.message)}" if exception.message else ""
    quoted = f"{exception.type_name}{message}".replace("`", "'")
    stop = "" if quoted.endswith("..") else "."  # one is enough, and stands behind the quotation
    return f"{place} `{quoted.removesuffix(stop)}`."


def _whole_words(message: str) -> str:
    """Return a message that was cut at its greatest length without the rest of a word."""
    if len(message) < MESSAGE:
        return message
    return f"{message.rsplit(None, 1)[0]} …"

"""The worked examples put to somebody's code, in the same way for notebook and terminal.

The questions and the engine are those of the public checks. No hidden grader is run here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from autograder.judging.compare import compare, sizes_of
from autograder.judging.conditions import (
    STANDING,
    Judge,
    beside_long_axes,
    explained,
    other_call_words,
    random_words,
)
from autograder.judging.diagnosis import PAIR, described_together, same, told_by_cause, worded
from autograder.judging.distribution import Distributed, with_seed
from autograder.judging.examples import AnswerForm, Example
from autograder.judging.expectation import (
    Agrees,
    Expectation,
    Refused,
    judge,
    with_attributes,
)
from autograder.judging.layers import LinearLayers, with_shared_layers
from autograder.values.exercise import Step
from autograder.values.request import Failed, Reply, Request, Respondent, Returned
from autograder.values.verdict import CheckVerdict, Finding, Measure, Outcome, StepVerdict
from autograder.worker.arrays import seed
from autograder.worker.wire import arrays_in

# Which line of the code makes the first NaN, seen by running it once more.

_WHY = {
    "sqrt": "The root of a negative number is NaN.",
    "log": "The logarithm of a negative number is NaN.",
    "subtract": "An infinite number less another one is NaN.",
    "divide": "0 divided by 0 is NaN, and so is infinity by infinity.",
    "multiply": "0 times infinity is NaN.",
}


def with_first_nan(
    finding: Finding, request: Request, reply: Reply, respondent: Respondent
) -> Finding:
    """Return a finding on a result with NaN that has no name, told by the line that makes it.

    Only NumPy says which line that is.
    """
    if finding.misconception or not isinstance(reply, Returned) or not _holds_nan(reply):
        return finding
    with np.errstate(invalid="raise"):
        stopped = respondent.ask(request)
    exception = stopped.exception if isinstance(stopped, Failed) else None
    if exception is None or exception.type_name != "FloatingPointError" or not exception.line:
        return finding
    why = next((words for name, words in _WHY.items() if name in exception.message), "")
    fact = f"{finding.fact} Line {exception.line}, `{exception.code}`, makes the first one."
    told = told_by_cause(finding, fact, why)
    return replace(told, details=finding.details)


def _holds_nan(reply: Returned) -> bool:
    return any(np.isnan(each).any() for each in arrays_in(reply.value) if each.dtype.kind == "f")


# The findings of one step put together: one name for all of them, or what is true of them.


class AskedQuestion(Protocol):
    """What is asked of a step, and what is expected of the answer."""

    @property
    def request(self) -> Request:
        """What is asked."""

    @property
    def expectation(self) -> Expectation:
        """What is expected."""


def _measure(passed: AskedQuestion) -> Measure | None:
    """Return the factor of a right result, which is 1, and the sizes where that was seen."""
    wanted = passed.expectation
    if not isinstance(wanted, Agrees) or passed.request.read:
        return None
    return Measure(1.0, sizes_of(wanted.expected, wanted.form, passed.request))


def _is_answer_to(passed: AskedQuestion, reply: Returned) -> bool:
    """Say whether a reply, be it to another question of the step, is the answer to this."""
    wanted = passed.expectation
    if not isinstance(wanted, Agrees) or passed.request.read or passed.request.method:
        return False
    return compare(reply.value, wanted.expected, wanted.form) is None


# The name of a check, the finding on one of its questions, and the reply to that.
CheckAnswer = tuple[str, Finding | None, Reply | None]


def told_together(
    checks: Sequence[CheckAnswer],
    passed: Sequence[AskedQuestion],
    ruled_out: Callable[[str], bool],
) -> tuple[Finding | None, ...]:
    """Return the findings of a step, in class and at home, as they are told: see `reconciled`."""
    findings = reconciled([finding for _, finding, _ in checks], passed, ruled_out)
    return tuple(
        beside_long_axes(check, _of_another_call(finding, reply, passed))
        for finding, (check, _, reply) in zip(findings, checks)
    )


def _of_another_call(
    finding: Finding | None, reply: Reply | None, passed: Iterable[AskedQuestion]
) -> Finding | None:
    """Return a finding on a result of a wrong shape, which may be the right one of another call."""
    if finding is None or finding.outcome is not Outcome.WRONG_SHAPE or finding.misconception:
        return finding
    if isinstance(reply, Returned) and any(_is_answer_to(each, reply) for each in passed):
        return other_call_words(finding)
    return finding


def reconciled(
    findings: Sequence[Finding | None],
    passed: Sequence[AskedQuestion] = (),
    ruled_out: Callable[[str], bool] = lambda name: False,
) -> tuple[Finding | None, ...]:
    """Name the one mistake that explains all findings of a step, or describe what is wrong.

    Two mistakes may give the same result on the inputs of one check and not on another's.
    `passed` are the questions of the step that were answered right, and `ruled_out` says of a
    mistake, by name, that it would have failed one of them.
    """
    chosen = _one_name(findings, ruled_out)
    if chosen is None:  # NaN may be of a second mistake, and say nothing of the first
        lost = [each for each in findings if each and each.evidence and each.evidence.has_nan]
        others = [each for each in findings if each not in lost]
        first, second = (_one_name(each, ruled_out) for each in (others, lost))
        chosen = f"{first}{PAIR}{second}" if first and second else first
    settled = [_settled(finding, chosen) for finding in findings]
    return tuple(_described(settled, passed))


def _one_name(findings: Sequence[Finding | None], ruled_out: Callable[[str], bool]) -> str | None:
    """Return the mistake that explains all these findings and is not ruled out, if there is one."""
    # What ended without a result matches many mistakes and is not named by them.
    named = [finding for finding in findings if finding and finding.misconception]
    matched = [name for finding in named for name, _ in finding.matches]
    # Which gives the very result in most checks, rather than one that only ends alike.
    likely = sorted(dict.fromkeys(matched), key=matched.count, reverse=True)
    explaining = (name for name in likely if all(_explains(name, each) for each in findings))
    return next((name for name in explaining if not ruled_out(name)), None)


def _parts(name: str) -> tuple[str, ...]:
    """Return the names that explain what `name` does: itself, and each of a pair."""
    return (name, *name.split(PAIR)) if PAIR in name else (name,)


def _explains(name: str, finding: Finding | None) -> bool:
    if finding is None or finding.evidence is None or finding.evidence.allowed is None:
        return True
    return any(part in finding.evidence.allowed for part in _parts(name))


def _settled(finding: Finding | None, chosen: str | None) -> Finding | None:
    """Return a finding in the words of the chosen mistake, or bare and with its evidence."""
    if finding is None or finding.evidence is None:
        return finding and replace(finding, matches=())
    words = dict(finding.matches)
    name = next((part for part in _parts(chosen or "") if part in words), None)
    if name is None:
        return replace(finding.evidence.bare, matches=(), evidence=finding.evidence)
    return worded(finding.evidence.bare, name, words[name])


def _described(
    findings: Sequence[Finding | None], passed: Sequence[AskedQuestion]
) -> list[Finding | None]:
    """Describe the findings that are left without a name, all in the same way if one fits all."""
    told = [finding and replace(finding, evidence=None) for finding in findings]
    places, bare, claims = [], [], []
    for place, finding in enumerate(findings):
        if finding and finding.evidence and finding.evidence.claims:
            places.append(place)
            bare.append(replace(finding, evidence=None))
            claims.append(finding.evidence.claims())
    measures = [_measure(question) for question in passed] if bare else []
    together = described_together(bare, claims, [measure for measure in measures if measure])
    for place, finding in zip(places, together):
        told[place] = finding
    return told


# What further questions tell about a wrong answer to one.

Ask = Callable[[Request], Reply]


def asked_further(
    finding: Finding, question: AskedQuestion, reply: Reply, ask: Ask, again: Judge
) -> Finding:
    """Return a finding with what the same code tells about it when it is asked more.

    `again` asks another question and judges the answer.
    """
    request, expectation = question.request, question.expectation
    finding = explained(finding, request, expectation, again)
    if isinstance(expectation, LinearLayers):
        finding = with_shared_layers(finding, request, reply, ask)
    if isinstance(expectation, LinearLayers | Distributed):
        finding = with_seed(finding, request, ask)
    return finding


def unsteady(finding: Finding, question: AskedQuestion, reply: Reply, ask: Ask) -> Finding | None:
    """Return a finding told by the change of numbers from call to call, None where they stay."""
    request, expectation = question.request, question.expectation
    first, second = (with_attributes(request, each) for each in (reply, ask(request)))
    if not isinstance(first, Returned) or not isinstance(second, Returned):
        return None
    if same(first, second, expectation.form) or not same(first, first, expectation.form):
        return None
    if request.method is None:
        return random_words(finding, of_layer=False)
    evaluated = replace(request, before=(*request.before, "eval"))
    fault = judge(expectation, evaluated, ask(evaluated), (), describe=False)
    return random_words(finding, right_in_evaluation=fault is None)


OWN_WEIGHTS = (
    "Each new instance of your class gives another result, although the check puts the same "
    "weights into {}.",
    "Which weights does `{}` compute with?",
)


@dataclass(frozen=True)
class AskedExample:
    """A worked example and what came of it.

    `reply` is None when the code was stopped before there was one; `finding` says what is wrong,
    and is None when nothing is.
    """

    example: Example
    reply: Reply | None
    finding: Finding | None

    @property
    def verdict(self) -> CheckVerdict:
        """How the check that the example belongs to ended."""
        return CheckVerdict.of(self.example.check, self.example.title, self.finding)


@dataclass(frozen=True)
class AskedStep:
    """The verdict on a step by its worked examples, and what came of each of them."""

    verdict: StepVerdict
    asked: tuple[AskedExample, ...]


def ask_examples(
    step: Step,
    examples: Iterable[Example],
    respondent: Respondent,
    told: Callable[[Sequence[AskedExample]], Sequence[AskedExample]] = tuple,
) -> AskedStep:
    """Ask a learner's code the worked examples of one step.

    Those of the standing checks are asked when all before them are right. `told` may say more
    about the answers.
    """
    answers: list[AskedExample] = []
    for example in (each for each in examples if each.step == step.name):
        if is_asked_after(example, answers):
            answers.append(ask_example(example, respondent))
    asked = tuple(told(settled(answers)))
    return AskedStep(StepVerdict.of(step, tuple(each.verdict for each in asked)), asked)


def public_checks(step: str, examples: Iterable[Example]) -> int:
    """Return how many public checks a step has, as a person counts them."""
    return len({(each.check, each.title) for each in examples if each.step == step})


def is_asked_after(example: Example, answers: Iterable[AskedExample]) -> bool:
    """Say whether an example is asked after `answers` about its step, as in class.

    A check ends with its first wrong answer, and a standing one begins only when all are right.
    """
    wrong = {(each.example.check, each.example.title) for each in answers if each.finding}
    own = (example.check, example.title)
    return own not in wrong and not (wrong and example.check.startswith(STANDING))


def ask_example(example: Example, respondent: Respondent) -> AskedExample:
    """Ask a learner's code one worked example."""

    def again(request: Request, expectation: Expectation) -> Finding | None:
        return judge(expectation, request, respondent.ask(request), example.mistakes)

    reply = respondent.ask(example.request)
    finding = judge(example.expectation, example.request, reply, example.mistakes)
    if finding:
        finding = asked_further(finding, example, reply, respondent.ask, again)
        finding = with_first_nan(finding, example.request, reply, respondent)
        finding = _unsteady(finding, example, reply, respondent)
    return AskedExample(example, reply, finding or _compared(example, respondent))


def _compared(example: Example, respondent: Respondent) -> Finding | None:
    """Return what is not as expected of the answers that are looked at side by side, or None."""
    if isinstance(example.expectation, Refused):
        return None
    form = AnswerForm(example.expectation.expected, example.expectation.form)
    replies = [respondent.ask(request) for request in example.asked]
    answers = list(zip(example.asked, replies))
    found = (
        form.judge(pair, pair.mistakes, answers[pair.first], answers[pair.second])
        for pair in example.pairs
    )
    return next(filter(None, found), None)


def _unsteady(finding: Finding, example: Example, reply: Reply, respondent: Respondent) -> Finding:
    """Return a finding on numbers without a name, told by their change from call to call."""
    values = finding.outcome is Outcome.WRONG_VALUES and isinstance(example.expectation, Agrees)
    if finding.misconception or not values:
        return finding
    told = unsteady(finding, example, reply, respondent.ask)
    return _of_own_weights(finding, example, respondent) or told if told else finding


def _of_own_weights(finding: Finding, example: Example, respondent: Respondent) -> Finding | None:
    """Return the finding on a layer that changes only from one new instance to the next."""
    request = example.request
    layers = dict.fromkeys(name.split(".")[0] for name in request.attributes)
    replies = []
    for calls in (1, 2) if request.method and layers else ():
        seed(0)  # so that both layers begin with the same weights
        replies.append(respondent.ask(replace(request, calls=calls)))
    if not replies or not same(replies[0], replies[1], example.expectation.form):
        return None
    fact, look = OWN_WEIGHTS
    listed = " and ".join(f"`{name}`" for name in layers)
    return told_by_cause(finding, fact.format(listed), look.format(request.method))


def settled(asked: Sequence[AskedExample]) -> tuple[AskedExample, ...]:
    """Return the examples of a step, named by the one mistake that explains all, if any."""
    right = [each.example for each in asked if each.finding is None]
    # An example holds the mistakes that fail it.
    ruled_out = {mistake.name for example in right for mistake in example.mistakes}
    findings = told_together(
        [(each.example.check, each.finding, each.reply) for each in asked],
        right,
        ruled_out.__contains__,
    )
    return tuple(replace(each, finding=finding) for each, finding in zip(asked, findings))

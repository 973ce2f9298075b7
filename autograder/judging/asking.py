"""The worked examples put to somebody's code, in the same way for notebook and terminal.

The questions and the engine are those of the public checks. No hidden grader is run here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from autograder.judging.answer_pair import AnswerForm
from autograder.judging.conditions import STANDING, beside_long_axes, explained
from autograder.judging.diagnosis import same, told_by_cause
from autograder.judging.distribution import Distributed
from autograder.judging.examples import Example
from autograder.judging.expectation import Agrees, Expectation, Refused, judge
from autograder.judging.first_nan import with_first_nan
from autograder.judging.layers import LinearLayers, with_shared_layers
from autograder.judging.reconciliation import PassedQuestion, reconciled
from autograder.judging.shared_numbers import with_seed
from autograder.model.exercise import Step
from autograder.model.request import Reply, Request, Respondent
from autograder.model.verdict import CheckVerdict, Finding, Outcome, StepVerdict
from autograder.protocol.arrays import seed

UNSTEADY = (
    "Asked the same twice, your code gives two different results.",
    "What does it draw or make anew in each call?",
)

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
    """Say whether an example is asked after `answers` about its step.

    One of a standing check is asked only when all of them are right.
    """
    return not example.check.startswith(STANDING) or not any(each.finding for each in answers)


def ask_example(example: Example, respondent: Respondent) -> AskedExample:
    """Ask a learner's code one worked example."""

    def again(request: Request, expectation: Expectation) -> Finding | None:
        return judge(expectation, request, respondent.ask(request), example.mistakes)

    reply = respondent.ask(example.request)
    finding = judge(example.expectation, example.request, reply, example.mistakes)
    if finding:
        finding = explained(finding, example.request, example.expectation, again)
        finding = with_first_nan(finding, example.request, reply, respondent)
        finding = _unsteady(finding, example, reply, respondent)
        if isinstance(example.expectation, LinearLayers):
            finding = with_shared_layers(finding, example.request, reply, respondent.ask)
        if isinstance(example.expectation, LinearLayers | Distributed):
            finding = with_seed(finding, example.request, respondent.ask)
    return AskedExample(example, reply, finding or _compared(example, respondent))


def _compared(example: Example, respondent: Respondent) -> Finding | None:
    """Return what is not as expected of the answers that are looked at side by side, or None."""
    if isinstance(example.expectation, Refused):
        return None
    form = AnswerForm(example.expectation.expected, example.expectation.form)
    replies = [respondent.ask(request) for request in example.asked]
    answers = list(zip(example.asked, replies))
    found = (form.judge(pair, answers[pair.first], answers[pair.second]) for pair in example.pairs)
    return next(filter(None, found), None)


def _unsteady(finding: Finding, example: Example, reply: Reply, respondent: Respondent) -> Finding:
    """Return a finding on numbers without a name, told by their change from call to call."""
    values = finding.outcome is Outcome.WRONG_VALUES and isinstance(example.expectation, Agrees)
    if finding.misconception or finding.cause or not values or example.request.read:
        return finding
    other = respondent.ask(example.request)
    if same(reply, other, example.expectation.form):
        return finding
    return told_by_cause(finding, *_unsteady_words(example, respondent))


def _unsteady_words(example: Example, respondent: Respondent) -> tuple[str, str]:
    """Say what changes from call to call, or from one new layer to the next."""
    request = example.request
    layers = dict.fromkeys(name.split(".")[0] for name in request.attributes)
    replies = []
    for calls in (1, 2) if request.method and layers else ():
        seed(0)  # so that both layers begin with the same weights
        replies.append(respondent.ask(replace(request, calls=calls)))
    if not replies or not same(replies[0], replies[1], example.expectation.form):
        return UNSTEADY
    fact, look = OWN_WEIGHTS
    listed = " and ".join(f"`{name}`" for name in layers)
    return fact.format(listed), look.format(request.method)


def settled(asked: Sequence[AskedExample]) -> tuple[AskedExample, ...]:
    """Return the examples of a step, named by the one mistake that explains all, if any."""
    right = [each.example for each in asked if each.finding is None]
    # An example holds the mistakes that fail it.
    ruled_out = {mistake.name for example in right for mistake in example.mistakes}
    findings = reconciled(
        [each.finding for each in asked],
        [PassedQuestion(example.request, example.expectation) for example in right],
        ruled_out.__contains__,
    )
    told = (beside_long_axes(each.example.check, found) for each, found in zip(asked, findings))
    return tuple(replace(each, finding=finding) for each, finding in zip(asked, told))

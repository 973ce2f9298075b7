"""The worked examples put to somebody's code, in the same way for notebook and terminal.

The questions and the engine are those of the public checks. No hidden grader is run here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from autograder.judging.diagnosis import reconciled
from autograder.judging.examples import Example
from autograder.judging.expectation import judge
from autograder.model.exercise import Step
from autograder.model.request import Reply, Respondent
from autograder.model.verdict import CheckVerdict, Finding, StepVerdict


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


def ask_examples(step: Step, examples: Iterable[Example], respondent: Respondent) -> AskedStep:
    """Ask a learner's code the worked examples of one step."""
    asked = settled(
        [ask_example(example, respondent) for example in examples if example.step == step.name]
    )
    return AskedStep(StepVerdict.of(step, tuple(each.verdict for each in asked)), asked)


def ask_example(example: Example, respondent: Respondent) -> AskedExample:
    """Ask a learner's code one worked example."""
    reply = respondent.ask(example.request)
    finding = judge(example.expectation, example.request, reply, example.mistakes)
    return AskedExample(example, reply, finding)


def settled(asked: Sequence[AskedExample]) -> tuple[AskedExample, ...]:
    """Return the examples of a step, named by the one mistake that explains all, if any."""
    findings = reconciled([each.finding for each in asked])
    return tuple(replace(each, finding=finding) for each, finding in zip(asked, findings))

"""Judges the steps of one submission, each alone, by what their checks find."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from autograder.checks.author_error import wrong_checks
from autograder.checks.check_runner import CheckRunner, CheckTerms
from autograder.checks.own_layer import charged, faulty_steps
from autograder.checks.replay import suspects_after
from autograder.checks.student import Recorder
from autograder.judging.conditions import STANDING
from autograder.judging.expectation import Expectation, judge
from autograder.judging.reconciliation import PassedQuestion, reconciled
from autograder.model.exercise import Step
from autograder.model.request import Request, Respondent
from autograder.model.verdict import CheckVerdict, Outcome, StepVerdict

# A step that ends like this takes the whole worker with it, and all the time until then.
STUCK = (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.CRASHED, Outcome.OUTPUT_LIMIT)
# No other check of the step could see anything new.
FINAL = (Outcome.NOT_WRITTEN, Outcome.INFRASTRUCTURE, *STUCK)
KEPT = ("distribution", "layers")  # what a layer makes once and keeps
NAMED = re.compile(r"`(\w+)[^`]*`")  # the step in "`Layer.forward` is not written yet."


@dataclass(frozen=True)
class StepJudge:
    """Judges the steps of one submission in their order, and then their use in the layer."""

    runner: CheckRunner
    respondent: Respondent
    # The verdicts on the steps with the student's own earlier steps.
    _alone: dict[str, StepVerdict] = field(default_factory=dict)

    def judged(self, step: Step, stuck: bool) -> StepVerdict:
        """Judge one step; when an earlier one got `stuck`, only with the reference in its place.

        Raises `KitError` when it has no check.
        """
        # What is wrong is named in the run that counts: the second, where there are two.
        before = self.runner.reference.exercise.before(step.name)
        if not stuck:
            checks = self._checks(step, CheckTerms(self.respondent, naming=not before))
            own = self._alone[step.name] = StepVerdict.of(step, checks)
            if own.passes or not before or _unwritten(own):
                return own
        # Also where it got stuck: an earlier step of the student's may be the cause.
        checks = self._checks(step, CheckTerms(self.respondent, leaning_on=before))
        return StepVerdict.of(step, checks, leaning=all(check.passes for check in checks))

    def charged(self, steps: tuple[StepVerdict, ...]) -> tuple[StepVerdict, ...]:
        """Charge steps that pass alone and spoil a later one that leans on the reference."""
        exercise, alone = self.runner.reference.exercise, self._alone
        for name in [step.name for step in steps if step.leaning and step.name in alone]:
            before = exercise.before(name)
            passes = partial(self._passes, exercise.step(name))
            makers = [step.name for step in exercise.steps if step.compare in KEPT]
            faulty = faulty_steps(before, steps[: len(before)], makers, passes)
            if faulty:
                steps = charged(exercise, steps, faulty, alone[name])
            elif all(step.passes for step in steps[: len(before)]):
                # It is not right, and no step is to blame for it.
                steps = tuple(alone[name] if step.name == name else step for step in steps)
        return steps

    def _passes(self, step: Step, leaning_on: tuple[str, ...]) -> bool | None:
        """Say whether all checks of a step pass while it leans; None when the code got stuck."""
        terms = CheckTerms(self.respondent, leaning_on, naming=False)
        outcomes = {check.outcome for check in self._checks(step, terms)}
        return None if outcomes & {*STUCK, Outcome.INFRASTRUCTURE} else outcomes == {Outcome.PASSED}

    def _checks(self, step: Step, terms: CheckTerms) -> tuple[CheckVerdict, ...]:
        checks: list[CheckVerdict] = []
        suspects: frozenset[str] | None = None
        passed: list[PassedQuestion] = []
        for item in self.runner.checks.of_step(step.name):
            if checks and checks[-1].outcome in FINAL:
                break
            if item.name.startswith(STANDING) and not all(each.passes for each in checks):
                break
            asked: list[PassedQuestion] = []
            noted = replace(terms, suspects=suspects, record=_noting(asked))
            checks.append(self.runner.run(item, noted).verdict)
            suspects = suspects_after(checks[-1].finding, suspects)
            # A check ends with the first question that is not answered right.
            passed += asked if checks[-1].passes else asked[:-1]
        if not checks:  # nothing was asked, so nothing is right
            fact = f"the step {step.name} has no check"
            raise wrong_checks(self.runner.reference.exercise, fact, "write one in graders.py")
        found = [check.finding for check in checks]
        findings = reconciled(found, passed, lambda name: self._shows(name, passed))
        return tuple(
            CheckVerdict.of(check.name, check.title, finding)
            for check, finding in zip(checks, findings)
        )

    def _shows(self, name: str, passed: Iterable[PassedQuestion]) -> bool:
        """Say whether a known mistake would have failed a question that was answered right."""
        for each in passed:
            known = self.runner.reference.replay.again(each.request, name)
            if known and judge(each.expectation, each.request, known.reply, ()):
                return True
        return False


def _noting(asked: list[PassedQuestion]) -> Recorder:
    """Return a recorder that puts every question into `asked`."""

    def record(request: Request, expectation: Expectation) -> None:
        asked.append(PassedQuestion(request, expectation))

    return record


def _unwritten(step: StepVerdict) -> bool:
    """Whether the step itself is not written, which no earlier step can change."""
    if step.finding is None or step.finding.outcome is not Outcome.NOT_WRITTEN:
        return False
    named = NAMED.search(step.finding.fact)
    return named is not None and named[1] == step.name

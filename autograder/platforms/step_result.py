"""A verdict as other programs take it: a line of words and points for each step."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.errors import KitError
from autograder.model.sanitize import clean_line
from autograder.model.symbols import step_mark
from autograder.model.verdict import Outcome, StepVerdict, Verdict
from autograder.reports.finding import shown, step_text

LONGEST_TITLE = 200


@dataclass(frozen=True)
class StepResult:
    """One step: its number and title, how it ended, its points, and the finding as plain text."""

    number: int
    title: str
    words: str
    text: str
    points: float
    max_points: float

    @property
    def full(self) -> bool:
        """Whether it has all of its points."""
        return self.points >= self.max_points


def step_results(verdict: Verdict) -> tuple[StepResult, ...]:
    """Return the result of every step; all text is cleaned and bounded."""
    return tuple(_result(number, step) for number, step in enumerate(verdict.steps, 1))


def refuse_unjudged(verdict: Verdict, reader: str) -> None:
    """Raise `KitError` when a fault of ours kept a step from being judged."""
    if verdict.infrastructure:
        student = clean_line(verdict.student, 60)
        raise KitError(
            f"the work of {student} was not judged to the end, so there is no score for {reader}",
            place=", ".join(
                step.name for step in verdict.steps if step.outcome is Outcome.INFRASTRUCTURE
            ),
            cure="grade it again; what was judged before is kept",
        )


def remarks_of(verdict: Verdict) -> tuple[str, ...]:
    """Return the remarks on a submission, cleaned and bounded."""
    return tuple(shown(remark) for remark in verdict.remarks)


def _result(number: int, step: StepVerdict) -> StepResult:
    told = step_text(step)
    text = "\n".join((*told.finding.parts, *told.finding.details)) or told.mark.sentence
    title = clean_line(step.title, LONGEST_TITLE)
    return StepResult(
        number, title, step_mark(step).words, text, step.points + 0.0, step.max_points
    )

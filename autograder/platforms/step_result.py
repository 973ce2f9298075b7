"""A verdict as other programs take it: a line of words and points for each step."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.errors import KitError
from autograder.model.sanitize import clean_line
from autograder.model.symbols import OUR_FAULT, step_mark, why_not_graded
from autograder.model.verdict import StepVerdict, Verdict
from autograder.reports.finding import shown, step_text

LONGEST_TITLE, LONGEST_REASON = 200, 600


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


def refuse_ungraded(verdict: Verdict, reader: str) -> None:
    """Raise `KitError` when there is no mark, and say why."""
    if not verdict.graded:
        student = clean_line(verdict.student, 60)
        ours = verdict.infrastructure
        raise KitError(
            f"the work of {student} is not graded, so there is no score for {reader}: "
            f"{clean_line(why_not_graded(verdict), LONGEST_REASON).removesuffix('.')}",
            place=f"exercise {clean_line(verdict.exercise, 60)}",
            cure="grade it again; what was judged before is kept"
            if ours
            else "have it handed in again, or enter a mark there by hand",
        )


def not_graded(verdict: Verdict) -> str:
    """Return for its student why there is no mark, cleaned and bounded; "" when there is one."""
    why = OUR_FAULT if verdict.infrastructure else why_not_graded(verdict)
    return clean_line(why, LONGEST_REASON)


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

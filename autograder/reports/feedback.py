"""The page that a student reads after grading.

A page is one file without scripts or outside resources, so that it opens from an
email or a learning platform. Students wrote parts of it, so the template cleans
and escapes all text that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autograder.model.exercise import Exercise
from autograder.model.files import file_stem, write_whole
from autograder.model.symbols import OUR_FAULT, count, number, tone
from autograder.model.verdict import Finding, Outcome, StepVerdict, Verdict
from autograder.reports import advice
from autograder.reports.finding import (
    NOT_TOLD,
    FindingText,
    StepText,
    finding_text,
    html,
    shown,
    step_text,
    told,
)
from autograder.reports.gradebook_entry import (
    NO_ENTRIES,
    GradebookEntry,
    entry_of,
    max_points_of,
    points_of,
    reasons_of,
    step_points,
)
from autograder.reports.levels import level_words, unprotected_words
from autograder.reports.paragraphs import Paragraph, paragraphs_for
from autograder.reports.roll import class_roll


@dataclass(frozen=True)
class StepView:
    """One step on the page: its position, its points and its text."""

    position: int
    title: str
    name: str
    points: str
    note: str
    text: StepText
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Lead:
    """The first thing on the page: a step by its number and title, what is right and what is not.

    Where to look stands at the step itself.
    """

    position: int
    title: str
    finding: FindingText


def write_page(
    folder: Path,
    exercise: Exercise,
    verdict: Verdict,
    entry: GradebookEntry | None = None,
    paragraphs: Sequence[Paragraph] = (),
) -> Path:
    """Write one student's page into `folder` and return its path.

    Raise `KitError` when the verdict is not about this exercise or the folder cannot be written.
    """
    path = folder / page_name(verdict.student)
    write_whole(path, feedback_page(exercise, verdict, entry, paragraphs))
    return path


def page_name(student: str) -> str:
    """Return the file name of a student's page."""
    return f"{file_stem(student)}.html"


def feedback_page(
    exercise: Exercise,
    verdict: Verdict,
    entry: GradebookEntry | None = None,
    paragraphs: Sequence[Paragraph] = (),
) -> str:
    """Return the page of one student as HTML; the points are those of the gradebook's `entry`.

    Of the instructor's `paragraphs`, it has those about the student's mistakes.
    Raise `KitError` when the verdict is not about this exercise.
    """
    class_roll(exercise, [verdict])
    passed = sum(step.passes for step in verdict.steps)
    entries = {verdict.student: entry} if entry else NO_ENTRIES
    entry = entry_of(verdict, entries)
    points = points_of(verdict, entries)
    return (
        environment()
        .get_template("feedback.html.j2")
        .render(
            exercise=exercise,
            verdict=verdict,
            points=None if points is None else number(points),
            max_points=number(max_points_of(verdict, entries)),
            automatic=f"{number(verdict.points)} of {number(verdict.max_points)}",
            reasons=reasons_of(verdict, entries),
            right=f"{passed} of {count(len(verdict.steps), 'step')} right",
            first=advice.first_missed(verdict),
            lead=_lead(exercise, verdict),
            chain=advice.chain_sentence(exercise, verdict),
            layer_first=advice.layer_leads(verdict),
            chain_finding=_chain_finding(verdict),
            rejected=_rejected(verdict),
            our_fault=OUR_FAULT,
            unprotected=unprotected_words([verdict]),
            level=level_words([verdict]),
            steps=_steps(exercise, verdict, entry, paragraphs),
        )
    )


@cache
def environment() -> Environment:
    """Return what fills the templates in; it cleans and escapes all that they show."""
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = lambda text: Markup(html(text))  # `html` escapes it
    environment.filters["tone"] = tone
    return environment


def _shown(value: object) -> object:
    """Clean a value that a template shows; jinja2 escapes it afterwards."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _steps(
    exercise: Exercise,
    verdict: Verdict,
    entry: GradebookEntry | None,
    paragraphs: Sequence[Paragraph],
) -> tuple[StepView, ...]:
    views = []
    seen: dict[Finding, int] = {}
    for position, step in enumerate(verdict.steps, start=1):
        text = _text(step)
        if (
            step.finding
            and not step.by_layer
            and seen.setdefault(step.finding, position) != position
        ):
            # A cause that stops several steps is explained only once.
            same = f"The same as at step {seen[step.finding]}." if text.finding.fact else ""
            text = replace(text, finding=FindingText(fact=same))
        views.append(
            StepView(
                position=position,
                title=exercise.steps[position - 1].title,
                name=step.name,
                points=_points(step, entry),
                note=advice.step_note(exercise, verdict, step),
                text=text,
                paragraphs=paragraphs_for(step, paragraphs),
            )
        )
    return tuple(views)


def _text(step: StepVerdict) -> StepText:
    """Return the text of a step, without what the mark beside it already says."""
    text = step_text(step)
    if step.by_layer or step.outcome in NOT_TOLD:
        return replace(text, checks=())
    if step.outcome is Outcome.NOT_WRITTEN:  # nothing ran, so there is nothing to unfold
        return replace(text, checks=(), finding=FindingText(look=text.finding.look))
    return replace(text, finding=replace(text.finding, right=text.finding.right or text.passed))


def _points(step: StepVerdict, entry: GradebookEntry | None) -> str:
    noun = "point" if step.max_points == 1 else "points"
    points = step_points(step, entry)
    earned = "?" if points is None else number(points)
    return f"{earned} of {number(step.max_points)} {noun}"


def _chain_finding(verdict: Verdict) -> FindingText | None:
    """Return the chain's finding, unless a step's finding or a right layer says the same."""
    finding = advice.chain_finding(verdict)
    if finding is None or verdict.chain.outcome is Outcome.INFRASTRUCTURE:
        return None
    return None if finding in {step.finding for step in verdict.steps} else finding_text(finding)


def _lead(exercise: Exercise, verdict: Verdict) -> Lead | None:
    """Return what to read first: the sentence on the first step that is wrong.

    It is None where that step is not written, or the whole layer is right: then the sentence about
    all steps says more.
    """
    position = advice.first_missed(verdict)
    if not position or verdict.infrastructure or advice.layer_leads(verdict):
        return None
    step = verdict.steps[position - 1]
    if step.outcome in (Outcome.NOT_WRITTEN, Outcome.REJECTED):
        return None
    finding = replace(_text(step).finding, look="", details=())
    return Lead(position, exercise.steps[position - 1].title, finding)


def _rejected(verdict: Verdict) -> FindingText | None:
    """Return why no step was run, or None; the page begins with it."""
    if any(step.outcome is not Outcome.REJECTED for step in verdict.steps):
        return None
    return finding_text(told(verdict.steps[0]))

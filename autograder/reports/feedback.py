"""The page that a student reads after grading, and the class page of the instructor.

A page is one file without scripts or anything from outside, so that it opens
from a mail or a learning platform. Parts of it were written by students: all
text is cleaned and escaped where the template puts it out, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.model.exercise import Exercise
from autograder.model.files import file_stem, write_whole
from autograder.model.sanitize import clean
from autograder.model.symbols import KEY, Mark, count, mark, number, tone
from autograder.model.verdict import Finding, Outcome, StepVerdict, Verdict
from autograder.reports import advice, table
from autograder.reports.levels import level_words, unprotected_words
from autograder.reports.roll import class_roll, shown_names
from autograder.reports.summary import class_summary

LONGEST = 2000
MOST_DETAILS = 12


@dataclass(frozen=True)
class StepView:
    """One step as the page shows it: what is right, the one thing to look at, the rest folded."""

    position: int
    title: str
    name: str
    mark: Mark
    points: str
    note: str
    right: str = ""
    fact: str = ""
    look: str = ""
    checks: tuple[tuple[Mark, str], ...] = ()
    details: tuple[str, ...] = ()


def write_feedback(
    folder: Path, exercise: Exercise, verdicts: Sequence[Verdict]
) -> tuple[Path, ...]:
    """Write one page for each student and `index.html` for the instructor into `folder`.

    Return the paths: the index first, then the pages, sorted by student. Raise `KitError` when
    a verdict is not about this exercise or the folder cannot be written.
    """
    roll = class_roll(exercise, verdicts)
    paths = [folder / "index.html", *(folder / page_name(verdict.student) for verdict in roll)]
    for path, verdict in zip(paths[1:], roll, strict=True):
        write_whole(path, feedback_page(exercise, verdict))
    # The index last: what it links to is there.
    write_whole(paths[0], class_page(exercise, roll))
    return tuple(paths)


def page_name(student: str) -> str:
    """Return the file name of a student's page."""
    return f"{file_stem(student)}.html"


def feedback_page(exercise: Exercise, verdict: Verdict) -> str:
    """Return the page of one student as HTML.

    Raise `KitError` when the verdict is not about this exercise.
    """
    class_roll(exercise, [verdict])
    passed = sum(step.outcome is Outcome.PASSED for step in verdict.steps)
    return (
        _environment()
        .get_template("feedback.html.j2")
        .render(
            exercise=exercise,
            verdict=verdict,
            points=number(verdict.points),
            max_points=number(verdict.max_points),
            right=f"{passed} of {count(len(verdict.steps), 'step')} right",
            first=advice.first_missed(verdict),
            chain=advice.chain_sentence(exercise, verdict),
            chain_finding=_chain_finding(verdict),
            rejected=_rejected(verdict),
            unprotected=unprotected_words([verdict]),
            level=level_words([verdict]),
            steps=_steps(exercise, verdict),
        )
    )


def class_page(exercise: Exercise, verdicts: Sequence[Verdict]) -> str:
    """Return the instructor's page as HTML: the table of the class, a link to every page.

    Raise `KitError` when a verdict is not about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    names = shown_names(verdict.student for verdict in roll)
    rows = [
        {
            "student": names[verdict.student],
            "page": page_name(verdict.student),
            "marks": [mark(step.outcome) for step in verdict.steps],
            "chain": table.chain_words(exercise, verdict),
            "chain_words": mark(verdict.chain.outcome).words,
            "points": table.points_words(verdict),
            "diagnosis": table.diagnosis_words(exercise, verdict),
        }
        for verdict in roll
    ]
    return (
        _environment()
        .get_template("class.html.j2")
        .render(
            exercise=exercise,
            students=count(len(roll), "student"),
            summary=class_summary(exercise, roll),
            rows=rows,
            unprotected=unprotected_words(roll),
            level=level_words(roll),
            key=KEY,
        )
    )


def with_code(text: str) -> Markup:
    """Return `text` cleaned and escaped, with what stands between backticks as code."""
    parts = clean(text, LONGEST).split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner: all of it is plain text
        return escape("`".join(parts))
    marked = (
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )
    return Markup("").join(marked)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = with_code
    environment.filters["tone"] = tone
    return environment


def _shown(value: object) -> object:
    """Clean whatever a template puts out; jinja2 escapes it afterwards."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value, LONGEST)
    return value


def _steps(exercise: Exercise, verdict: Verdict) -> tuple[StepView, ...]:
    views = []
    told: dict[Finding, int] = {}
    for position, step in enumerate(verdict.steps, start=1):
        view = _view(exercise, verdict, position, step)
        if step.finding and told.setdefault(step.finding, position) != position:
            # One cause that stops every step is told once.
            same = f"The same as at step {told[step.finding]}." if view.fact else ""
            view = replace(view, right="", fact=same, look="", details=())
        views.append(view)
    return tuple(views)


def _view(exercise: Exercise, verdict: Verdict, position: int, step: StepVerdict) -> StepView:
    finding = step.finding or Finding(step.outcome, fact=mark(step.outcome).sentence)
    view = StepView(
        position=position,
        title=exercise.steps[position - 1].title,
        name=step.name,
        mark=mark(step.outcome),
        points=_points(step),
        note=advice.step_note(exercise, verdict, step),
    )
    if step.outcome in (Outcome.PASSED, Outcome.INFRASTRUCTURE):
        return view  # what failed on our side is not the student's to look at
    if step.outcome is Outcome.NOT_WRITTEN:  # the mark says it; nothing ran, nothing to unfold
        return replace(view, look=finding.look)
    return replace(
        view,
        right=finding.right or _right(step),
        fact=finding.fact,
        look=finding.look,
        checks=tuple((mark(check.outcome), check.title) for check in step.checks),
        details=_details(step),
    )


def _points(step: StepVerdict) -> str:
    noun = "point" if step.max_points == 1 else "points"
    earned = "?" if step.outcome is Outcome.INFRASTRUCTURE else number(step.points)
    return f"{earned} of {number(step.max_points)} {noun}"


def _right(step: StepVerdict) -> str:
    passed = [check.title for check in step.checks if check.outcome is Outcome.PASSED]
    words = f"{'; '.join(passed)}." if passed else ""
    return words[:1].upper() + words[1:]


def _details(step: StepVerdict) -> tuple[str, ...]:
    """Return what is folded away: the details of the finding, then what other checks saw."""
    findings = [check.finding for check in step.checks if check.finding]
    others = [finding.message for finding in findings if finding != step.finding]
    details = [*(step.finding.details if step.finding else ()), *others]
    return tuple(dict.fromkeys(details))[:MOST_DETAILS]


def _chain_finding(verdict: Verdict) -> Finding | None:
    """Return the chain's finding, unless a step's finding tells the same."""
    told = {step.finding for step in verdict.steps}
    ours = verdict.chain.outcome is Outcome.INFRASTRUCTURE
    return None if ours or verdict.chain.finding in told else verdict.chain.finding


def _rejected(verdict: Verdict) -> Finding | None:
    """Return why nothing was run, when nothing was; the page then begins with that."""
    if any(step.outcome is not Outcome.REJECTED for step in verdict.steps):
        return None
    return verdict.steps[0].finding or Finding(
        Outcome.REJECTED, fact=mark(Outcome.REJECTED).sentence
    )

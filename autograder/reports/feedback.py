"""The page that a student reads after grading.

A page is one file without scripts or outside resources, so that it opens from an
email or a learning platform. Students wrote parts of it, so the template cleans
and escapes all text that it shows.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.reports import class_summary
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
from autograder.reports.grades_csv import MOST_CODE
from autograder.reports.misunderstandings import Paragraph, paragraphs_for
from autograder.reports.roll import (
    NO_ENTRIES,
    NO_RECORD,
    GradebookEntry,
    StudentRecord,
    called,
    class_roll,
    entry_of,
    graded_facts,
    held_words,
    max_points_of,
    points_of,
    reasons_of,
    step_points,
)
from autograder.values.exercise import Exercise
from autograder.values.files import file_content, file_stem, write_whole
from autograder.values.sanitize import clean
from autograder.values.symbols import OUR_FAULT, count, number, tone
from autograder.values.verdict import NOT_JUDGED, NOT_RUN, Finding, Outcome, StepVerdict, Verdict

# Says on every page how well the grader was protected, and loudly if it was not.
#
# A mark given without protection looks like any other mark, so the reader must be told right
# beside it.


def level_words(verdicts: Iterable[Verdict]) -> str:
    """Return the levels, as in "Protection while grading: full.", or "" if nothing was run."""
    levels = sorted({verdict.protection for verdict in verdicts} - {NOT_RUN})
    return f"Protection while grading: {', '.join(levels)}." if levels else ""


def unprotected_words(verdicts: Iterable[Verdict]) -> str:
    """Return a warning to put above marks given without protection, or "" if there are none."""
    from autograder.values.symbols import Protection

    if not any(verdict.protection == Protection.PROCESS for verdict in verdicts):
        return ""
    return (
        f"Graded without protection (level: {Protection.PROCESS}). Nothing reliable kept a "
        "submission away from the grader or the work of others; this was allowed explicitly."
    )


_WIDTH = 78  # columns of the text


def write_page(
    folder: Path,
    exercise: Exercise,
    verdict: Verdict,
    entry: GradebookEntry | None = None,
    paragraphs: Sequence[Paragraph] = (),
    record: StudentRecord = NO_RECORD,
) -> bytes:
    """Write one student's page into `folder`, and beside it the same as plain text for a mail.

    The points are those of the gradebook's `entry`. Of the instructor's `paragraphs`, there are
    those about the student's mistakes; of the `record`, what was judged and when, the code itself,
    and what was asked about the mark. The text has lines of 78 columns. Return what is in the file
    of the page. Raise `KitError` when the verdict is not about this exercise or the folder cannot
    be written.
    """
    facts = _facts(exercise, verdict, entry, paragraphs, record)
    page = file_content(environment().get_template("feedback.html.j2").render(facts))
    path = folder / page_name(verdict.student)
    write_whole(path.with_suffix(".txt"), _plain(facts))
    write_whole(path, page)
    return page


def page_name(student: str) -> str:
    """Return the file name of a student's page."""
    return f"{file_stem(student)}.html"


def _facts(
    exercise: Exercise,
    verdict: Verdict,
    entry: GradebookEntry | None,
    paragraphs: Sequence[Paragraph],
    record: StudentRecord,
) -> dict[str, Any]:
    """Return what page and text show."""
    class_roll(exercise, [verdict])
    passed = sum(step.passes for step in verdict.steps)
    entries = {verdict.student: entry} if entry else NO_ENTRIES
    entry = entry_of(verdict, entries)
    points = points_of(verdict, entries)
    return {
        "exercise": exercise,
        "verdict": verdict,
        "who": called(verdict.student, record),
        "handed_in": graded_facts(verdict, record),
        "code": record.code,
        "questions": record.questions,
        "held": held_words(record),
        "points": None if points is None else number(points),
        "max_points": number(max_points_of(verdict, entries)),
        "automatic": f"{number(verdict.points)} of {number(verdict.max_points)}",
        "reasons": reasons_of(verdict, entries),
        "right": f"{passed} of {count(len(verdict.steps), 'step')} right",
        "first": class_summary.first_missed(verdict),
        "lead": _lead(exercise, verdict),
        "chain": class_summary.chain_sentence(exercise, verdict),
        "layer_first": class_summary.layer_leads(verdict),
        "chain_finding": _chain_finding(verdict),
        "rejected": _rejected(verdict),
        "our_fault": OUR_FAULT,
        "waits": f"{'Part of your' if any(_judged(verdict)) else 'Your'} work",
        "unprotected": unprotected_words([verdict]),
        "level": level_words([verdict]),
        "steps": _steps(exercise, verdict, entry, paragraphs),
        "comments": entry.own_comments if entry else (),
    }


def _judged(verdict: Verdict) -> list[bool]:
    return [step.outcome not in NOT_JUDGED for step in verdict.steps]


def _plain(facts: dict[str, Any]) -> str:
    written = environment(text=True).get_template("feedback.txt.j2").render(facts)
    lines = "\n".join(_wrapped(line) for line in written.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip() + "\n"


def _wrapped(line: str) -> str:
    """Return a line in as many of 78 columns as it takes, all as far in as it is."""
    if len(line) <= _WIDTH:
        return line.rstrip()
    margin = " " * (len(line) - len(line.lstrip(" ")))
    below = f"{margin}  " if line.lstrip(" ").startswith("- ") else margin
    lines = textwrap.wrap(
        line.strip(),
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=below,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


@cache
def environment(text: bool = False) -> Environment:
    """Return what fills the templates in; it cleans all that they show, and escapes it in HTML."""
    environment = Environment(
        loader=PackageLoader("autograder.reports"),
        autoescape=not text,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = lambda text: Markup(html(text))  # `html` escapes it
    environment.filters["whole_code"] = lambda text: Markup(escape(clean(text, MOST_CODE + 1)))
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
) -> list[dict[str, Any]]:
    """Return each step on the page: its position, its points, its text."""
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
        comments = entry.comments_on(step.name) if entry else ()
        views.append(
            {
                "position": position,
                "title": exercise.steps[position - 1].title,
                "name": step.name,
                "points": _points(step, entry),
                "note": class_summary.step_note(exercise, verdict, step),
                "text": text,
                "paragraphs": (*comments, *paragraphs_for(step, paragraphs)),
            }
        )
    return views


def _text(step: StepVerdict) -> StepText:
    """Return the text of a step, without what the mark beside it already says."""
    text = step_text(step)
    if step.by_layer or step.outcome in NOT_TOLD:
        return replace(text, checks=())
    if step.outcome is Outcome.NOT_WRITTEN:  # nothing ran, so there is nothing to unfold
        return replace(text, checks=(), finding=FindingText(look=text.finding.look))
    return replace(text, finding=replace(text.finding, right=text.finding.right or text.passed))


def _points(step: StepVerdict, entry: GradebookEntry | None) -> str:
    points = step_points(step, entry)
    earned = "?" if points is None else number(points)
    return f"{earned} of {count(step.max_points, 'point')}"


def _chain_finding(verdict: Verdict) -> FindingText | None:
    """Return the chain's finding, unless a step's finding or a right layer says the same."""
    finding = class_summary.chain_finding(verdict)
    if finding is None or verdict.chain.outcome is Outcome.INFRASTRUCTURE:
        return None
    return None if finding in {step.finding for step in verdict.steps} else finding_text(finding)


def _lead(exercise: Exercise, verdict: Verdict) -> dict[str, Any] | None:
    """Return what to read first: the first step that is wrong, by number and title, and why.

    Where to look stands at the step itself.

    It is None where that step is not written, or the whole layer is right: then the sentence about
    all steps says more.
    """
    position = class_summary.first_missed(verdict)
    if not position or verdict.infrastructure or class_summary.layer_leads(verdict):
        return None
    step = verdict.steps[position - 1]
    if step.outcome in (Outcome.NOT_WRITTEN, Outcome.REJECTED):
        return None
    finding = replace(_text(step).finding, look="", details=())
    title = exercise.steps[position - 1].title
    return {"position": position, "title": title, "finding": finding}


def _rejected(verdict: Verdict) -> FindingText | None:
    """Return why no step was run, or None; the page begins with it."""
    if any(step.outcome is not Outcome.REJECTED for step in verdict.steps):
        return None
    return finding_text(told(verdict.steps[0]))

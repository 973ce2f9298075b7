"""The grades of a class as CSV, for a spreadsheet or a learning platform.

A spreadsheet runs a cell that begins like a formula, and a student can put a
formula into a file name or an error message. Such cells get an apostrophe in front.
A submission that a fault of ours kept from being judged has empty points, never 0.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from autograder.model.exercise import Exercise
from autograder.model.files import write_whole
from autograder.model.sanitize import clean_line
from autograder.model.symbols import number
from autograder.model.verdict import Outcome, StepVerdict, Verdict
from autograder.reports.advice import first_line
from autograder.reports.roll import class_roll, shown_names

# Full-width signs also begin a formula in a Japanese or Chinese setting. A spreadsheet that
# splits at semicolons begins a new cell after each one, even inside quotes.
FORMULA = re.compile(r"(^|;)(\s*)(?=[=+\-@＝＋－＠])")
LONGEST = 300


def grades_csv(exercise: Exercise, verdicts: Sequence[Verdict]) -> str:
    """Return the grades as CSV text: a row of names, then one row for each student.

    The columns are: student, points, max_points, one for the points of each step, chain (the
    outcome end to end), diagnosis (the first thing to look at), protection, code_hash.
    Raise `KitError` when a verdict is not about this exercise.
    """
    steps = [step.name for step in exercise.steps]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        ["student", "points", "max_points", *steps, "chain", "diagnosis", "protection", "code_hash"]
    )
    roll = class_roll(exercise, verdicts)
    names = shown_names(verdict.student for verdict in roll)
    for verdict in roll:
        rows.writerow(_row(verdict, names[verdict.student]))
    return text.getvalue()


def write_grades(path: Path, exercise: Exercise, verdicts: Sequence[Verdict]) -> Path:
    """Write `grades_csv` to `path` as UTF-8 and return `path`."""
    write_whole(path, grades_csv(exercise, verdicts))
    return path


def cell(text: str) -> str:
    """Return `text` as one clean line that no spreadsheet runs as a formula."""
    return FORMULA.sub(r"\1\2'", clean_line(text, LONGEST))


def _row(verdict: Verdict, name: str) -> list[str]:
    return [
        cell(name),
        "" if verdict.infrastructure else number(verdict.points),
        number(verdict.max_points),
        *(_points(step) for step in verdict.steps),
        verdict.chain.outcome.value if verdict.chain.asked else "",
        cell(_diagnosis(verdict)),
        cell(verdict.protection),
        cell(verdict.code_hash),
    ]


def _diagnosis(verdict: Verdict) -> str:
    position, line = first_line(verdict)
    return f"{verdict.steps[position - 1].name}: {line}" if position else line


def _points(step: StepVerdict) -> str:
    return "" if step.outcome is Outcome.INFRASTRUCTURE else number(step.points)

"""The closing words of an exercise under the last cell of its notebook.

They earn no points, so nothing is raised. A kernel knows only what it has checked since it started,
and they say so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from autograder.learning.step_lesson import asked_after
from autograder.model.exercise import Exercise
from autograder.notebook.kernel_record import KernelRecord
from autograder.notebook.prose import display
from autograder.reports.finding import html
from autograder.reports.finish import Finish, FinishedStep, mistake_lines, needed_steps, took_words
from autograder.reports.finish_page import finish_body

WIDTH = 72
UNKNOWN = (
    "Only what was checked since this kernel started is known: no earlier day, no check in a "
    "terminal, and no hint that you unfolded.",
    "Mistakes that have no name, and those that you saw before any check, are not counted.",
)


def finish_of(exercise: Exercise, record: KernelRecord, words: Mapping[str, str]) -> Finish | None:
    """Return what is known of an exercise that is done; None when a step with points is left."""
    if not all(record.passed.get(step.name) for step in needed_steps(exercise)):
        return None
    met = [record.mistakes.get(step.name, ()) for step in exercise.steps]
    asked = [asked_after(exercise, step.name) for step in exercise.steps]
    steps = tuple(
        FinishedStep(
            number,
            step.name,
            step.title,
            lines,
            open=not record.passed.get(step.name),
            question=question.question if question else "",
            answer=question.answer if question else "",
        )
        for number, (step, lines, question) in enumerate(
            zip(exercise.steps, mistake_lines(met, words), asked), start=1
        )
    )
    return Finish(
        title=exercise.title,
        built=exercise.closing.built,
        steps=steps,
        took=took_words(exercise, record.work_time),
        unknown=UNKNOWN,
        reading=exercise.closing.reading,
        counts_help=False,
    )


def waiting_words(exercise: Exercise, record: KernelRecord) -> str:
    """Return which checks are left, in words."""
    left = [step.name for step in needed_steps(exercise) if not record.passed.get(step.name)]
    checks = ", ".join(f"check({name})" for name in left[:3])
    more = f" and {len(left) - 3} more" if len(left) > 3 else ""
    return (
        "The closing words come when every step has passed its check since this kernel started. "
        f"Left: {checks}{more}."
    )


def show_finish(finish: Finish) -> None:
    """Show the closing words under the cell, as HTML where a notebook can."""
    page = (
        f"<div style='max-width:52em'><strong>{html(finish.headline)}</strong>"
        f"{finish_body(finish, 'h4')}</div>"
    )
    display(finish_text(finish), page)


def finish_text(finish: Finish) -> str:
    """Return the same as lines of plain text."""
    parts = [finish.headline, finish.built, *finish.took, finish.met]
    for step in finish.steps:
        parts += [f"{step.number}. {step.name}: {words}" for words in step.mistakes]
    parts += [f"To read: {each.sentence} {each.source}. {each.why}" for each in finish.reading]
    parts += finish.unknown
    return "\n".join(textwrap.fill(part, WIDTH, break_long_words=False) for part in parts if part)

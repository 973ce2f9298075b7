"""Verdicts of the NumPy exercise, made by hand for what reports on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.grading.journal import Journal
from autograder.reports.class_page import NOTHING_ELSE, ClassContext, write_class_page
from autograder.reports.feedback import write_page
from autograder.reports.grades_csv import write_verdict
from autograder.values.exercise import Exercise, read_exercise
from autograder.values.verdict import (
    ChainVerdict,
    CheckVerdict,
    Finding,
    Outcome,
    StepVerdict,
    Verdict,
)

EXERCISE = read_exercise(Path(__file__).resolve().parents[2] / "solutions" / "numpy_single_head")


def verdict(student: str, **wrong: Finding) -> Verdict:
    """A verdict in which the steps named in `wrong` end so and all others are right."""
    steps = tuple(
        StepVerdict.of(step, (CheckVerdict.of("values", "right values", wrong.get(step.name)),))
        for step in EXERCISE.steps
    )
    facts = (f"hash of {student[::-1]}", "e3b0c442", 7, "strong", 0.5)
    return Verdict(EXERCISE.name, student, steps, ChainVerdict(Outcome.PASSED), *facts)


def found_in(journal: Journal, key: str, student: str, exercise: Exercise) -> Verdict | None:
    """The verdict that a journal holds under a key, as that of a student."""
    with journal.reading() as find:
        return find(key, student, exercise)


def write_verdicts(folder: Path, verdicts: Iterable[Verdict]) -> tuple[Path, ...]:
    """Write each verdict to its own file in `folder`; return the paths."""
    return tuple(write_verdict(folder, each) for each in verdicts)


def feedback_text(*judged: Any) -> str:
    """What is written beside a student's page, for a mail; see `write_page`."""
    with TemporaryDirectory() as folder:
        write_page(Path(folder), *judged)
        (file,) = Path(folder).glob("*.txt")
        return file.read_text(encoding="utf-8")


def feedback_page(*judged: Any) -> str:
    """A student's page; see `write_page`."""
    with TemporaryDirectory() as folder:
        return write_page(Path(folder), *judged).decode("utf-8")


def class_page(
    exercise: Exercise, verdicts: Sequence[Verdict], context: ClassContext = NOTHING_ELSE
) -> str:
    """The first file of the page of a class; see `write_class_page`."""
    with TemporaryDirectory() as folder:
        page = write_class_page(Path(folder), exercise, verdicts, context)
        return page.read_text(encoding="utf-8")

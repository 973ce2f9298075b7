"""Checking one's own work in a terminal, against the worked examples."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from autograder.errors import KitError
from autograder.examples import read_examples
from autograder.exercise import Exercise, read_exercise
from autograder.inprocess import InProcess
from autograder.notebook import HIDDEN, Checked, ask_examples
from autograder.submission import read_submission
from autograder.verdict import Outcome


def check_folder(folder: Path, step: str | None, console: Console) -> bool:
    """Check the work in an assignment's folder; return whether all that was asked passes.

    The learner's own code runs in this process, with no protection and no time limit.
    Raises `KitError` when the folder is no assignment or the step is not known.
    """
    exercise = read_exercise(folder)
    examples = read_examples(folder)
    steps = (exercise.step(step),) if step else exercise.steps
    respondent = InProcess(_names(folder, exercise, console), exercise.library)
    with warnings.catch_warnings():
        # What is wrong is said below, and said better.
        warnings.simplefilter("ignore")
        results = [ask_examples(each, examples, respondent) for each in steps]
    for checked in results:
        _show(checked, console)
    wrong = [checked for checked in results if checked.finding]
    if wrong:
        _look_at(wrong[0], console)
    else:
        console.print(HIDDEN)
    return not wrong


def _names(folder: Path, exercise: Exercise, console: Console) -> dict[str, Any]:
    submission = read_submission(folder, exercise, "you")
    if submission.rejected:
        raise KitError(submission.rejected.fact, place=str(folder), cure="correct the file")
    for remark in submission.remarks:
        console.print(Text(remark))
    console.print(Text(f"checking {submission.path}"))
    names: dict[str, Any] = {"__name__": "submission"}
    for cell in submission.cells:
        try:
            exec(compile(cell, str(submission.path), "exec"), names)
        except Exception as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            console.print(Text(f"{type(error).__name__}{line}: {error}", style="red"))
    return names


def _show(checked: Checked, console: Console) -> None:
    finding = checked.finding
    if finding is None:
        mark = Text("✓", style="green")
    elif finding.outcome is Outcome.NOT_WRITTEN:
        mark = Text("·", style="dim")
    else:
        mark = Text("✗", style="red")
    console.print(mark, Text(f"{checked.step.name} ({checked.passed}/{len(checked.results)})"))


def _look_at(checked: Checked, console: Console) -> None:
    console.print()
    console.print(Text(f"Next: {checked.step.name}", style="bold"))
    assert checked.finding
    for words in (checked.finding.right, checked.finding.fact, checked.finding.look):
        if words:
            console.print(Padding(Text(words), (0, 0, 0, 2)))
    console.print(Padding(Text(checked.hint, style="dim"), (1, 0, 0, 2)))

"""`attn report` and `attn tell`: the results of a graded class once more, and words for its pages.

Nobody is judged here: verdicts come from the journal, marks from the gradebook.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.cli.class_results import GradedClass, write_results
from autograder.cli.found_class import class_folder, found_class
from autograder.cli.output import lasting_output
from autograder.errors import KitError
from autograder.grading.class_run import kept_task
from autograder.grading.class_task import ClassTask, GradingOptions
from autograder.grading.grader_pool import GraderPool
from autograder.grading.output_folder import WAITS, class_lock, ended_by_signals
from autograder.model.sanitize import terminal_line
from autograder.model.symbols import count, number
from autograder.model.verdict import Verdict
from autograder.reports.gradebook_entry import ClassGradebook, entry_of
from autograder.reports.misunderstandings import Paragraph, mistakes_at, write_paragraph
from autograder.reports.verdict_files import find_verdict

_MOST_OFFERED = 12


@dataclass(frozen=True)
class ClassPlace:
    """Where a graded class is: as for `attn grade`."""

    path: Path
    exercise: str | None = None
    solutions: Path | None = None
    output: Path | None = None


@lasting_output()
def report_class(
    place: ClassPlace,
    options: GradingOptions,
    console: Console,
    mistake: str = "",
    words: str = "",
    anonymous: bool = False,
) -> GradedClass:
    """Write and print the results of a class again, as the journal and the gradebook have them now.

    With `mistake`, named as on the class page, `words` for everybody who made it are kept first;
    empty ones take away those that are there. If `anonymous`, there is a page without names, too,
    and nobody is named in the terminal. Raises `KitError` when nobody is judged yet, or
    nobody has made the mistake.
    """
    path = class_folder(place.path)
    output = place.output.absolute() if place.output else None
    with ended_by_signals(), class_lock(path, lambda: console.print(Text(WAITS))):
        found = found_class(path, place.exercise, place.solutions, output)
        task, records = found.task, found.opened_records()
        with (
            GraderPool(options.processes) as pool,
            kept_task(task, pool, options, console) as judged,
        ):
            gradebook = records.read()
            if records.last_counts:
                _refuse_other_points(task, judged.outlines, gradebook)
            if mistake:
                _tell(task, judged.outlines, mistake, words, console)
            return write_results(task, records, pool, judged, gradebook, console, anonymous)


def _refuse_other_points(
    task: ClassTask, verdicts: Sequence[Verdict], gradebook: ClassGradebook
) -> None:
    """Raise `KitError` when somebody has automatic points that these verdicts do not give."""
    for verdict in verdicts:
        points = _points_of_then(task, verdict, gradebook) if verdict.graded else None
        if points is not None and not math.isclose(points, verdict.points):
            name = terminal_line(verdict.student, 60)
            raise KitError(
                f"{name} was graded with {number(points)} automatic points, and by the settings of "
                f"now it would be {number(verdict.points)}",
                place=str(task.graded),
                cure="name the options that it was graded with, such as `--partial-points`; or run "
                "`attn grade` on the same class, which judges nobody again",
            )


def _points_of_then(task: ClassTask, verdict: Verdict, gradebook: ClassGradebook) -> float | None:
    """Return the automatic points that the gradebook has for this work, or else the results."""
    if entry := entry_of(verdict, gradebook.entries):
        return entry.automatic
    with suppress(KitError, OSError):  # a damaged file is written again
        then = find_verdict(task.output / "verdicts", verdict.student)
        if then and then.graded and then.code_hash == verdict.code_hash:
            return then.points
    return None


def _tell(
    task: ClassTask, verdicts: Sequence[Verdict], mistake: str, words: str, console: Console
) -> None:
    step, _, code = mistake.partition("/")
    made = _made(verdicts)
    if mistake not in made:
        shown = ", ".join(sorted(made)[:_MOST_OFFERED]) or "none"
        raise KitError(
            f"nobody in this class has made the mistake {terminal_line(mistake, 120)!r}",
            place=str(task.graded),
            cure=f"name it as the class page does; there are: {terminal_line(shown, 1_000)}",
        )
    write_paragraph(task.output, Paragraph(step, code, words.strip()))
    who = count(made[mistake], "student")
    console.print(Text(f"{'It' if words.strip() else 'Nothing'} is on the page of {who} now."))


def _made(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """Return how many students have made each mistake, by its name on the class page."""
    found: dict[str, int] = {}
    for verdict in verdicts:
        for step in verdict.steps:
            for code in mistakes_at(step):
                name = f"{step.name}/{code}"
                found[name] = found.get(name, 0) + 1
    return found

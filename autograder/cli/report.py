"""`attn report`: the results of a graded class once more, and words for its pages.

Nobody is judged here: verdicts come from the journal, marks from the gradebook.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from rich.console import Console
from rich.text import Text

from autograder.cli.class_results import GradedClass, write_results
from autograder.cli.found_class import opened_class
from autograder.cli.kit import lasting_output
from autograder.errors import KitError
from autograder.grading.class_run import kept_task
from autograder.grading.class_task import ClassTask, GradingOptions
from autograder.grading.grader_pool import GraderPool
from autograder.reports.finding import told
from autograder.reports.gradebook_entry import ClassGradebook, entry_of
from autograder.reports.grades_csv import find_verdict
from autograder.reports.misunderstandings import (
    Paragraph,
    misconception_words,
    mistakes_at,
    write_paragraph,
)
from autograder.values.sanitize import clean_line, terminal_line
from autograder.values.symbols import count, number
from autograder.values.verdict import Verdict

_MOST_OFFERED = 12


@lasting_output()
def report_class(
    path: Path,
    *,
    exercise: str | None,
    options: GradingOptions,
    console: Console,
    solutions: Path | None = None,
    output: Path | None = None,
    mistake: str = "",
    words: str = "",
    anonymous: bool = False,
) -> GradedClass:
    """Write and print the results of a class again, as the journal and the gradebook have them now.

    With `mistake`, named as anything prints it, `words` for everybody who made it are kept first;
    empty ones take away those that are there. If `anonymous`, there is a page without names, too,
    and nobody is named in the terminal. Raises `KitError` when nobody is judged yet, or
    nobody has made the mistake.
    """

    def say(words: str) -> None:
        console.print(Text(words))

    with opened_class(path, exercise, solutions, output, say) as found:
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
    made = _made(task, verdicts)
    meant = _meant(mistake, made)
    if len(meant) != 1:
        near = get_close_matches(_plain(mistake), {each for one in made.values() for each in one})
        alike = [name for name, printed in made.items() if name in meant or printed & {*near}]
        shown = ", ".join([*alike, *sorted({*made} - {*alike})][:_MOST_OFFERED]) or "none"
        raise KitError(
            f"{terminal_line(repr(mistake), 120)} may be several mistakes of this class"
            if meant
            else f"nobody in this class has made the mistake {terminal_line(repr(mistake), 120)}",
            place=str(task.graded),
            cure=f"name it as the class page does; there are: {terminal_line(shown, 1_000)}",
        )
    step, _, code = meant[0].partition("/")
    write_paragraph(task.output, Paragraph(step, code, words.strip()))
    amount = sum(
        code in mistakes_at(each) for one in verdicts for each in one.steps if each.name == step
    )
    told_to = count(amount, "student")
    console.print(Text(f"{'It' if words.strip() else 'Nothing'} is on the page of {told_to} now."))


def _made(task: ClassTask, verdicts: Sequence[Verdict]) -> dict[str, set[str]]:
    """Return what the class page, the terminal and the CSV print of each mistake, by its name."""
    found: dict[str, set[str]] = {}
    for verdict in verdicts:
        for step in verdict.steps:
            title, line = task.exercise.step(step.name).title, told(step).line
            for code, finding in mistakes_at(step).items():
                name = misconception_words(finding.misconception or code)
                printed = [f"{step.name}/{code}", name]
                printed += [f"{name} (in {step.name})", f"{name} in {title}", finding.fact]
                printed += [line, f"{step.name}: {line}"] if finding == step.finding else []
                found.setdefault(printed[0], set()).update(map(_plain, printed))
    return found


def _meant(mistake: str, made: Mapping[str, set[str]]) -> list[str]:
    """Return the names of the mistakes that may be meant; a terminal cuts long lines."""
    wanted = _plain(mistake)
    cut = wanted.endswith(("…", "...")) and wanted.rstrip("….")
    return [
        name
        for name, printed in made.items()
        if wanted in printed or (cut and any(each.startswith(cut) for each in printed))
    ]


def _plain(printed: str) -> str:
    """Return what is printed of a mistake without what does not tell it from others."""
    found = re.sub(r": \d+ students?$|^\d+: ", "", clean_line(printed, 1_000).strip())
    return re.sub(r"[\s_`]+", " ", found).casefold().strip()

"""The lesson of a step, read from the notebook beside the exercise: one source for every medium.

It needs nothing that only a terminal has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Any

from autograder.authoring.lesson import FoldedAnswer, folded_answers, replaced_answers
from autograder.authoring.rungs import PuzzleLine, Rungs
from autograder.errors import KitError
from autograder.learning.checking import Checking, JobRunner
from autograder.learning.progress import Progress
from autograder.learning.results import CheckRun, Checkup, StepRun
from autograder.reports.finding import Finish, FinishedStep, mistake_lines, took_words
from autograder.submission.reading import Submission
from autograder.values.exercise import SOLUTION, Exercise
from autograder.values.files import read_small
from autograder.values.symbols import count
from autograder.values.this_machine import original
from autograder.values.verdict import Finding

AFTER = "After the check."
ASKS = ("Before you code.", AFTER, "When you have tried.")
NOT_COUNTED = (
    "Mistakes that have no name, and those that you saw before any check, are not counted."
)
MOST_BYTES = 20_000_000  # of a notebook, with what it has printed
_COLUMNS = re.compile(r"<pre[^>]*>\n(.*?)\n</pre>", re.DOTALL)
_CODE = re.compile(r"<code>(.*?)</code>")


@dataclass(frozen=True)
class Lesson:
    """What stands above a step and below it in the notebook, in Markdown."""

    step: str
    above: str
    below: str

    @property
    def after(self) -> FoldedAnswer | None:
        """The question for who has written the step, or None."""
        return next((each for each in folded_answers(self.below) if each.when == AFTER), None)

    @property
    def trials(self) -> str:
        """What the learner tries: all that stands below the step, without that question."""
        told = replaced_answers(self.below, lambda each: "" if each.when == AFTER else each.folded)
        return told.strip()


def lesson_of(exercise: Exercise, step: str) -> Lesson:
    """Return the lesson of a step from the notebook beside the exercise, or from the kit's own.

    Raises `KitError` where neither has it.
    """
    for file in (exercise.folder / f"{exercise.name}.ipynb", _shipped(exercise)):
        found = file and _lesson_in(file, step)
        if found:
            return found
    raise KitError(
        f"the lesson of {step} is not here",
        place=str(exercise.folder),
        cure=f"put {exercise.name}.ipynb back from where you got the exercise",
    )


def asked_after(exercise: Exercise, step: str) -> FoldedAnswer | None:
    """Return the question for who has written a step, None where there is none."""
    try:
        return lesson_of(exercise, step).after
    except KitError:
        return None


def _shipped(exercise: Exercise) -> Path | None:
    try:
        return original(exercise, f"{exercise.name}.ipynb")
    except KitError:
        return None


def _lesson_in(file: Path, step: str) -> Lesson | None:
    try:
        cells = json.loads(read_small(file, MOST_BYTES))["cells"]
        places = [number for number, cell in enumerate(cells) if _grade_id(cell) == step]
        after = cells[places[0] + 1 :]
        folds = _prose_down(after)  # what folds may stand between the step and its check
        above = "\n\n".join(filter(None, (_prose_up(cells[: places[0]]), folds)))
        # Past the cell that the learner tries something in: the answer stands below it.
        check = next(number for number, cell in enumerate(after) if cell["cell_type"] == "code")
        rest = after[check + 1 :]
        below = _prose_down(cell for cell in rest if cell["cell_type"] == "markdown")
    except (OSError, KitError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return None  # a notebook that somebody has changed so
    return Lesson(step, _as_written(above), _as_written(below))


def _as_written(prose: str) -> str:
    """Return Markdown as its author wrote it, without the HTML that a notebook needs."""
    text = _COLUMNS.sub(lambda found: f"```\n{unescape(found[1])}\n```", prose)
    return _CODE.sub(r"`\1`", text)


def _grade_id(cell: dict[str, Any]) -> Any:
    return cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")


def _prose_up(cells: list[dict[str, Any]]) -> str:
    texts: list[str] = []
    for cell in reversed(cells):
        if cell["cell_type"] != "markdown":
            break
        texts.insert(0, "".join(cell["source"]))
        if texts[0].startswith("#"):  # what is above this heading belongs to the step before
            break
    return "\n\n".join(texts)


def _prose_down(cells: Iterable[dict[str, Any]]) -> str:
    texts: list[str] = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] != "markdown" or text.startswith("#"):
            break
        texts.append(text)
    return "\n\n".join(texts)


# What is known of an exercise that is done: the same for the terminal, a notebook and a page.


def finish_of(
    exercise: Exercise,
    progress: Progress,
    words: Mapping[str, str],
    unknown: str,
    *,
    counts_help: bool = True,
    shown: Callable[[str], str] = str,
) -> Finish:
    """Return what to say of an exercise that is done.

    words: what is said of each known mistake. unknown: what nobody noted here. shown: how the text
    of a question is written.
    """
    known = [progress.step(exercise.name, step.name) for step in exercise.steps]
    mistakes = mistake_lines([each.mistakes for each in known], words)
    steps = []
    for number, (step, each, lines) in enumerate(zip(exercise.steps, known, mistakes), start=1):
        asked = asked_after(exercise, step.name)
        question, answer = (asked.question, asked.answer) if asked else ("", "")
        steps.append(
            FinishedStep(
                number,
                step.name,
                step.title,
                lines,
                each.hints,
                each.solution,
                not each.passed,
                shown(question),
                shown(answer),
            )
        )
    return Finish(
        title=exercise.title,
        built=exercise.closing.built,
        steps=tuple(steps),
        took=took_words(exercise, progress.work_time(exercise.name)),
        unknown=(unknown, NOT_COUNTED),
        reading=exercise.closing.reading,
        counts_help=counts_help,
    )


# The lines of a step in an order that a learner chose: what their checks find, and in words.


@dataclass(frozen=True)
class LineOrder:
    """Lines that were chosen from those of `rungs`, and the solution's code `before` the step."""

    exercise: Exercise
    rungs: Rungs
    chosen: tuple[PuzzleLine, ...]
    before: str

    @property
    def more(self) -> int:
        """How many lines more than the solution has were chosen."""
        return len(self.chosen) - len(self.rungs.true)

    def checked(self, child: JobRunner) -> Checkup:
        """Ask the worked examples; what is found has the numbers of lines as on the list."""
        file = self.exercise.folder / SOLUTION
        cells = (self.before, self.rungs.code(self.chosen))
        submission = Submission("you", self.exercise.name, cells, file)
        # No file has these names: Python would quote a line of it where it cannot read the code.
        names = ("<the steps before>", f"<the lines of {self.rungs.step}>")
        steps = (self.exercise.step(self.rungs.step),)
        checkup = Checking(self.exercise, submission, steps, names=names).run(child)
        (run,) = checkup.steps
        checks = tuple(map(self._numbered_check, run.checks))
        told = StepRun.of(run.step, checks, picture=run.picture)
        return replace(
            checkup,
            steps=(run if run.verdict.passes else told,),
            troubles=tuple(map(self._numbered_as_shown, checkup.troubles)),
        )

    def is_right(self, checkup: Checkup) -> bool:
        """Whether they make the step, and none is too much."""
        return checkup.passes and not self.more

    def words(self, checkup: Checkup) -> tuple[str, ...]:
        """Return what is said before any finding."""
        more, passes = self.more, checkup.steps[0].verdict.passes
        if passes and more <= 0:
            return (f"Right: these lines make {self.rungs.step}.",)
        if passes:
            left = "one line is" if more == 1 else f"{more} lines are"
            return (f"It gives the right result, but {left} not needed. Which?",)
        if not more:
            return ("Not yet.",)
        chosen = f"You chose {count(len(self.chosen), 'line')}"
        return ("Not yet.", f"{chosen}, and the step has {len(self.rungs.true)}.")

    def _numbered_as_shown(self, found: Finding) -> Finding:
        """Return a finding in which a line has the number that it has on the list."""
        shown = {line: number for number, line in enumerate(self.rungs.lines, 1)}
        places = self.rungs.lines_of_code(self.chosen)
        numbers = {place: shown[line] for place, line in places.items()}

        def renumbered(text: str) -> str:
            return re.sub(
                r"(?i)\b(line )(\d+)\b",
                lambda told: f"{told[1]}{numbers.get(int(told[2]), told[2])}",
                text,
            )

        return replace(found, fact=renumbered(found.fact), look=renumbered(found.look))

    def _numbered_check(self, check: CheckRun) -> CheckRun:
        found = check.verdict.finding
        told = self._numbered_as_shown(found) if found else None
        return replace(check, verdict=replace(check.verdict, finding=told))

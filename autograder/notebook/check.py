"""Checks a step from a cell of the learner's own notebook.

`check(softmax)` asks the worked examples, and shows what passed and the one thing to look
at next. It raises when something is wrong, so that nbgrader's Validate button says the
same. It runs no hidden grader, and says so to who hands in.

A person sees a card and one line under it. A run that nobody watches (Validate, nbclient,
a terminal) keeps only the error, so there the error has the full text.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

from autograder.errors import KitError
from autograder.judging.examples import Example, done_by, mistake_words_of, read_examples
from autograder.judging.inprocess import InProcess
from autograder.judging.layer_blame import LayerBlame
from autograder.judging.preserved_state import undisturbed
from autograder.learning.own_work import beyond_a_step
from autograder.model.exercise import MANIFEST, Exercise, find_exercise, read_exercise
from autograder.model.request import Respondent
from autograder.model.shipped import shipped
from autograder.notebook.called_step import called_step
from autograder.notebook.closing_cell import finish_of, show_finish, waiting_words
from autograder.notebook.kernel_record import KernelRecord, kernel_record
from autograder.notebook.met_mistakes import note_mistake
from autograder.notebook.own_time import InTime
from autograder.notebook.prose import say
from autograder.notebook.step_report import StepReport, report_on
from autograder.notebook.workspace_progress import known_by_layer, note_in_workspace
from autograder.notebook.written_code import WrittenCode

SAME_CODE = (
    "The cell of `{}` has not run since the last check. If you have changed it, run it first."
)
AGAIN = "Change your code, run its cell, and then run this cell again."
WIDTH = 96  # characters: a little less than a line in Validate's dialog


def _watched() -> bool:
    """Whether a person runs this cell; only then does the kernel's client accept input."""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython else None
    request = kernel.get_parent().get("content", {}) if kernel else {}
    return bool(request.get("allow_stdin"))


def _folded(line: str) -> list[str]:
    """Break up a long line, because Validate's dialog cuts off what does not fit."""
    return [line] if len(line) <= WIDTH else wrap(line, WIDTH)


class NotRightYet(Exception):
    """A step does not pass its public checks; the text says what to look at."""

    def __init__(self, report: StepReport) -> None:
        super().__init__("\n".join(report.lines()))
        self.report = report

    def _render_traceback_(self) -> list[str]:
        # IPython shows this instead of a traceback into our own code.
        if not _watched():
            return [part for line in str(self).splitlines() for part in _folded(line)]
        return [AGAIN]  # what is wrong stands in the card


@dataclass(frozen=True)
class Check:
    """The `check` of a notebook: call it with a function or class, as in `check(softmax)`."""

    exercise: Exercise
    examples: tuple[Example, ...]
    code: WrittenCode
    record: KernelRecord = field(default_factory=KernelRecord)

    def __call__(self, step: Any) -> StepReport:
        """Check one step; raise `NotRightYet` when something is wrong.

        A step that is open because the layer was written first, and is right, is not wrong.
        """
        name = called_step(step, self.exercise, self.code.log)
        self.code.refuse_old(name, step)
        run_since = self.code.has_run_since_check(name, step)
        respondent = self._asked_of(name, {name: step})
        with undisturbed():
            report = report_on(
                self.exercise.step(name), self.examples, respondent, self._blame_beside(step)
            )
        if report.verdict.never_written and known_by_layer(self.exercise, name):
            return report.by_layer()
        remark = self.code.absent_in_class(name, step) if run_since else SAME_CODE.format(name)
        passes, finding = report.verdict.passes, report.verdict.finding
        remarks = (remark, beyond_a_step(self.exercise) if passes else "")
        report = replace(report, remarks=tuple(filter(None, remarks)))
        does = done_by(name, self.examples)
        mistake = finding.misconception if finding else None
        self.record.note(name, mistake, passes=passes, does=does)
        note_in_workspace(self.exercise, report.verdict, does)
        if not passes:
            note_mistake(finding)
            report = replace(report, verdict=self.code.told(name, step, report.verdict))
            if _watched():
                report._ipython_display_()
            raise NotRightYet(report)
        return report

    def _blame_beside(self, step: Any) -> LayerBlame:
        """Return who looks for what makes a layer wrong, among the steps of the same notebook."""
        module = sys.modules.get(step.__module__)
        beside = vars(module) if module else {}
        return LayerBlame(
            beside, self.exercise.library, self.examples, lambda each: self._asked_of(each, beside)
        )

    def _asked_of(self, name: str, names: Mapping[str, Any]) -> Respondent:
        """Return who answers for the step `name`, as these names define it."""
        code = InProcess(names, self.exercise.library)
        return InTime(code, name, self.exercise.limits.seconds_per_call)

    def finish(self) -> None:
        """Show the closing words of the exercise, or which checks are left; never raise."""
        done = finish_of(self.exercise, self.record, mistake_words_of(self.examples))
        if done:
            show_finish(done)
        else:
            say(waiting_words(self.exercise, self.record))

    def __repr__(self) -> str:
        call = f"check({self.exercise.steps[0].name})"
        return f"checks for {self.exercise.name}: call {call} with your own function"


def open_exercise(name: str, folder: Path | str | None = None) -> Check:
    """Return the checks of an exercise, from the worked examples beside the notebook.

    `folder` holds `exercise.toml` and `examples.json`, directly or in its subfolder `name`. It
    is the working directory by default; where they are not there, those that came with the kit are
    used, and a line says so. Raises `KitError` when the files are missing.
    """
    here = Path(folder) if folder else Path.cwd()
    places = [place for place in (here, here / name) if (place / MANIFEST).is_file()]
    found = next((place for place in places if read_exercise(place).name == name), None)
    if found is None:
        found = _shipped(name) if folder is None else None
        if found is None:
            raise KitError(
                f"the files for {name} are not here",
                place=str(here),
                cure=f"open the notebook in the folder that holds its {MANIFEST} and examples.json",
            )
        say(f"The files of {name} are not in this folder, so those of the kit are used.")
    exercise = read_exercise(found)
    return Check(exercise, read_examples(found), WrittenCode(exercise), kernel_record(exercise))


def _shipped(name: str) -> Path | None:
    """Return the folder of an exercise that came with the kit, None where there is none."""
    try:
        return find_exercise(name, shipped()).folder
    except KitError:
        return None

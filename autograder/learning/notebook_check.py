"""Checks a step from a cell of the learner's own notebook."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from textwrap import wrap
from types import FrameType
from typing import Any

from autograder.errors import KitError
from autograder.judging.asking import ask_examples, public_checks
from autograder.judging.examples import Example, done_by, mistake_words_of, read_examples
from autograder.judging.inprocess import InProcess, report, undisturbed
from autograder.judging.time_limit import StillRunning, still_running
from autograder.judging.time_limit import limited as limited_guest
from autograder.judging.value_words import with_article
from autograder.learning.card import Card, display, filled, say, shell
from autograder.learning.notebook_code import CellLog, WrittenCode, names_beside
from autograder.learning.progress import Progress, noted, read_progress
from autograder.learning.step_lesson import finish_of
from autograder.learning.workspace import MARK, beyond_a_step, has_say
from autograder.reports.finding import (
    FindingText,
    Finish,
    StepText,
    finish_body,
    html,
    needed_steps,
)
from autograder.reports.picture import Picture, picture_of
from autograder.tracing.home import LayerBlame
from autograder.values.exercise import (
    EXAMPLES,
    MANIFEST,
    Exercise,
    Step,
    find_exercise,
    read_exercise,
)
from autograder.values.request import Failed, Reply, Request, Respondent, Watched
from autograder.values.symbols import BY_LAYER
from autograder.values.this_machine import shipped
from autograder.values.verdict import Finding, Outcome, StepVerdict, told_once
from autograder.worker.call import StandIn

# A time limit on the learner's code in the learner's own kernel, which has to live on.
#
# An endless loop would keep the kernel busy without a word. It is interrupted as the Interrupt
# button does it. Code that catches even that cannot be stopped from inside: then a sentence says
# what to do.

BUSY = (
    "Your code is still running, and catches every attempt to stop it. In JupyterLab: Kernel, "
    "Restart Kernel. A bare `except:` inside of a loop does that."
)


class InTime:
    """A respondent whose answers have `seconds` each; code that was stopped is not asked again."""

    def __init__(self, respondent: InProcess, step: str, seconds: float) -> None:
        self._respondent, self._step, self._seconds = respondent, step, seconds
        self._stopped: Failed | None = None

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request`; code that is still running then is stopped."""
        return self.watch(request, (), {}).reply

    def watch(
        self, request: Request, steps: Collection[str], stand_ins: Mapping[int, StandIn]
    ) -> Watched:
        """Answer `request` in time, with the calls of `steps`; see `Watchable`."""
        if self._stopped:
            return Watched(self._stopped)
        try:
            with limited(self._seconds):
                return self._respondent.watch(request, steps, stand_ins)
        except StillRunning as error:
            seen = report(error)
            finding = still_running(self._step, error.seconds, (seen.line, seen.code, ""))
            self._stopped = Failed(Outcome.TIMED_OUT, finding.fact, look=finding.look)
            return Watched(self._stopped)


def limited(seconds: float) -> AbstractContextManager[None]:
    """Raise `StillRunning` in the body after `seconds` of processor time, in the main thread."""
    return limited_guest(seconds, _tell)


def _tell(frame: FrameType, seconds: float) -> None:
    print(BUSY, file=sys.stderr, flush=True)


# `check(softmax)` asks the worked examples, and shows what passed and the one thing to look at
# next. It raises when something is wrong, so that nbgrader's Validate button says the same. It
# runs no hidden grader, and says so to who hands in.
#
# A person sees a card and one line under it. A run that nobody watches (Validate, nbclient, a
# terminal) keeps only the error, so there the error has the full text.

# Which step a learner means with the value that they give to `check`.
#
# A step is what its name stands for in the kernel, also where it was made by another function, as
# a lambda or a decorated function is. What cannot be a step is told by what it is.


def called_step(value: Any, exercise: Exercise, log: CellLog) -> str:
    """Return the name of the step that `value` is; raise `KitError` when it is none."""
    names = vars(sys.modules["__main__"])
    known = [step.name for step in exercise.steps]
    here = [name for name in known if names.get(name) is value]
    asked = [name for name in here if re.search(rf"\b{re.escape(name)}\b", log.running.text)]
    own = getattr(value, "__name__", "")
    name = (asked or here or [own])[0]
    if len(asked) > 1 and own in asked:
        name = own
    if name in here and not _may_be(value, name):
        raise _overwritten(value, name, log)
    if name in known and _may_be(value, name):
        return name
    raise _no_step(value, exercise)


def _may_be(value: Any, name: str) -> bool:
    return isinstance(value, type) if name[:1].isupper() else callable(value)


def _overwritten(value: Any, name: str, log: CellLog) -> KitError:
    cell = log.set_by.get(name)
    return KitError(
        f"`{name}` is now {_value_words(value)}: a cell has overwritten it",
        place=cell.place if cell else f"a cell that sets `{name}`",
        cure=f"call that result something else, run the cell of `{name}` again, "
        f"and then check({name})",
    )


def _no_step(value: Any, exercise: Exercise) -> KitError:
    first = exercise.steps[0].name
    known = [step.name for step in exercise.steps]
    made = type(value).__name__
    if isinstance(value, str) and value in known:
        fact = f"{value!r} in quotes is only the name of the step"
        cure = f"leave out the quotes: check({value})"
    elif made in known:
        fact = f"an object of the class `{made}` is not the step, the class is"
        cure = f"give it the class itself: check({made})"
    elif callable(value):
        name = getattr(value, "__name__", None)
        what = f"`{name}`" if name else _value_words(value)
        fact = f"{what} is not a step of {exercise.name}"
        cure = f"keep the names that the notebook gives to the steps, as in check({first})"
    else:
        fact = f"{_value_words(value)} is not a step"
        cure = f"give it the function or class itself, as in check({first}), and not a result"
    return KitError(fact, place="check(...)", cure=cure)


def _value_words(value: Any) -> str:
    if callable(value):
        return f"an object of type {type(value).__name__}"
    if not hasattr(value, "shape"):
        return f"a value of type {type(value).__name__}"
    noun = "array" if type(value).__module__ == "numpy" else "tensor"
    return f"{with_article(noun)} of shape {tuple(value.shape)}"


# What the checks have found since this kernel was started: it knows nothing of other days.


@dataclass
class KernelRecord:
    """What the checks of a kernel have found, which is in no file."""

    progress: Progress = field(default_factory=lambda: Progress(Path(), {}))

    def note(self, exercise: Exercise, verdict: StepVerdict, does: Iterable[str] = ()) -> None:
        """Note a check of one step, in the workspace around the exercise, too.

        `does` are the steps whose work it does if it passes, since it is a layer. It never raises
        for the sake of a disk: what cannot be written is said once.
        """
        name, passes, moment = exercise.name, verdict.passes, time.time()

        def after(now: Progress, *, counts: bool = True) -> Progress:
            now = now.with_current(name).with_verdict(name, verdict, counts=counts)
            return now.with_layer(name, does, passes=passes).with_check_at(name, moment)

        self.progress = after(self.progress)
        if root := _workspace_around(exercise):
            counts = passes or has_say(exercise, exercise.folder.resolve() / f"{name}.ipynb")
            noted(read_progress(root, _say), lambda now: after(now, counts=counts), _say)


_records: dict[tuple[str, Path], KernelRecord] = {}


def kernel_record(exercise: Exercise) -> KernelRecord:
    """Return the record of an exercise: in a kernel, the one that its cells have begun, if any.

    So it is not lost when the cell that opens the exercise runs again.
    """
    if not shell():
        return KernelRecord()
    return _records.setdefault((exercise.name, exercise.folder.resolve()), KernelRecord())


# The closing words of an exercise under the last cell of its notebook.
#
# They earn no points, so nothing is raised. A kernel knows only what it has checked since it
# started, and they say so.

UNKNOWN = (
    "Only what was checked since this kernel started is known: no earlier day, no check in a "
    "terminal, and no hint that you unfolded."
)


def waiting_words(left: Sequence[str]) -> str:
    """Return which checks are left, in words."""
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
    return filled(filter(None, parts))


# A check in a notebook is noted where `attn` keeps a learner's progress, if there is such a
# place.
#
# Only `attn` makes that place, so nothing is written for a course or by its graders. It does not
# matter who runs the cell: a person in JupyterLab, or a command that executes the whole notebook.


def known_by_layer(exercise: Exercise, step: str) -> bool:
    """Whether a step is open, and the layer did its work when it was last checked."""
    root = _workspace_around(exercise)
    return root is not None and read_progress(root, _say).step(exercise.name, step).by_layer


def _workspace_around(exercise: Exercise) -> Path | None:
    folder = exercise.folder.resolve()
    return next((each for each in (folder.parent, folder) if (each / MARK).is_dir()), None)


@cache
def _say(sentence: str) -> None:
    say(sentence)  # the same once


# The answer to a check in a notebook: the verdict on the step, and a picture.
#
# The notebook, the terminal and nbgrader's Validate say the same about the same code. There is
# one place that asks the examples, and one that puts findings into words.

DONE_BY_LAYER = "not written, but your layer did its work when it was last checked."


@dataclass(frozen=True)
class StepReport:
    """The verdict on one step by its public checks, and a picture of its result.

    of: how many public checks there are; some are asked only once the others pass. remarks:
    sentences about the code that was checked, and about who else checks it.
    """

    step: Step
    verdict: StepVerdict
    picture: Picture
    of: int
    remarks: tuple[str, ...] = ()

    def by_layer(self) -> StepReport:
        """Return the report on a step that is not written, but whose work the layer does."""
        checks = self.verdict.checks
        return replace(self, verdict=StepVerdict.of(self.step, checks, by_layer=True))

    @property
    def card(self) -> Card:
        """The whole report as a person reads it; the cell below asks the lesson's question."""
        if self.verdict.by_layer:
            headline = f"{self.step.name}: {DONE_BY_LAYER}"
            return Card(headline, StepText(BY_LAYER, (), FindingText()))
        hints = () if self.verdict.passes else self.step.hints
        card = Card.of(self.verdict, self.of, self.picture, self.remarks)
        return replace(card, hints=hints, similar=self.step.similar)

    def lines(self) -> tuple[str, ...]:
        """The report as lines of plain text."""
        return self.card.lines()

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return self.card.html()

    def _ipython_display_(self) -> None:
        # Displayed, not returned as the cell's result: nbgrader reads a result as points, and
        # warns about each one that is not a number.
        display(repr(self), self._repr_html_())


def report_on(
    step: Step,
    examples: Sequence[Example],
    respondent: Respondent,
    blame: LayerBlame | None = None,
) -> StepReport:
    """Ask a learner's code the worked examples of one step, and report the answers.

    `blame` says more about a layer that is wrong.
    """
    answered = ask_examples(step, examples, respondent, blame.told if blame else tuple)
    of = public_checks(step.name, examples)
    verdict = replace(answered.verdict, checks=told_once(answered.verdict.checks))
    return StepReport(step, verdict, picture_of(answered.asked), of)


# The known mistakes that checks have found since this kernel was started.

_met: dict[str, None] = {}


def note_mistake(finding: Finding | None) -> None:
    """Note the mistake that a finding names, if it names one."""
    if finding and finding.misconception:
        _met[finding.misconception] = None


def met_mistakes() -> tuple[str, ...]:
    """Return their names, in the order in which they were met."""
    return tuple(_met)


SAME_CODE = (
    "The cell of `{}` has not run since the last check. If you have changed it, run it first."
)
AGAIN = "Change your code, run its cell, and then run this cell again."
WIDTH = 96  # characters: a little less than a line in Validate's dialog


def _watched() -> bool:
    """Whether a person runs this cell; only then does the kernel's client accept input."""
    kernel = getattr(shell(), "kernel", None)
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
        self.record.note(self.exercise, report.verdict, done_by(name, self.examples))
        if not passes:
            note_mistake(finding)
            report = replace(report, verdict=self.code.told(name, step, report.verdict))
            if _watched():
                report._ipython_display_()
            raise NotRightYet(report)
        return report

    def _blame_beside(self, step: Any) -> LayerBlame:
        """Return who looks for what makes a layer wrong, among the steps of the same notebook."""
        beside = names_beside(step)
        return LayerBlame(
            beside, self.exercise.library, self.examples, lambda each: self._asked_of(each, beside)
        )

    def _asked_of(self, name: str, names: Mapping[str, Any]) -> InTime:
        """Return who answers for the step `name`, as these names define it."""
        code = InProcess(names, self.exercise.library)
        return InTime(code, name, self.exercise.limits.seconds_per_call)

    def finish(self) -> None:
        """Show the closing words of the exercise, or which checks are left; never raise."""
        progress = self.record.progress
        passed = progress.passed(self.exercise)
        left = [step.name for step in needed_steps(self.exercise) if step.name not in passed]
        if left:
            say(waiting_words(left))
            return
        words = mistake_words_of(self.examples)
        show_finish(finish_of(self.exercise, progress, words, UNKNOWN, counts_help=False))

    def __repr__(self) -> str:
        call = f"check({self.exercise.steps[0].name})"
        return f"checks for {self.exercise.name}: call {call} with your own function"


def open_exercise(name: str, folder: Path | str | None = None) -> Check:
    """Return the checks of an exercise, from the worked examples beside the notebook.

    `folder` holds `exercise.toml` and `examples.xz`, directly or in its subfolder `name`. It
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
                cure=f"open the notebook in the folder that holds its {MANIFEST} and {EXAMPLES}",
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

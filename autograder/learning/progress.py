"""How far a learner is: one small, readable file in the workspace.

It must survive upgrades and accidents. Entries that this version does not know are kept. A file
that cannot be read is set aside, and the learner is told. Writing replaces the whole file at once.
A watch and a notebook may write it in turn, so a change is made to what is in the file by then.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.learning.results import Checkup
from autograder.learning.workspace import (
    MARK,
    Task,
    Workspace,
    find_workspace,
    has_say,
    which_counts,
)
from autograder.values.exercise import Exercise, Step
from autograder.values.files import read_small, replace_file
from autograder.values.symbols import WorkTime, read_work_time
from autograder.values.verdict import Outcome, StepVerdict

FILE = "progress.json"
VERSION = 1
MOST_BYTES = 1_000_000  # a step needs about 100
REVIEW_DAYS = (1, 7, 30)  # after a step passed, after its first review, after its second
MOST_MISTAKES = 20  # of a step: the last ones


@dataclass(frozen=True)
class StepProgress:
    """The progress in one step: whether it last passed, hints asked for, solution shown.

    outcome: how its last check ended, such as "wrong_values", "" before the first.
    hints: the highest hint that was asked for. seen_hints: the highest one that a check
    has shown, or that was asked for when the step had passed.
    mistakes: the names of the known mistakes that checks found in it, in the order of their coming.
    by_layer: whether it `passed` unwritten, because a layer that passed does its work.
    reviews: how many reviews it passed. review_on: the day of the next one, such as 2026-11-24, ""
    for none. review_begun: the day on which its review file was made last.
    """

    passed: bool = False
    hints: int = 0
    solution: bool = False
    mistakes: tuple[str, ...] = ()
    reviews: int = 0
    review_on: str = ""
    review_begun: str = ""
    seen_hints: int = 0
    outcome: str = ""
    by_layer: bool = False

    def with_stub(self) -> StepProgress:
        """Return the progress after the stub was put back."""
        return replace(self, passed=False, outcome="", by_layer=False)

    def with_outcome(self, outcome: Outcome, *, counts: bool) -> StepProgress:
        """Return the progress after a check of the file that `counts`, or of another.

        In another file, what is not written says nothing, and what fails takes no pass away.
        """
        passes = outcome is Outcome.PASSED
        if not counts and not passes and (self.passed or outcome is Outcome.NOT_WRITTEN):
            return self
        return replace(self, passed=passes, outcome=outcome.value, by_layer=False)

    def with_layer(self, *, passes: bool) -> StepProgress:
        """Return the progress after a check of a layer that does the work of this step.

        Who has written the step, or met it, goes on with what its own check says.
        """
        if not passes:
            return self.with_stub() if self.by_layer else self
        unwritten = self.outcome in ("", Outcome.NOT_WRITTEN.value)
        return replace(self, passed=True, by_layer=True) if unwritten and not self.passed else self

    def with_mistake(self, name: str | None) -> StepProgress:
        """Return the progress after a check that found the mistake `name`, or none by name."""
        if not name or name in self.mistakes:
            return self
        return replace(self, mistakes=(*self.mistakes, name)[-MOST_MISTAKES:])


def scheduled(known: StepProgress, today: date) -> StepProgress:
    """Return the progress with a day for the first review, once the step passes."""
    if not known.passed or known.by_layer or known.review_on or known.reviews:
        return known
    return replace(known, review_on=_after(today, REVIEW_DAYS[0]))


def reviewed(known: StepProgress, today: date, *, passed: bool) -> StepProgress:
    """Return the progress after a review: the next comes later, or the next day if it failed.

    Who failed and corrects it on the same day has still failed.
    """
    if not passed:
        return replace(known, reviews=0, review_on=_after(today, REVIEW_DAYS[0]))
    if known.review_on > today.isoformat():
        return known
    done = known.reviews + 1
    days = REVIEW_DAYS[done : done + 1]
    return replace(known, reviews=done, review_on=_after(today, days[0]) if days else "")


def _after(today: date, days: int) -> str:
    return (today + timedelta(days)).isoformat()


@dataclass(frozen=True)
class Progress:
    """The progress in a workspace; changes return a new object, and `noted` writes it.

    text: what was in the file when it was read or written last.
    """

    file: Path
    facts: Mapping[str, Any]
    text: bytes = b""

    @property
    def current(self) -> str:
        """The name of the exercise worked on last, or ""."""
        name = self.facts.get("current")
        return name if isinstance(name, str) else ""

    def step(self, exercise: str, step: str) -> StepProgress:
        """Return the progress in a step."""
        facts = _inner(self.facts, "exercises", exercise, step)
        return StepProgress(
            facts.get("passed") is True,
            _count(facts.get("hints")),
            facts.get("solution") is True,
            _names(facts.get("mistakes")),
            _count(facts.get("reviews")),
            _day(facts.get("review_on")),
            _day(facts.get("review_begun")),
            _count(facts.get("seen_hints")),
            _outcome(facts.get("outcome")),
            facts.get("by_layer") is True,
        )

    def with_step(self, exercise: str, step: str, known: StepProgress) -> Progress:
        """Return the progress with one step changed."""
        facts = copy.deepcopy(dict(self.facts))
        inner = facts
        for name in ("exercises", exercise, step):
            if not isinstance(inner.get(name), dict):
                inner[name] = {}
            inner = inner[name]
        inner.update(asdict(known))
        return replace(self, facts=facts)

    def with_current(self, exercise: str) -> Progress:
        """Return the progress with `exercise` as the one worked on last."""
        return replace(self, facts={**self.facts, "current": exercise})

    def with_checkup(self, checkup: Checkup) -> Progress:
        """Return the progress after a check."""
        name = checkup.exercise.name
        progress = self.with_current(name)
        counts = checkup.passes or has_say(checkup.exercise, checkup.file)
        for run in checkup.steps:
            progress = progress.with_verdict(name, run.verdict, counts=counts)
        return progress.with_layer(name, (does for run in checkup.steps for does in run.does))

    def with_layer(self, exercise: str, steps: Iterable[str], *, passes: bool = True) -> Progress:
        """Return the progress after a check of a layer that does the work of these steps."""
        progress = self
        for name in steps:
            known = progress.step(exercise, name).with_layer(passes=passes)
            progress = progress.with_step(exercise, name, known)
        return progress

    def with_verdict(self, exercise: str, verdict: StepVerdict, *, counts: bool) -> Progress:
        """Return the progress after a check of one step, in the file that `counts` or another."""
        finding = verdict.finding
        now = self.step(exercise, verdict.name).with_outcome(verdict.outcome, counts=counts)
        now = now.with_mistake(finding.misconception if finding else None)
        now = now.with_layer(passes=True) if verdict.by_layer else now
        return self.with_step(exercise, verdict.name, scheduled(now, date.today()))

    def work_time(self, exercise: str) -> WorkTime:
        """Return how long an exercise was worked on, as far as its checks tell."""
        return read_work_time(_inner(self.facts, "work_time", exercise))

    def with_check_at(self, exercise: str, now: float) -> Progress:
        """Return the progress with the time of one more check."""
        after = asdict(self.work_time(exercise).after_check(now))
        times = {**_inner(self.facts, "work_time"), exercise: after}
        return replace(self, facts={**self.facts, "work_time": times})

    def mistakes(self, exercise: Exercise) -> tuple[str, ...]:
        """Return the names of the known mistakes that were met, step by step."""
        steps = (self.step(exercise.name, step.name) for step in exercise.steps)
        return tuple(name for step in steps for name in step.mistakes)

    def passed(self, exercise: Exercise) -> tuple[str, ...]:
        """Return the names of the steps that were done when last checked, in order."""
        return tuple(
            step.name for step in exercise.steps if self.step(exercise.name, step.name).passed
        )

    def to_review(self, exercise: Exercise, today: date) -> tuple[Step, ...]:
        """Return the steps of an exercise whose review has come."""
        known = {step: self.step(exercise.name, step.name) for step in exercise.steps}
        day = today.isoformat()
        return tuple(
            step for step, each in known.items() if each.passed and "" < each.review_on <= day
        )

    def points(self, exercise: Exercise) -> float:
        """Return the points of the steps that passed when last checked."""
        passed = self.passed(exercise)
        return sum(step.points for step in exercise.steps if step.name in passed)

    def save(self) -> Progress:
        """Write the file, and return the progress as written; raises `OSError`."""
        self.file.parent.mkdir(exist_ok=True)
        ignore = self.file.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        text = json.dumps({"version": VERSION, **self.facts}, indent=2, ensure_ascii=False) + "\n"
        written = text.encode("utf-8", "backslashreplace")
        replace_file(self.file, written)
        return replace(self, text=written)


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _day(value: Any) -> str:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        return ""


def _outcome(value: Any) -> str:
    return value if isinstance(value, str) and value in list(Outcome) else ""


def _names(listed: Any) -> tuple[str, ...]:
    found = listed if isinstance(listed, list | tuple) else []
    return tuple(name for name in found if isinstance(name, str))


def _inner(facts: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        inner = facts.get(name)
        facts = inner if isinstance(inner, dict) else {}
    return facts


def read_progress(root: Path, tell: Callable[[str], None]) -> Progress:
    """Read a workspace's progress; set an unreadable file aside, and pass `tell` a sentence."""
    file, text = root / MARK / FILE, b""
    try:
        text = read_small(file, MOST_BYTES)
        facts = json.loads(text.decode("utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("it holds no JSON object")
    except FileNotFoundError:
        facts = {}
    except OSError as error:
        tell(f"The record of your progress could not be opened: {error.strerror} ({file}).")
        facts = {}
    except (ValueError, RecursionError, KitError) as error:
        aside = _set_aside(file)
        why = error.fact if isinstance(error, KitError) else error
        tell(
            f"The record of your progress could not be read ({why}). It is kept as {aside}, "
            "and a new record begins. Your code is untouched."
        )
        facts, text = {}, b""
    return Progress(file, facts, text)


def _set_aside(file: Path) -> Path:
    number = 1
    while os.path.lexists(aside := file.with_name(f"{file.name}.unreadable-{number}")):
        number += 1
    os.replace(file, aside)
    return aside


def noted(
    progress: Progress, change: Callable[[Progress], Progress], tell: Callable[[str], None]
) -> Progress:
    """Make a change to the progress as it is in the file by now, write it, and return it.

    If writing fails, only say so, because the check has its answer anyway.
    """
    with _alone(progress.file.parent):
        found = read_progress(progress.file.parent.parent, tell)
        before = found if found.text not in (b"", progress.text) else progress
        after = change(before)
        try:
            return after.save() if after.facts != before.facts else after
        except OSError as error:
            tell(f"Your progress could not be saved in {progress.file.parent}: {error.strerror}.")
            return after


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from writing meanwhile, where the system can; else go on."""
    with ExitStack() as stack:
        if sys.platform.startswith(("linux", "darwin")) and folder.is_dir():
            import fcntl

            with suppress(OSError):  # a disk that is read-only, or knows no locks
                file = stack.enter_context((folder / "progress.lock").open("w"))
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


# What every learner's command begins with: the workspace, the progress, the named task.

Say = Callable[[str], None]


@dataclass(frozen=True)
class LearnerSession:
    """A workspace and the learner's progress in it; `say` shows the learner a sentence."""

    workspace: Workspace
    progress: Progress
    say: Say

    @property
    def current(self) -> Exercise:
        """The exercise of the current folder, or the one worked on last, or the first."""
        last = [each for each in self.workspace.exercises if each.name == self.progress.current]
        return self.workspace.here or (last or self.workspace.exercises)[0]

    def task(self, words: str | None) -> Task:
        """Parse EXERCISE, EXERCISE.STEP, STEP or nothing; raise `KitError`."""
        return self.workspace.task(words, self.current)

    def step(self, words: str | None) -> tuple[Exercise, Step]:
        """Parse the name of a step; without a step's name, return the open step.

        Raise `KitError` for an unknown name.
        """
        task = self._without_file(self.task(words), "a step")
        return task.exercise, task.step or self.open_step(task.exercise)

    def exercise(self, words: str | None) -> Exercise:
        """Parse the name of an exercise, or of a step in it; raise `KitError` for another name."""
        steps = {step.name for each in self.workspace.exercises for step in each.steps}
        if words and words.isidentifier() and words not in steps:
            return self.workspace.exercise(words)
        return self._without_file(self.task(words), "an exercise").exercise

    def _without_file(self, task: Task, about: str) -> Task:
        if task.file is None:
            return task
        raise KitError(
            f"{task.file.name} is a file, and this command is about {about}",
            place=str(task.exercise.folder),
            cure="attn list shows the names. Only attn reset and a plain attn check take a file",
        )

    def open_step(self, exercise: Exercise) -> Step:
        """Return the first step that did not pass when last checked, or else the last step."""
        passed = self.progress.passed(exercise)
        left = [step for step in exercise.steps if step.name not in passed]
        return (left or exercise.steps[-1:])[0]

    def name_of(self, exercise: Exercise, step: Step) -> str:
        """Return what a command calls a step: its name, behind that of its exercise if needed.

        A command about a step of another exercise than the current one has to say of which.
        """
        steps = [each.name for exercise in self.workspace.exercises for each in exercise.steps]
        alone = exercise.name == self.current.name or steps.count(step.name) == 1
        return step.name if alone else f"{exercise.name}.{step.name}"

    def known(self, exercise: Exercise, step: Step) -> StepProgress:
        """Return the progress in a step."""
        return self.progress.step(exercise.name, step.name)

    def noted(self, exercise: Exercise, step: Step, known: StepProgress) -> LearnerSession:
        """Save what has changed in the progress in a step, and leave the rest as it is by now."""
        names = (exercise.name, step.name)
        before, after = vars(self.known(exercise, step)), vars(known)
        changed = {field: after[field] for field in after if after[field] != before[field]}
        return self._noted(lambda now: now.with_step(*names, replace(now.step(*names), **changed)))

    def with_words_on_saving(self, checkup: Checkup) -> Checkup:
        """Return the answer to a check, with a remark where its notebook has less than had passed.

        In JupyterLab, steps are checked as they are on the screen, which may not be saved yet.
        """
        runs = [run for run in checkup.steps if not run.verdict.is_done]
        unwritten = [run.step for run in runs if run.verdict.never_written]
        gone = [each.name for each in unwritten if self.known(checkup.exercise, each).passed]
        if checkup.file.suffix != ".ipynb" or not gone or which_counts(checkup.exercise):
            return checkup
        saved = time.strftime("%H:%M", time.localtime(checkup.file.stat().st_mtime))
        steps = "a step that has" if len(gone) == 1 else f"{len(gone)} steps that have"
        words = (
            f"This is {checkup.file.name} as it was saved at {saved}, and {steps} passed before "
            f"{'is' if len(gone) == 1 else 'are'} not written in it. If you see your code in "
            "JupyterLab, save the notebook there and check again."
        )
        return replace(checkup, remarks=(*checkup.remarks, words))

    def checked(self, checkup: Checkup) -> LearnerSession:
        """Save what a check found, and when."""
        name = checkup.exercise.name
        return self._noted(lambda now: now.with_checkup(checkup).with_check_at(name, time.time()))

    def passed(self, checkup: Checkup) -> LearnerSession:
        """Save which steps pass; this is no check on the way, so no time is noted."""
        return self._noted(lambda now: now.with_checkup(checkup))

    def opened(self, exercise: Exercise) -> LearnerSession:
        """Save which exercise is worked on."""
        return self._noted(lambda now: now.with_current(exercise.name))

    def next_exercise(self, after: Exercise) -> Exercise | None:
        """Return the first other exercise with an open step, searching from `after` on, or None.

        An optional one comes when nothing else is open.
        """
        every = self.workspace.exercises
        start = [each.name for each in every].index(after.name)
        others = (*every[start + 1 :], *every[:start])
        for each in sorted(others, key=lambda exercise: exercise.optional):
            if len(self.progress.passed(each)) < len(each.steps):
                return each
        return None

    def _noted(self, change: Callable[[Progress], Progress]) -> LearnerSession:
        return replace(self, progress=noted(self.progress, change, self.say))


def open_session(folder: Path, say: Say) -> LearnerSession:
    """Find the workspace around `folder`, read its progress; raise `KitError` if there is none."""
    workspace = find_workspace(folder)
    return LearnerSession(workspace, read_progress(workspace.root, say), say)

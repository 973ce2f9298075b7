"""Checks a learner's file: hands it to a child, and starts another if the child ends too early.

If a step hangs or ends Python, only that step fails: a new child is asked the rest.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from autograder.judging import time_limit
from autograder.judging.time_limit import GRACE, WALL
from autograder.learning import results
from autograder.learning.results import CheckRun, Checkup, StepRun, parameters_handed_out
from autograder.learning.workspace import read_work
from autograder.submission.cells import names_anywhere, parsed
from autograder.submission.missing_import import (
    bound_names,
    missing_imports,
    packages_of,
    remarks_on_absent,
    remarks_on_imports,
    without_absent,
)
from autograder.submission.reading import Submission
from autograder.submission.slip import Slip, by_parameter_name, explained
from autograder.submission.slips import slips_in
from autograder.values.exercise import Exercise, Step
from autograder.values.symbols import not_there
from autograder.values.this_machine import handed_out
from autograder.values.value_file import read_as
from autograder.values.verdict import CheckVerdict, Finding, Outcome

if TYPE_CHECKING:
    from autograder.learning.process import Stop

LOADING = 0.5  # the top level's share of a submission's seconds
WHOLE = 3.0  # the limit for everything, as a multiple of a submission's seconds
MARGIN = 2.0  # seconds after the child's own limit before the parent ends it
DRAWING = "matplotlib"  # a picture beside the steps costs nothing, and is left out in class
LAST = ("done", "stuck", "silent", "ended", "raised")  # nothing comes after these
NOT_NEEDED = "No step uses what is set there, so it does not matter for the steps."
Tell = Callable[[str], None]


class JobRunner(Protocol):
    """Does one job after another and tells in messages what it finds: a process, or this one."""

    def wait_until_ready(self, stop: Stop | None = None) -> None:
        """Wait until it can take a job; raise `KitError` if it never will, or `Stopped`."""

    def send(self, job: Mapping[str, Any]) -> None:
        """Give it a job."""

    def receive(self, seconds: float, stop: Stop | None = None) -> dict[str, Any]:
        """Wait for a message; after `seconds` without one, return a `silent` one."""

    def end(self) -> None:
        """End it, and all that it started."""

    def another(self) -> JobRunner:
        """Return one that can take the next job."""


def check_work(
    exercise: Exercise,
    steps: Sequence[Step],
    *,
    child: JobRunner,
    file: Path | None = None,
    tell: Tell = lambda what: None,
    stop: Stop | None = None,
) -> Checkup:
    """Check the learner's `file`, by default the one that counts in the exercise's folder.

    `child` was started for it, and whoever started it ends it. `tell` is called with a few words
    about what is going on. `stop` stops the check from elsewhere, which raises `Stopped`. Raises
    `KitError` when nothing can be checked.
    """
    return Checking(exercise, read_work(exercise, file), steps, tell, stop).run(child)


@dataclass
class Checking:
    """One check under way, over as many children as it takes.

    names: what each cell is called in tracebacks; by default, the file and the number of the cell.
    """

    exercise: Exercise
    submission: Submission
    steps: Sequence[Step]
    tell: Tell = lambda what: None
    stop: Stop | None = None
    names: tuple[str, ...] = ()
    _skipped: set[int] = field(default_factory=set)
    _blocked: list[str] = field(default_factory=list)
    _done: list[StepRun] = field(default_factory=list)
    _asked: list[CheckRun] = field(default_factory=list)
    _troubles: dict[int, Finding] = field(default_factory=dict)
    _printed: dict[int, str] = field(default_factory=dict)
    # Where the child is: the number of a cell, or the step, the name and the title of a check, and
    # how many public checks that step has.
    _cell: int | None = None
    _check: tuple[str, str, str] | None = None
    _total: int = 0

    def run(self, child: JobRunner) -> Checkup:
        """Ask all steps, beginning with `child`."""
        limits = self.exercise.limits
        most = WHOLE * limits.seconds_per_submission
        self.tell(f"starting Python with {self.exercise.library}")
        child.wait_until_ready(self.stop)
        end = time.monotonic() + most
        while not self._follow(child) and time.monotonic() < end:
            child = child.another()
            child.wait_until_ready(self.stop)
        late = CheckRun(CheckVerdict.of("in_time", "in time", results.not_reached(most)))
        left = self.steps[len(self._done) :]
        return Checkup(
            self.exercise,
            self.submission.path,
            self.submission.cells,
            (
                *(run.beside(self._done) for run in self._done if run.step in self.steps),
                *(StepRun.of(step, (late,)) for step in left),
            ),
            (*self.submission.remarks, *self._said),
            tuple(self._troubles[number] for number in sorted(self._troubles)),
            "".join(self._printed[number] for number in sorted(self._printed)),
        )

    def _follow(self, child: JobRunner) -> bool:
        """Give the child the rest of the work; return whether it finished."""
        self._cell = self._check = None
        child.send(self.job())
        try:
            while True:
                message = child.receive(WALL * self._seconds + GRACE + MARGIN, self.stop)
                self._take(message)
                if message["event"] in LAST:
                    return bool(message["event"] == "done")
        finally:
            child.end()

    @property
    def _seconds(self) -> float:
        """How many seconds the child may take for what it is doing."""
        limits = self.exercise.limits
        return limits.seconds_per_call if self._check else LOADING * limits.seconds_per_submission

    def job(self) -> dict[str, Any]:
        """What a child is told to do: to load the file, and to ask the steps that are left."""
        limits = self.exercise.limits
        return {
            "library": self.exercise.library,
            "file": str(self.submission.path.resolve()),
            "cells": self._kept[0],
            "names": self.names,
            "imports": self._imports,
            "given": parameters_handed_out(self._given),
            "packages": self._packages,
            "skipped": sorted(self._skipped),
            "blocked": self._blocked,
            "steps": [step.name for step in self.steps[len(self._done) :]],
            "beside": [step.name for step in self.exercise.steps if step not in self.steps],
            "seconds": limits.seconds_per_call,
            "loading_seconds": LOADING * limits.seconds_per_submission,
            "megabytes": limits.memory_megabytes,
            "kilobytes": limits.output_kilobytes,
        }

    @cached_property
    def _given(self) -> str:
        return handed_out(self.exercise)

    @cached_property
    def _kept(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The learner's code as it is judged in class, and remarks on what is left out there."""
        return without_absent(self.submission.cells, self.exercise.library, self._given)

    @cached_property
    def _imports(self) -> tuple[str, ...]:
        """The lines of import that the learner's code lacks."""
        return missing_imports(self._kept[0], self.exercise.library, self._given)

    @property
    def _packages(self) -> tuple[str, ...]:
        """What the learner's code may import: as in class, and their own files and pictures."""
        own = tuple(file.stem for file in self.exercise.folder.iterdir())
        return (*packages_of(self.exercise.library, self._given), *own, DRAWING)

    @cached_property
    def _slips(self) -> Mapping[str, list[Slip]]:
        return slips_in(self.submission, self.exercise, self._given)

    @property
    def _said(self) -> tuple[str, ...]:
        """The remarks on imports: those put back, and those that are not there in class."""
        cells, left_out = self._kept
        back = remarks_on_imports(self._imports, cells)
        return (*back, *left_out, *remarks_on_absent(cells, self.exercise, self._given))

    def _take(self, message: dict[str, Any]) -> None:
        """Process a message of the child."""
        match message["event"]:
            case "loading":
                self._cell = message["cell"]
                self.tell("loading your file")
            case "loaded":
                assert self._cell is not None
                self._printed[self._cell] = message["printed"]
                if trouble := message["trouble"]:
                    self._note(self._cell, read_as(Finding, trouble))
            case "asking":
                self._check = (message["step"], message["check"], message["title"])
                self._total = message["total"]
                self.tell(f"checking {message['step']}")
            case "blocked":
                self._blocked.append(message["step"])
            case "checked":
                self._asked.append(read_as(CheckRun, message["run"]))
            case "asked":
                verdicts = (read_as(CheckVerdict, each) for each in message["checks"])
                pairs = zip(self._asked, verdicts)
                checks = (replace(run, verdict=verdict) for run, verdict in pairs)
                self._close(message["step"], tuple(checks), message["does"], message["picture"])
            case "charged":
                check = read_as(CheckVerdict, message["check"])
                self._charge(message["step"], CheckRun(check))
            case "stuck":
                self._stuck(message["seconds"], tuple(message["place"]))
            case "silent":
                self._stuck(WALL * self._seconds)
            case "ended" | "raised":
                self._ended(message["how"])

    def _close(
        self,
        name: str,
        checks: tuple[CheckRun, ...],
        does: Iterable[str] = (),
        picture: Mapping[str, Any] | None = None,
    ) -> None:
        wrong = [run.verdict.name for run in self._done if not run.verdict.passes]
        slips: tuple[Slip, ...] = ()
        if any(run.verdict.finding for run in checks):  # of right steps, nobody reads about slips
            slips = (*self._not_loaded_slips(name), *self._slips.get(name, ()))
        told = explained([run.verdict for run in checks], slips, wrong)
        told = by_parameter_name(told, name, self._given)
        checks = tuple(replace(run, verdict=verdict) for run, verdict in zip(checks, told))
        step = self.exercise.step(name)
        self._done.append(StepRun.of(step, checks, self._total, does, picture))
        self._asked, self._total = [], 0

    def _charge(self, name: str, check: CheckRun) -> None:
        """Add a check to a step that is closed: it fails where a layer calls it, as in class."""
        for place, run in enumerate(self._done):
            if run.step.name == name:
                more = StepRun.of(run.step, (*run.checks, check), run.total)
                self._done[place] = more

    def _not_loaded_slips(self, name: str) -> Iterator[Slip]:
        """Say of a step in a cell that was not run to its end why that is so."""
        for number, trouble in self._troubles.items():
            if name in names_anywhere(self.submission.cells[number]):
                seen = re.escape(not_there(name))
                kind = trouble.outcome
                yield Slip((Outcome.NOT_WRITTEN,), seen, trouble.fact, trouble.look, becomes=kind)

    def _stuck(self, seconds: float, place: time_limit.CodePlace = time_limit.NOWHERE) -> None:
        if self._check:
            self._lost(self._check, time_limit.still_running(self._check[0], seconds, place))
        else:
            self._not_loaded(results.top_still_running(seconds, place))

    def _ended(self, how: str) -> None:
        if self._check:
            self._lost(self._check, results.ended_python(self._check[0], how))
        else:
            self._not_loaded(results.top_ended_python(how=how))

    def _lost(self, check: tuple[str, str, str], finding: Finding) -> None:
        """Close a step in which the child ended; it is not called again."""
        step, name, title = check
        self._close(step, (*self._asked, CheckRun(CheckVerdict.of(name, title, finding))))
        self._blocked.append(step)

    def _not_loaded(self, finding: Finding) -> None:
        """Leave out a cell in which the child ended."""
        number = self._cell or 0
        self._skipped.add(number)
        self._note(number, finding)

    def _note(self, number: int, trouble: Finding) -> None:
        """Note why a cell was not run to its end; of others than the step's own, also which it is.

        A notebook's cell that holds a step is known by it, and what a page names, by its name.
        """
        cells, steps = self.submission.cells, self.steps if self.names else self.exercise.steps
        apart = {step.name for step in steps}.isdisjoint(names_anywhere(cells[number]))
        if self.names:
            trouble = replace(trouble, fact=trouble.fact.replace("your file", "your code"))
        if apart and (self.names or self.submission.path.suffix == ".ipynb"):
            fact = re.sub("^(Line|The)", lambda first: first[0].lower(), trouble.fact)
            stays = self.names and trouble.outcome is not Outcome.RAISED  # it would end a file
            unneeded = NOT_NEEDED * (not stays and _is_unused(cells, number))
            look = " ".join(filter(None, (trouble.look, unneeded)))
            trouble = replace(trouble, fact=f"{self._where(number)}: {fact}", look=look)
        self._troubles[number] = trouble

    def _where(self, number: int) -> str:
        if self.names:
            return f"In {self.names[number]}"
        steps = {step.name for step in self.exercise.steps}
        above = [name for cell in self.submission.cells[:number] for name in names_anywhere(cell)]
        last = next((name for name in reversed(above) if name in steps), "")
        return f"In a cell below that of `{last}`" if last else "In a cell above your steps"


def _is_unused(cells: Sequence[str], number: int) -> bool:
    """Whether no other cell names what a cell sets; where one cannot be read, nobody knows."""
    waiting, used = list[CodeType](), set[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in (*cells[:number], *cells[number + 1 :]):
            try:
                waiting.append(compile(cell, "<cell>", "exec", dont_inherit=True))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return False
    while waiting:
        code = waiting.pop()
        used.update(code.co_names)
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
    return parsed(cells[number]) is not None and used.isdisjoint(bound_names(cells[number]))

"""The lines of a step in an order that a learner chose: what their checks find, and in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from autograder.ladder.rungs import PuzzleLine, Rungs
from autograder.learning.runner.checking import Checking, JobRunner
from autograder.learning.runner.results import CheckRun, Checkup, StepRun
from autograder.model.exercise import SOLUTION, Exercise
from autograder.model.verdict import Finding
from autograder.submission.reading import Submission


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
        told = StepRun.of(run.step, tuple(map(self._numbered_check, run.checks)))
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
        chosen = f"You chose {_lines(len(self.chosen))}"
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


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"

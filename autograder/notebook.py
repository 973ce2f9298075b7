"""Checking a step from a cell of the learner's own notebook.

`check(softmax)` asks the worked examples' questions and shows what passed and the one
thing to look at next. It raises when something is wrong, so that nbgrader's Validate
button says the same. It runs no hidden grader, and its words say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from autograder.errors import KitError
from autograder.examples import Example, read_examples
from autograder.exercise import MANIFEST, Exercise, Step, read_exercise
from autograder.inprocess import InProcess
from autograder.request import Respondent
from autograder.verdict import Finding

HIDDEN = "Hidden graders ask the same of other inputs, after you hand in."


@dataclass(frozen=True)
class Checked:
    """The public checks of one step: the title and the finding of each, in order."""

    step: Step
    results: tuple[tuple[str, Finding | None], ...]

    @property
    def passed(self) -> int:
        """How many checks passed."""
        return sum(finding is None for _, finding in self.results)

    @property
    def finding(self) -> Finding | None:
        """The first thing to look at, or None."""
        return next((finding for _, finding in self.results if finding), None)

    @property
    def headline(self) -> str:
        """One line: which step, and how many of its public checks passed."""
        return f"{self.step.name}: {self.passed} of {len(self.results)} public checks pass."

    def lines(self) -> tuple[str, ...]:
        """The result as lines of plain text."""
        marks = tuple(
            f"  {'✗' if finding else '✓'} {title}" for title, finding in self.results
        )
        if self.finding is None:
            return (self.headline, *marks, HIDDEN)
        finding = self.finding
        words = [finding.right, finding.fact, finding.look]
        return (self.headline, *marks, "", *(word for word in words if word))

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<li style='list-style:none'>{'✗' if finding else '✓'} {escape(title)}</li>"
            for title, finding in self.results
        )
        return (
            "<div style='border-left:4px solid #2e7d32;padding:.2em 1em'>"
            f"<strong>{escape(self.headline)}</strong>"
            f"<ul style='margin:.3em 0;padding:0'>{rows}</ul><small>{escape(HIDDEN)}</small></div>"
        )


class NotRightYet(Exception):
    """A step does not pass its public checks; the text says what to look at."""

    def __init__(self, checked: Checked) -> None:
        super().__init__("\n".join(checked.lines()))
        self.checked = checked

    def _render_traceback_(self) -> list[str]:
        # IPython shows this instead of a traceback through our own code.
        return str(self).splitlines()


def ask_examples(
    step: Step, examples: Sequence[Example], respondent: Respondent
) -> Checked:
    """Ask a learner's code the worked examples of one step."""
    return Checked(
        step,
        tuple(
            (example.title, example.finding(respondent))
            for example in examples
            if example.step == step.name
        ),
    )


@dataclass(frozen=True)
class Check:
    """What a notebook calls: `check(softmax)`, with the function or the class itself."""

    exercise: Exercise
    examples: tuple[Example, ...]

    def __call__(self, step: Any) -> Checked:
        """Check one step; raise `NotRightYet` when something is wrong."""
        name = getattr(step, "__name__", str(step))
        names = [known.name for known in self.exercise.steps]
        if name not in names:
            raise KitError(
                f"{name!r} is not a step of {self.exercise.name}",
                place="check(...)",
                cure=f"give it one of these functions: {', '.join(names)}",
            )
        checked = ask_examples(self.exercise.step(name), self.examples, InProcess({name: step}))
        if checked.finding:
            raise NotRightYet(checked)
        return checked

    def __repr__(self) -> str:
        return f"checks of {self.exercise.name}: call check(softmax), with your function in it"


def open_exercise(name: str, folder: Path | str | None = None) -> Check:
    """Return the checks of an exercise, from the worked examples beside the notebook.

    `folder` is where `exercise.toml` and `examples.json` lie: the working directory by
    default, or its subfolder `name`. Raises `KitError` when they are not there.
    """
    here = Path(folder) if folder else Path.cwd()
    places = [place for place in (here, here / name) if (place / MANIFEST).is_file()]
    found = next((place for place in places if read_exercise(place).name == name), None)
    if found is None:
        raise KitError(
            f"the files of {name} are not here",
            place=str(here),
            cure=f"open the notebook in the folder that holds its {MANIFEST} and examples.json",
        )
    return Check(read_exercise(found), read_examples(found))

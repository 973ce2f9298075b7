"""Checking a step from a cell of the learner's own notebook.

`check(softmax)` asks the worked examples' questions and shows what passed and the one
thing to look at next. It raises when something is wrong, so that nbgrader's Validate
button says the same. It runs no hidden grader, and its words say so.

A person sees a card and one line under it; a run that nobody watches (Validate,
nbclient, a terminal) keeps only the error, so there the error holds all the words.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from autograder.diagnosis import reconciled
from autograder.errors import KitError
from autograder.examples import Example, read_examples
from autograder.exercise import MANIFEST, Exercise, Step, read_exercise
from autograder.inprocess import InProcess
from autograder.request import Respondent
from autograder.verdict import Finding, Outcome

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

    @property
    def marked(self) -> tuple[tuple[str, str], ...]:
        """A mark and the title of each check: ✓ right, ✗ wrong, · not written yet."""
        return tuple(
            (_mark(finding), title + (SAME if self._repeats(finding) else ""))
            for title, finding in self.results
        )

    def lines(self) -> tuple[str, ...]:
        """The result as lines of plain text."""
        marks = tuple(f"  {mark} {title}" for mark, title in self.marked)
        if self.finding is None:
            return (self.headline, *marks, HIDDEN)
        return (self.headline, *marks, "", *_words(self.finding), "", self.hint)

    @property
    def hint(self) -> str:
        """The first rung of the step's hints: a question to think about."""
        return f"Hint 1 of {len(self.step.hints)}: {self.step.hints[0]}"

    def _repeats(self, finding: Finding | None) -> bool:
        """Whether one mistake fails this check and an earlier one: its title is no news then."""
        first = self.finding
        if finding is None or first is None or finding is first or _mark(finding) == WAITING:
            return False
        if finding.misconception and finding.misconception == first.misconception:
            return True
        return finding == first or finding.message in first.details

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<li style='{ROW}'>{mark} {_html(title)}</li>" for mark, title in self.marked
        )
        return (
            f"<div style='{CARD};border-left:4px solid {COLORS[_mark(self.finding)]}'>"
            f"<strong>{_html(self.headline)}</strong>"
            f"<ul style='margin:.3em 0;padding:0'>{rows}</ul>{self._html_below()}</div>"
        )

    def _html_below(self) -> str:
        if self.finding is None:
            return f"<small>{_html(HIDDEN)}</small>"
        words = "".join(
            f"<p style='margin:.4em 0'>{_html(word)}</p>" for word in _words(self.finding)
        )
        hints = "".join(
            f"<details><summary>Hint {number} of {len(self.step.hints)}</summary>{_html(hint)}"
            for number, hint in enumerate(self.step.hints, start=1)
        )
        # Each rung lies within the one before it: it unfolds only after that.
        words += hints + "</details>" * len(self.step.hints)
        if not self.finding.details:
            return words
        seen = "<br>".join(_html(detail) for detail in self.finding.details)
        return f"{words}<details><summary>What the check saw</summary>{seen}</details>"

    def _ipython_display_(self) -> None:
        # Displayed, not returned as the cell's result: nbgrader reads a result as a number
        # of points and warns about every one that is none.
        from IPython.display import display

        display({"text/plain": repr(self), "text/html": self._repr_html_()}, raw=True)


# A card of one's own colors would be unreadable in one of the themes: text takes the
# theme's color, and only the bar at the left has one.
WAITING = "·"
COLORS = {
    "✓": "var(--jp-success-color1, #388e3c)",
    "✗": "var(--jp-warn-color1, #e67700)",
    WAITING: "var(--jp-border-color1, #9e9e9e)",
}
CARD = "padding:.1em 0 .1em 1em;max-width:52em"
ROW = "list-style:none;margin:0;padding-left:1.2em;text-indent:-1.2em"
SAME = " (for the same reason)"


def _mark(finding: Finding | None) -> str:
    if finding is None:
        return "✓"
    return WAITING if finding.outcome is Outcome.NOT_WRITTEN else "✗"


def _words(finding: Finding) -> tuple[str, ...]:
    return tuple(word for word in (finding.right, finding.fact, finding.look) if word)


def _html(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _watched() -> bool:
    """Whether a person runs this cell: only then does the kernel's client take input."""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython else None
    asked = kernel.get_parent().get("content", {}) if kernel else {}
    return bool(asked.get("allow_stdin"))


class NotRightYet(Exception):
    """A step does not pass its public checks; the text says what to look at."""

    def __init__(self, checked: Checked) -> None:
        super().__init__("\n".join(checked.lines()))
        self.checked = checked

    def _render_traceback_(self) -> list[str]:
        # IPython shows this instead of a traceback through our own code.
        if not _watched():
            return str(self).splitlines()
        waits = _mark(self.checked.finding) == WAITING
        return [f"{self.checked.step.name}: not {'written' if waits else 'right'} yet"]


class NotebookError(KitError):
    """A `KitError` as a notebook shows it: its three lines, no traceback through our code."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def ask_examples(step: Step, examples: Sequence[Example], respondent: Respondent) -> Checked:
    """Ask a learner's code the worked examples of one step."""
    asked = [example for example in examples if example.step == step.name]
    findings = reconciled([example.finding(respondent) for example in asked])
    return Checked(step, tuple(zip([example.title for example in asked], findings)))


@dataclass(frozen=True)
class Check:
    """What a notebook calls: `check(softmax)`, with the function or the class itself."""

    exercise: Exercise
    examples: tuple[Example, ...]

    def __call__(self, step: Any) -> Checked:
        """Check one step; raise `NotRightYet` when something is wrong."""
        if not callable(step):
            raise NotebookError(
                f"a value of type {type(step).__name__} is not a step",
                place="check(...)",
                cure=f"give it the function or class itself, such as {self._call}",
            )
        name = getattr(step, "__name__", str(step))
        names = [known.name for known in self.exercise.steps]
        if name not in names:
            raise NotebookError(
                f"{name!r} is not a step of {self.exercise.name}",
                place="check(...)",
                cure=f"keep the names that the notebook gives the steps, as in {self._call}",
            )
        respondent = InProcess({name: step}, self.exercise.library)
        with warnings.catch_warnings():
            # The card says what an overflow did. On stderr it would fail nbgrader's
            # Validate, even under an answer that is right.
            warnings.simplefilter("ignore")
            checked = ask_examples(self.exercise.step(name), self.examples, respondent)
        if checked.finding:
            if _watched():
                checked._ipython_display_()
            raise NotRightYet(checked)
        return checked

    @property
    def _call(self) -> str:
        return f"check({self.exercise.steps[0].name})"

    def __repr__(self) -> str:
        return f"checks of {self.exercise.name}: call {self._call}, with your function in it"


def open_exercise(name: str, folder: Path | str | None = None) -> Check:
    """Return the checks of an exercise, from the worked examples beside the notebook.

    `folder` is where `exercise.toml` and `examples.json` lie: the working directory by
    default, or its subfolder `name`. Raises `KitError` when they are not there.
    """
    here = Path(folder) if folder else Path.cwd()
    places = [place for place in (here, here / name) if (place / MANIFEST).is_file()]
    found = next((place for place in places if read_exercise(place).name == name), None)
    if found is None:
        raise NotebookError(
            f"the files of {name} are not here",
            place=str(here),
            cure=f"open the notebook in the folder that holds its {MANIFEST} and examples.json",
        )
    return Check(read_exercise(found), read_examples(found))

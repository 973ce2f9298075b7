"""What is known when an exercise is done, in words: for the terminal, a notebook and a page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from autograder.model.closing import FurtherReading
from autograder.model.exercise import Exercise, Step
from autograder.model.work_time import LONGEST_PAUSE, WorkTime
from autograder.reports.finding import shown

NONE = "–"
_PAUSE = LONGEST_PAUSE // 60


def hints_words(count: int) -> str:
    """Return how many hints were asked for: `1 hint`, `2 hints`."""
    return "1 hint" if count == 1 else f"{count} hints"


@dataclass(frozen=True)
class FinishedStep:
    """A step: its number from 1, and what is known of the way there. Only a bonus may be open.

    hints: the highest that was asked for, 0 also where nobody counts them. mistakes: the words of
    those with a name. question, answer: what is asked of who has written it, or "".
    """

    number: int
    name: str
    title: str
    mistakes: tuple[str, ...]
    hints: int = 0
    solution: bool = False
    open: bool = False
    question: str = ""
    answer: str = ""

    @property
    def help(self) -> str:
        """What help was taken, in words; "" for none."""
        hints = hints_words(self.hints) if self.hints else ""
        parts = (hints, "the solution" * self.solution)
        return " and ".join(part for part in parts if part)

    @property
    def heading(self) -> str:
        """Its number, title and name."""
        return f"{self.number}. {self.title}: `{self.name}`" + (" (still open)" * self.open)


@dataclass(frozen=True)
class Finish:
    """An exercise that is done.

    built: the author's sentences. took: how long it took. unknown: what nobody noted. counts_help:
    whether hints and solutions are noted.
    """

    title: str
    built: str
    steps: tuple[FinishedStep, ...]
    took: tuple[str, ...]
    unknown: tuple[str, ...]
    reading: tuple[FurtherReading, ...]
    counts_help: bool = True

    @property
    def headline(self) -> str:
        """One line: how many steps are done."""
        still_open = sum(step.open for step in self.steps)
        if not still_open:
            return f"{self.title}: all {len(self.steps)} steps are done."
        done = len(self.steps) - still_open
        ratio = f"{done} of {len(self.steps)} steps are done"
        return f"{self.title}: {ratio}, and what is left is a bonus."

    @property
    def met(self) -> str:
        """How many mistakes were met, in one sentence."""
        count = sum(len(step.mistakes) for step in self.steps)
        if not count:
            return "No check named a mistake of yours."
        return f"The checks named {count} {'mistake' if count == 1 else 'mistakes'} on your way:"


def needed_steps(exercise: Exercise) -> tuple[Step, ...]:
    """Return the steps that have to be done: those with points, or all where none has any."""
    return tuple(step for step in exercise.steps if step.points) or exercise.steps


def took_words(exercise: Exercise, time_spent: WorkTime) -> tuple[str, ...]:
    """Return how long an exercise took, as far as its checks tell."""
    if not time_spent.checks:
        return ("When you worked was not noted.",)
    estimate = f"The estimate for this exercise is {exercise.minutes} minutes."
    first, last = _moment(time_spent.first), _moment(time_spent.last)
    if time_spent.checks == 1:
        return (f"One check was noted, on {last}. {estimate}",)
    return (
        f"{time_spent.checks} checks were noted: the first on {first}, the last on {last}.",
        f"Between them you worked for {_minutes(time_spent.seconds)}, where a pause of more than "
        f"{_PAUSE} minutes does not count. {estimate}",
    )


def mistake_lines(
    met: Iterable[Iterable[str]], words: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield for each step, in order, a line about every mistake that was met there first.

    A layer calls the steps, so its checks name their mistakes once more. met: for each step the
    names of mistakes. words: what is said of each.
    """
    told: set[str] = set()
    for names in met:
        new = [name for name in dict.fromkeys(names) if name in words and name not in told]
        told.update(new)
        yield tuple(mistake_line(words[name]) for name in new)


def mistake_line(words: str) -> str:
    """Return the first sentence about a mistake, which is in the present tense."""
    return shown(words.partition("\n")[0])


def _moment(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d, %H:%M", time.localtime(moment))
    except (OverflowError, OSError, ValueError):  # a record that somebody has edited
        return "a moment that cannot be read"


def _minutes(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes} {'minute' if minutes == 1 else 'minutes'}"

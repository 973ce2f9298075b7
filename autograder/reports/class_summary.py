"""Sentences about what a class has in common, for the instructor's next lecture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.model.exercise import Exercise
from autograder.model.sanitize import clean_line
from autograder.model.symbols import count
from autograder.model.verdict import NOT_JUDGED, Outcome, Verdict
from autograder.reports.advice import own_layer, unwritten
from autograder.reports.gradebook_entry import (
    NO_ENTRIES,
    GradebookEntries,
    changes_of,
    points_of,
)
from autograder.reports.mark_distribution import mark_distribution
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.roll import class_roll


def class_summary(
    exercise: Exercise, verdicts: Sequence[Verdict], entries: GradebookEntries = NO_ENTRIES
) -> tuple[str, ...]:
    """Return sentences about the class. Points are the gradebook's, where it has `entries`.

    They give, in this order: the number of students and the median of the points; whose points are
    not the automatic ones; who is not graded; how many wrote a right layer without all of its
    steps; the step that most got wrong, and the one that most did not write; and each misconception
    with its number of students, the most frequent first. Raise `KitError` when a verdict is not
    about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    if not roll:
        return ("No submission is graded yet.",)
    return (
        *_points(roll, entries),
        *_not_judged(roll),
        *whole_layers(roll),
        *(f"{each.words}: {each.step}." for each in most_missed(exercise, roll)),
        *_misconceptions(exercise, roll),
    )


def _points(roll: Sequence[Verdict], entries: GradebookEntries) -> Iterator[str]:
    graded = sum(points_of(verdict, entries) is not None for verdict in roll)
    marks = mark_distribution(roll, entries)
    if marks:
        yield (
            f"{count(graded, 'student')} graded, {marks.full} with full points; the median is "
            f"{marks.median_words} points."
        )
    elif graded:
        yield f"{count(graded, 'student')} graded; the exercise gives no points."
    changed = sum(bool(changes_of(verdict, entries)) for verdict in roll)
    if changed:
        yield f"Other points in the gradebook than the automatic ones: {count(changed, 'student')}."


def _not_judged(roll: Sequence[Verdict]) -> Iterator[str]:
    left = [verdict for verdict in roll if not verdict.graded]
    ours = [verdict for verdict in left if verdict.infrastructure]
    if ours:
        yield f"Not judged: {_names(ours)}. Grade again."
    if unread := [verdict for verdict in left if not verdict.infrastructure]:
        yield f"Not graded, since nothing could be read: {_names(unread)}."


def _names(verdicts: Sequence[Verdict]) -> str:
    names = [clean_line(verdict.student, 40) for verdict in verdicts]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def whole_layers(roll: Sequence[Verdict]) -> Iterator[str]:
    """Yield a sentence about who wrote a right layer without all of its steps, if anybody did."""
    whole = [verdict for verdict in roll if own_layer(verdict) and unwritten(verdict)]
    if whole:
        earned = sum(any(step.by_layer for step in verdict.steps) for verdict in whole)
        part = "" if earned == len(whole) else f"{earned or 'none'} of them "
        yield (
            f"Right as a whole layer, without all of its steps: {count(len(whole), 'student')}, "
            f"{part}with points for what the layer does."
        )


@dataclass(frozen=True)
class MissedStep:
    """The step that most students missed in one way, in `words`: its place from 1, and how many."""

    words: str
    place: int
    name: str
    students: int

    @property
    def step(self) -> str:
        """It in words: "step 4, softmax, by 3 students"."""
        return f"step {self.place}, {self.name}, by {count(self.students, 'student')}"


def most_missed(exercise: Exercise, roll: Sequence[Verdict]) -> Iterator[MissedStep]:
    """Tell apart what was tried and is wrong, and what most have not reached."""
    wrong: Counter[str] = Counter()
    blank: Counter[str] = Counter()
    for verdict in roll:
        for step in verdict.steps:
            if not (step.is_done or step.outcome in NOT_JUDGED):
                (blank if step.outcome is Outcome.NOT_WRITTEN else wrong)[step.name] += 1
    for words, counted in (("Wrong most often", wrong), ("Not written most often", blank)):
        if counted:
            # In a tie, name the earliest step: the later ones may follow from it.
            order = [step.name for step in exercise.steps]
            name = max(order, key=lambda step: counted[step])
            yield MissedStep(words, order.index(name) + 1, name, counted[name])


def _misconceptions(exercise: Exercise, verdicts: Sequence[Verdict]) -> Iterator[str]:
    named = [each for each in misunderstandings(exercise, verdicts) if each.name]
    for each in sorted(named, key=lambda each: (-len(each.students), each.step, each.name)):
        yield f"{each.name} (in {each.step}): {count(len(each.students), 'student')}"

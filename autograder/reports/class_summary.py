"""Sentences about what a class has in common, for the instructor's next lecture."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from autograder.model.exercise import Exercise
from autograder.model.sanitize import clean_line
from autograder.model.symbols import count, number
from autograder.model.verdict import NOT_JUDGED, Outcome, Verdict
from autograder.reports.advice import own_layer, unwritten
from autograder.reports.gradebook_entry import (
    NO_ENTRIES,
    GradebookEntries,
    changes_of,
    max_points_of,
    points_of,
)
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.roll import class_roll


def class_summary(
    exercise: Exercise, verdicts: Sequence[Verdict], entries: GradebookEntries = NO_ENTRIES
) -> tuple[str, ...]:
    """Return `class_facts`, then each misconception with its number of students.

    The most frequent comes first. Raise `KitError` when a verdict is not about this exercise.
    """
    return (*class_facts(exercise, verdicts, entries), *_misconceptions(exercise, verdicts))


def class_facts(
    exercise: Exercise, verdicts: Sequence[Verdict], entries: GradebookEntries = NO_ENTRIES
) -> tuple[str, ...]:
    """Return sentences about the class. Points are the gradebook's, where it has `entries`.

    They give, in this order: the number of students and the median of the points; whose points are
    not the automatic ones; who is not graded; how many wrote a right layer without all of its
    steps; the step that most got wrong, and the one that most did not write. Raise `KitError` when
    a verdict is not about this exercise.
    """
    roll = class_roll(exercise, verdicts)
    if not roll:
        return ("No submission is graded yet.",)
    return (
        *_points(roll, entries),
        *_not_judged(roll),
        *_whole_layers(roll),
        *_missed(exercise, roll),
    )


def _points(roll: Sequence[Verdict], entries: GradebookEntries) -> Iterator[str]:
    graded = [
        (points, max_points_of(verdict, entries))
        for verdict in roll
        if (points := points_of(verdict, entries)) is not None
    ]
    if graded and not any(most for _, most in graded):
        yield f"{count(len(graded), 'student')} graded; the exercise gives no points."
    elif graded:
        full = sum(points >= most for points, most in graded)
        alike = len({most for _, most in graded}) == 1  # else the points are of different sums
        of = f" of {number(graded[0][1])}" if alike else ""
        yield (
            f"{count(len(graded), 'student')} graded, {full} with full points; the median is "
            f"{number(statistics.median(points for points, _ in graded))}{of} points."
        )
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


def _whole_layers(roll: Sequence[Verdict]) -> Iterator[str]:
    whole = [verdict for verdict in roll if own_layer(verdict) and unwritten(verdict)]
    if whole:
        earned = sum(any(step.by_layer for step in verdict.steps) for verdict in whole)
        part = "" if earned == len(whole) else f"{earned or 'none'} of them "
        yield (
            f"Right as a whole layer, without all of its steps: {count(len(whole), 'student')}, "
            f"{part}with points for what the layer does."
        )


def _missed(exercise: Exercise, roll: Sequence[Verdict]) -> Iterator[str]:
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
            where = f"step {order.index(name) + 1}, {name}"
            yield f"{words}: {where}, by {count(counted[name], 'student')}."


def _misconceptions(exercise: Exercise, verdicts: Sequence[Verdict]) -> Iterator[str]:
    named = [each for each in misunderstandings(exercise, verdicts) if each.name]
    for each in sorted(named, key=lambda each: (-len(each.students), each.step, each.name)):
        yield f"{each.name} (in {each.step}): {count(len(each.students), 'student')}"

"""The class in order, one verdict for each student, all about one exercise.

Every report looks steps up by name and names files after students; here is the
one place that makes sure that both are safe to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.errors import KitError
from autograder.exercise import Exercise
from autograder.plain import clean_line
from autograder.verdict import Verdict


def class_roll(exercise: Exercise, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return `verdicts` sorted by student.

    Raise `KitError` when a verdict is about another exercise or other steps, or when one
    student has two.
    """
    names = [step.name for step in exercise.steps]
    for verdict in verdicts:
        judged = [step.name for step in verdict.steps]
        breaks_at = verdict.chain.breaks_at
        known = breaks_at is None or breaks_at in names
        if verdict.exercise != exercise.name or judged != names or not known:
            raise KitError(
                f"the verdict on {clean_line(verdict.student, 60)} does not fit {exercise.name}",
                place=f"it judges {clean_line(verdict.exercise, 60)}: "
                + (clean_line(", ".join(judged), 200) or "no step"),
                cure="grade the submission again with the exercise as it is now",
            )
    return sorted_roll(verdicts)


def sorted_roll(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return `verdicts` sorted by student; raise `KitError` when one student has two."""
    seen: set[str] = set()
    for verdict in verdicts:
        if verdict.student in seen:
            raise KitError(
                f"{clean_line(verdict.student, 60)} has two verdicts",
                place=f"exercise {clean_line(verdict.exercise, 60)}",
                cure="keep one submission for each student",
            )
        seen.add(verdict.student)
    return tuple(
        sorted(verdicts, key=lambda verdict: (verdict.student.casefold(), verdict.student))
    )

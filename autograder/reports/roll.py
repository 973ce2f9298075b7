"""The class in order: one verdict for each student, all about one exercise.

Every report looks up steps by name and names files after students. This is the
one place that makes sure that both are safe.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from autograder.errors import KitError
from autograder.model.exercise import Exercise
from autograder.model.sanitize import UNSEEN_NAME, clean_line
from autograder.model.verdict import Verdict
from autograder.reports.student_record import NO_RECORD, NO_RECORDS, StudentRecords, called

LONGEST_NAME = 200


def shown_names(students: Iterable[str], records: StudentRecords = NO_RECORDS) -> dict[str, str]:
    """Return a name to show for each student: one clean line, and no two alike.

    If several ids look alike, the student with exactly that id keeps it; for the others, a hash is
    added. The name that `records` have stands beside the id.
    """
    clean = {student: clean_line(student, LONGEST_NAME) or UNSEEN_NAME for student in students}
    looks = {student: unicodedata.normalize("NFC", name) for student, name in clean.items()}
    count = Counter(looks.values())
    alone = {
        student: name
        if count[looks[student]] == 1 or looks[student] == student
        else f"{name}~{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        for student, name in clean.items()
    }
    return {
        student: called(name, records.get(student, NO_RECORD)) for student, name in alone.items()
    }


def class_roll(exercise: Exercise, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return `verdicts` sorted by student.

    Raise `KitError` when a verdict is about another exercise or other steps, or when one
    student has two.
    """
    return tuple(verdicts[place] for place in roll_places(exercise, verdicts))


def roll_places(exercise: Exercise, verdicts: Sequence[Verdict]) -> list[int]:
    """Return the places that the verdicts of `class_roll` have among `verdicts`; raises as it."""
    return _order(_fitting(exercise, verdicts))


def sorted_roll(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return `verdicts` sorted by student; raise `KitError` when one student has two."""
    return tuple(verdicts[place] for place in _order(verdicts))


def _fitting(exercise: Exercise, verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts; raise `KitError` when one is not about the exercise as it is."""
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
        yield verdict


def _order(verdicts: Iterable[Verdict]) -> list[int]:
    """Return their places, sorted by student; raise `KitError` when one student has two."""
    places: dict[str, int] = {}
    for place, verdict in enumerate(verdicts):
        if verdict.student in places:
            raise KitError(
                f"{clean_line(verdict.student, 60)} has two verdicts",
                place=f"exercise {clean_line(verdict.exercise, 60)}",
                cure="keep one submission for each student",
            )
        places[verdict.student] = place
    return [places[student] for student in sorted(places, key=lambda name: (name.casefold(), name))]

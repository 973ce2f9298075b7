"""The files of one student, the verdict and the page, made in grader processes.

A page shows what a student wrote, so making it is bounded like everything else that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.grading.classroom import HANDLING
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.judged_class import JudgedClass
from autograder.grading.watched_process import one_by_one
from autograder.model.exercise import Exercise
from autograder.model.files import file_stem
from autograder.model.lazy_sequence import LazySequence
from autograder.model.student_folders import folders_of, put_in_order
from autograder.model.verdict import Verdict
from autograder.reports.feedback import write_page
from autograder.reports.follow_up import FollowUp
from autograder.reports.gradebook_entry import GradebookEntries, GradebookEntry
from autograder.reports.paragraphs import Paragraph
from autograder.reports.roll import roll_places
from autograder.reports.verdict_files import write_verdict

_BATCH = 16


@dataclass(frozen=True)
class _Job:
    """One student's verdict and entry, and the folder of a thousand that the files go into."""

    verdict: Verdict
    entry: GradebookEntry | None
    folder: str


def write_student_files(
    pool: GraderPool,
    output: Path,
    exercise: Exercise,
    judged: JudgedClass,
    entries: GradebookEntries,
    paragraphs: Sequence[Paragraph] = (),
) -> tuple[FollowUp, ...]:
    """Write the verdict and the page of every student into `output`, in the processes of `pool`.

    Points on a page are the gradebook's, where it has `entries`; `paragraphs` are what the
    instructor writes to who made a mistake. Return the students whose files could not be made.
    Of a large class, they go into folders of a thousand. The files of who is no longer there are
    removed. Raise `KitError` when the verdicts do not belong together or the folder cannot be
    written.
    """
    places = roll_places(exercise, judged.outlines)
    roll = LazySequence.picked(judged.verdicts, places)
    students = [judged.outlines[place].student for place in places]
    folders = folders_of(len(students))
    problems: dict[int, FollowUp] = {}

    def job(number: int) -> _Job:
        return _Job(roll[number], entries.get(students[number]), folders[number])

    def lost(number: int, loss: Loss) -> None:
        why = f"the page could not be made ({loss.detail})."
        problems[number] = FollowUp("no_page", (students[number],), why, "", not_graded=True)

    _put_in_order(output, students, folders)
    pool.run(
        partial(one_by_one, partial(_write_files, output, exercise, paragraphs)),
        LazySequence(len(roll), job),
        HANDLING,
        result=lambda place, result: None,
        lost=lost,
        batch=_BATCH,
    )
    return tuple(problems[number] for number in sorted(problems))


def _put_in_order(output: Path, students: Sequence[str], folders: Sequence[str]) -> None:
    """Move earlier files to where they belong now.

    Those of who has taken the hand-in back are removed: they would be given out with the rest. The
    folder of results is the kit's own.
    """
    wanted = {file_stem(student): folder for student, folder in zip(students, folders, strict=True)}
    for part, ending in (("verdicts", ".json"), ("feedback", ".html"), ("feedback", ".txt")):
        put_in_order(output / part, ending, wanted, but_not=_is_of_the_class)


def _is_of_the_class(file: Path) -> bool:
    return file.stem == "index" or file.stem.startswith("index~")


def _write_files(
    output: Path, exercise: Exercise, paragraphs: Sequence[Paragraph], job: _Job
) -> None:
    write_verdict(output / "verdicts" / job.folder, job.verdict)
    write_page(output / "feedback" / job.folder, exercise, job.verdict, job.entry, paragraphs)

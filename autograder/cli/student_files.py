"""The files of one student, the verdict, the code and the page, made in grader processes.

A page shows what a student wrote, so making it is bounded like everything else that does. Where
pages are handed out from somewhere else, too, a page goes there as soon as it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from autograder.errors import KitError
from autograder.grading.classroom import HANDLING, JudgedClass
from autograder.grading.grader_pool import GraderPool, Loss
from autograder.grading.watched_process import WorkProgress
from autograder.reports.feedback import write_page
from autograder.reports.grades_csv import CODE, write_code, write_verdict
from autograder.reports.misunderstandings import Paragraph
from autograder.reports.roll import (
    NO_RECORD,
    ClassGradebook,
    FollowUp,
    GradebookEntry,
    StudentRecord,
    roll_places,
)
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise
from autograder.values.files import file_stem, folders_of, put_in_order
from autograder.values.value_file import LazySequence, to_send
from autograder.values.verdict import Verdict

_BATCH = 16
_MADE = "made"  # noted when both files of a student are there


# Puts the page of a student where it is handed out from, and returns whether it is there.
Deliver: TypeAlias = "Callable[[str, bytes], bool]"


@dataclass(frozen=True)
class StudentFiles:
    """What came of the files of a class: the students without them, and whose page is delivered."""

    lost: tuple[FollowUp, ...]
    delivered: frozenset[str]


@dataclass(frozen=True)
class _Job:
    """One student's verdict, hand-in, entry and record, and the folder of a thousand that the files
    go into.

    `verdict` and `submission` may be packed; they arrive as what they are.
    """

    verdict: Verdict
    submission: Submission
    entry: GradebookEntry | None
    record: StudentRecord
    folder: str


@dataclass(frozen=True)
class _Writing:
    """The work of a grader process: writes the files of some students, and delivers their pages."""

    output: Path
    exercise: Exercise
    paragraphs: Sequence[Paragraph]
    deliver: Deliver | None

    def __call__(self, jobs: Sequence[_Job], progress: WorkProgress) -> None:
        for number, job in enumerate(jobs):
            progress.begin(number)
            write_verdict(self.output / "verdicts" / job.folder, job.verdict)
            folder = self.output / "feedback" / job.folder
            student, cells = job.verdict.student, job.submission.cells
            code = write_code(self.output, job.folder, student, job.record.file, cells)
            record = replace(job.record, code=code)
            page = write_page(
                folder, self.exercise, job.verdict, job.entry, self.paragraphs, record
            )
            progress.part(_MADE)
            progress.done(self._delivered(job.verdict, page))

    def _delivered(self, verdict: Verdict, page: bytes) -> bool:
        if self.deliver is None or verdict.infrastructure:
            return False
        try:
            return self.deliver(verdict.student, page)
        except KitError:  # it is tried again, and told, when all files of the class are there
            return False


def write_student_files(
    pool: GraderPool,
    output: Path,
    exercise: Exercise,
    judged: JudgedClass,
    gradebook: ClassGradebook,
    paragraphs: Sequence[Paragraph] = (),
    deliver: Deliver | None = None,
) -> StudentFiles:
    """Write verdict, code and page of every student into `output`, in the processes of `pool`.

    Points on a page are the gradebook's, where it has entries; `paragraphs` are what the
    instructor writes to who made a mistake. `deliver` is given each page of who could be judged;
    who is not among the delivered then may have no page, or it may have failed. Of a large class,
    the files go into folders of a thousand. The files of who is no longer there are removed. Raise
    `KitError` when the verdicts do not belong together or the folder cannot be written.
    """
    places = roll_places(exercise, judged.outlines)
    students = [judged.outlines[place].student for place in places]
    folders = folders_of(len(students))
    problems: dict[int, FollowUp] = {}
    delivered: set[str] = set()

    def job(number: int) -> _Job:
        place, student = places[number], students[number]
        return _Job(
            to_send(judged.verdicts, place),
            to_send(judged.submissions, place),
            gradebook.entries.get(student),
            gradebook.records.get(student, NO_RECORD),
            folders[number],
        )

    _put_in_order(output, students, folders)
    work = _Writing(output, exercise, paragraphs, deliver)
    jobs = LazySequence(len(students), job)
    for number, found in pool.results(work, jobs, HANDLING, _BATCH):
        if isinstance(found, Loss):
            if _MADE not in found.parts:  # else it has been lost on its way
                why = f"the page could not be made ({found.detail})."
                cure = "Write the results again with `attn report`."
                problems[number] = FollowUp("no_page", (students[number],), why, cure)
        elif found:
            delivered.add(students[number])
    return StudentFiles(tuple(problems[n] for n in sorted(problems)), frozenset(delivered))


def _put_in_order(output: Path, students: Sequence[str], folders: Sequence[str]) -> None:
    """Move earlier files to where they belong now.

    Those of who has taken the hand-in back are removed: they would be given out with the rest. The
    folder of results is the kit's own.
    """
    wanted = {file_stem(student): folder for student, folder in zip(students, folders, strict=True)}
    kinds = (("verdicts", ".json"), ("feedback", ".html"), ("feedback", ".txt"), (CODE, ".txt"))
    for part, ending in kinds:
        # The page of the class is not in it.
        put_in_order(output / part, ending, wanted, lambda file: file.stem.split("~")[0] == "index")

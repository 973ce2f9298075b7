"""What a very large class would need, by simulation: run by hand, not with `make bench`.

A class of 60 is judged; its verdicts are given to as many students as are asked for, each with
code of its own. With those, everything is done that a run does with verdicts: journal, verdict
files, pages, class page, CSV, summary. What judging takes is in the other rows. Each figure says
how long a part takes in one process, how large its result is, and how much memory it has then.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from autograder.grading.classroom import grade_class
from autograder.grading.journal import JOURNAL, Journal
from autograder.model.exercise import Exercise
from autograder.model.verdict import Verdict
from autograder.reports.class_page import ClassContext, write_class_page
from autograder.reports.class_summary import class_summary
from autograder.reports.feedback import write_page
from autograder.reports.grades_csv import write_grades
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.verdict_files import write_verdict
from autograder.submission.reading import Submission, hash_of
from benchmarks.command import options, show
from benchmarks.figures import Figure
from support.mixed_class import mixed_class

JUDGED = 60
ROW = 5
MEGABYTE = 1 << 20


def judged(exercise: Exercise) -> tuple[Verdict, ...]:
    """Return verdicts on hand-ins that are really judged."""
    texts = enumerate(mixed_class(exercise, JUDGED))
    hand_ins = [Submission(f"s{n}", exercise.name, (text,), exercise.folder) for n, text in texts]
    return grade_class(exercise, hand_ins)


def renamed(verdicts: tuple[Verdict, ...], count: int) -> tuple[Verdict, ...]:
    """Return as many verdicts as are asked for, each about another student and other code.

    They are read from text, as those of a run come from another process: no two share an object.
    """
    texts = [verdict.to_json() for verdict in verdicts]
    copies = (Verdict.from_json(texts[number % len(texts)]) for number in range(count))
    return tuple(
        replace(copy, student=f"student{number:06}", code_hash=hash_of(number))
        for number, copy in enumerate(copies)
    )


def parts(
    exercise: Exercise, verdicts: tuple[Verdict, ...], folder: Path
) -> Iterator[tuple[str, Callable[[], object], Path | None]]:
    """Yield each part of a run: its name, what does it, and where its result lies, if in one file.

    Pages and files of students are made for a tenth of them, since each takes as long as the next.
    """
    tenth = verdicts[: len(verdicts) // 10]
    journal = Journal(folder / JOURNAL)

    def keep() -> None:
        journal.prepare()
        with journal.held_open():
            for verdict in verdicts:
                journal.keep(f"{verdict.exercise}:{verdict.code_hash}:{verdict.student}", verdict)

    yield "keep every verdict in the journal", keep, journal.path
    yield (
        "write the verdict files of a tenth",
        lambda: [write_verdict(folder / "verdicts", verdict) for verdict in tenth],
        None,
    )
    yield (
        "write the pages of a tenth",
        lambda: [write_page(folder / "feedback", exercise, verdict) for verdict in tenth],
        None,
    )
    page, csv = folder / "feedback" / "index.html", folder / "grades.csv"
    # A run takes the code from the hand-ins; here, every mistake has the same.
    mistakes = tuple((each, "x = 1\n" * 20) for each in misunderstandings(exercise, verdicts))
    context = ClassContext(mistakes=mistakes)
    yield (
        "write the class page",
        lambda: write_class_page(folder / "feedback", exercise, verdicts, context),
        page,
    )
    yield "write the CSV", lambda: write_grades(csv, exercise, verdicts), csv
    yield "sum the class up", lambda: class_summary(exercise, verdicts), None


def memory() -> float:
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Do each part once; give its time, the size of its file, and the memory until then."""
    few = judged(exercise)
    before = memory()
    verdicts = renamed(few, arguments.hand_ins)
    many = f"{arguments.hand_ins:,} hand-ins"
    held = 1024 * (memory() - before) / arguments.hand_ins
    yield Figure.of(ROW, f"{many}: memory of one verdict", exercise.name, [held], "KB")
    for words, do, file in parts(exercise, verdicts, folder):
        begun = time.perf_counter()
        do()
        yield Figure.of(ROW, f"{many}: {words}", exercise.name, [time.perf_counter() - begun], "s")
        if file:
            size = file.stat().st_size / MEGABYTE
            yield Figure.of(ROW, f"{many}: size of {file.name}", exercise.name, [size], "MB")
        yield Figure.of(ROW, f"{many}: most memory until then", exercise.name, [memory()], "MB")


if __name__ == "__main__":
    own = options(__doc__, hand_ins=100_000, turns=1, exercises=("numpy_single_head",))
    show(measure, own.parse_args())

"""What a very large class would need, by simulation: run by hand, not with `make bench`.

A class of 60 is judged, and every student of a class as large as is asked for gets one of these
verdicts, with code of their own. All else is what `attn grade` does with a folder: hand-ins are
read, verdicts kept in the journal and put aside, files, pages, CSV and table are written. What
judging takes is in the other rows.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getpid
from pathlib import Path

from rich.console import Console

from autograder.cli.found_class import found_class
from autograder.cli.report import write_results
from autograder.grading.class_run import grade_task
from autograder.grading.class_task import GradingOptions
from autograder.grading.classroom import grade_class
from autograder.grading.grader_pool import GraderPool
from autograder.grading.journal import JOURNAL
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise
from autograder.values.verdict import Verdict
from benchmarks.command import options, show
from benchmarks.cost import ROOT
from benchmarks.figures import Figure
from benchmarks.peak_memory import PeakMemory, memory
from support.mixed_class import mixed_class
from support.simulated_judges import SimulatedJudges

JUDGED = 60
ROW = 5
MEGABYTE = 1 << 20
Note = Callable[[str, float, str], None]


def judged(exercise: Exercise, texts: list[str]) -> tuple[Verdict, ...]:
    """Return verdicts on hand-ins that are really judged."""
    hand_ins = [
        Submission(f"s{n}", exercise.name, (text,), exercise.folder) for n, text in enumerate(texts)
    ]
    return grade_class(exercise, hand_ins)


def hand_in(folder: Path, texts: list[str], count: int) -> None:
    """Write `count` hand-ins into a folder, no two of them alike."""
    folder.mkdir(parents=True)
    for number in range(count):
        text = f"{texts[number % len(texts)]}\n\nNUMBER = {number}\n"
        (folder / f"student{number:06}.py").write_text(text, encoding="utf-8")


def grade(folder: Path, exercise: Exercise, judges: SimulatedJudges, note: Note) -> Path:
    """Do what `attn grade` does with a folder; return where the results are."""
    found = found_class(folder, exercise.name, ROOT / "solutions", None)
    records = found.opened_records()
    console = Console(file=io.StringIO())
    begun = time.perf_counter()
    with (
        GraderPool() as pool,
        grade_task(found.task, pool, GradingOptions(), console, judges=judges) as class_,
    ):
        note("read the class and keep its verdicts", time.perf_counter() - begun, "s")
        note("memory of the first process then", memory(), "MB")
        begun = time.perf_counter()
        results = write_results(
            found.task, records, pool, class_, records.enter(class_, pool), console
        )
        note("write all files, pages, CSV and lists", time.perf_counter() - begun, "s")
    return results.output


@contextmanager
def noting(exercise: Exercise, count: int, found: list[Figure]) -> Iterator[Note]:
    """Give a function that makes figures; at the end, note the most memory that there was."""

    def note(words: str, value: float, unit: str) -> None:
        found.append(Figure.of(ROW, f"{count:,} hand-ins: {words}", exercise.name, [value], unit))

    most = PeakMemory()
    with most.watching(getpid()):
        yield note
    note("most memory of the first process", most.first, "MB")
    note("most memory of the grader processes together", most.together, "MB")


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Grade the class once; give times, memory, and how large the files are."""
    count, texts = arguments.hand_ins, mixed_class(exercise, JUDGED)
    judges = SimulatedJudges(judged(exercise, texts))
    hand_in(folder / "class", texts, count)
    found: list[Figure] = []
    with noting(exercise, count, found) as note:
        note("memory of the first process before", memory(), "MB")
        output = grade(folder / "class", exercise, judges, note)
        for file in (output / JOURNAL, output / "feedback" / "index.html", output / "grades.csv"):
            note(f"size of {file.name}", file.stat().st_size / MEGABYTE, "MB")
    yield from found


if __name__ == "__main__":
    own = options(__doc__, hand_ins=100_000, turns=1, exercises=("numpy_single_head",))
    show(measure, own.parse_args())

"""The memory of the first process for a very large class, by itself: run by hand.

What grader processes would return is simulated: the hand-ins and verdicts of 60 students, for as
many as are asked for. They are put aside as in a run, and everything about the class is written.
In minutes it shows what `large_class.py`, which has all files read and written, takes long for.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from autograder.cli.follow_ups import find_follow_ups
from autograder.grading.class_task import HandIn
from autograder.grading.classroom import IncomingVerdicts, JudgedClass
from autograder.reports.class_page import ClassContext, write_class_page
from autograder.reports.class_summary import class_summary
from autograder.reports.grades_csv import grades_csv
from autograder.reports.misunderstandings import misunderstandings
from autograder.reports.roll import ClassGradebook, write_follow_ups
from autograder.submission.reading import Submission
from autograder.values.exercise import Exercise
from autograder.values.files import write_whole
from autograder.values.symbols import DEFAULT_RULES
from autograder.values.value_file import StoredSequence, ValueFile
from autograder.values.verdict import Verdict
from benchmarks.command import options, show
from benchmarks.figures import Figure
from benchmarks.large_class import JUDGED, ROW, judged
from benchmarks.peak_memory import memory
from support.mixed_class import mixed_class


def read(
    exercise: Exercise, texts: list[str], hand_ins: tuple[HandIn, ...], file: ValueFile
) -> StoredSequence[Submission]:
    """Put a submission for each hand-in aside, no two alike."""
    found = StoredSequence[Submission](file, len(hand_ins))
    for number, each in enumerate(hand_ins):
        cells = (texts[number % JUDGED], f"NUMBER = {number}")
        path = each.paths[0]
        found[number] = Submission(
            each.student, exercise.name, cells, path, digests=((path, "0" * 64),), root=path.parent
        )
    return found


def put_aside(
    submissions: StoredSequence[Submission], verdicts: tuple[Verdict, ...], file: ValueFile
) -> JudgedClass:
    """Put a verdict on each submission aside; each is read from text, so no two share an object."""
    incoming = IncomingVerdicts(submissions, DEFAULT_RULES, file)
    texts = [verdict.to_json() for verdict in verdicts]
    for number, each in enumerate(submissions):
        verdict = Verdict.from_json(texts[number % JUDGED])
        incoming.add(replace(verdict, student=each.student, code_hash=each.code_hash))
    return incoming.whole_class()


def parts(
    exercise: Exercise, class_: JudgedClass, folder: Path
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is made of all of the class: its name, and what makes it."""
    outlines, gradebook = class_.outlines, ClassGradebook()
    mistakes = tuple((each, "x = 1\n" * 20) for each in misunderstandings(exercise, outlines))
    follow_ups = find_follow_ups(exercise, outlines, class_.submissions, gradebook)
    context = ClassContext(follow_ups=follow_ups, mistakes=mistakes)
    page, needs_you = folder / "feedback", folder / "needs-you.json"
    yield "write the class page", lambda: write_class_page(page, exercise, outlines, context)
    yield (
        "write the CSV",
        lambda: write_whole(folder / "grades.csv", grades_csv(exercise, outlines)),
    )
    yield "write needs-you.json", lambda: write_follow_ups(needs_you, exercise.name, follow_ups)
    yield "sum the class up", lambda: class_summary(exercise, outlines)


def measure(exercise: Exercise, arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Do each part once; give its time, and the memory then and at most."""
    count, texts = arguments.hand_ins, mixed_class(exercise, JUDGED)
    verdicts = judged(exercise, texts)

    def figure(words: str, value: float, unit: str = "MB") -> Figure:
        return Figure.of(ROW, f"{count:,} hand-ins: {words}", exercise.name, [value], unit)

    yield figure("memory before", memory())
    hand_ins = tuple(
        HandIn(f"student{n:06}", (folder / "class" / f"student{n:06}.py",)) for n in range(count)
    )
    with ValueFile(folder) as file:
        class_ = put_aside(read(exercise, texts, hand_ins, file), verdicts, file)
        yield figure("memory once all are judged", memory())
        for words, make in parts(exercise, class_, folder):
            begun = time.perf_counter()
            make()
            yield figure(words, time.perf_counter() - begun, "s")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield figure("most memory", most)


if __name__ == "__main__":
    own = options(__doc__, hand_ins=100_000, turns=1, exercises=("numpy_single_head",))
    show(measure, own.parse_args())

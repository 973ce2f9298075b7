"""A class for the kit: a course with its notebooks, or a folder of files, and what grades it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograder.course.creation import create_course
from autograder.grading.watched_process import usable_cores
from autograder.values.exercise import Exercise
from benchmarks.cost import ROOT, Cost, cost_of, module
from benchmarks.peak_memory import PeakMemory
from benchmarks.stock_course import hand_in
from demo.run import release


def make_kit_course(folder: Path, exercise: Exercise, texts: Sequence[str]) -> None:
    """Make a course as `attn course new` does, release its exercise, and hand in `texts`."""
    course = create_course(
        folder,
        solutions=ROOT / "solutions",
        assignments=ROOT / "assignments",
        exercises=(exercise.name,),
    )
    release(course, exercise.name)
    hand_in(folder, exercise, list(texts))


def grade_course(folder: Path, exercise: Exercise, texts: Sequence[str]) -> Cost:
    """Grade a new course of the kit: gradebook, autograded copies, pages and verdicts.

    A small class gets as many processes as a large one: what is taken off is the same start.
    """
    make_kit_course(folder, exercise, texts)
    words = (str(folder), "--processes", str(len(usable_cores())))
    return cost_of(module("autograder.cli", "grade", *words), folder)


def grade_folder(
    folder: Path,
    exercise: Exercise,
    texts: Sequence[str],
    *words: str,
    memory: PeakMemory | None = None,
) -> Cost:
    """Grade a new folder of files, with more `words` for `attn grade`: pages and verdicts.

    The results are beside the folder, in one whose name ends in "-graded".
    """
    folder.mkdir(parents=True)
    for number, text in enumerate(texts):
        (folder / f"s{number:05}.py").write_text(text, encoding="utf-8")
    solutions = ("--solutions", str(ROOT / "solutions"))
    words = ("--exercise", exercise.name, *solutions, *words)
    return cost_of(
        module("autograder.cli", "grade", str(folder), *words), folder.parent, memory=memory
    )

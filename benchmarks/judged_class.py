"""Judge a class and nothing else: no reading, no journal, no gradebook, no pages.

A program that rows of the benchmark run and measure: `judged_class.py EXERCISE TEXTS [PROCESSES]`,
with the folder of an exercise and a JSON file of hand-ins.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.grading.classroom import grade_class
from autograder.submission.reading import Submission
from autograder.values.exercise import read_exercise
from autograder.values.verdict import Verdict


def judged(folder: Path, texts: Path, processes: int = 1) -> tuple[Verdict, ...]:
    """Return the verdicts on a class; raise RuntimeError when a hand-in could not be judged."""
    exercise = read_exercise(folder)
    handed_in = [
        Submission(f"s{number:05}", exercise.name, (text,), exercise.folder)
        for number, text in enumerate(json.loads(texts.read_text(encoding="utf-8")))
    ]
    verdicts = grade_class(exercise, handed_in, processes=processes)
    faults = sum(verdict.infrastructure for verdict in verdicts)
    if faults:
        raise RuntimeError(f"{faults} hand-ins could not be judged")
    return verdicts


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return in words how many hand-ins have all points."""
    full = sum(verdict.points == verdict.max_points for verdict in verdicts)
    points = sum(verdict.points for verdict in verdicts)
    return f"{full} of {len(verdicts)} have all points; all together {points:g} points"


def main(folder: Path, texts: Path, processes: int = 1) -> None:
    """Print how many hand-ins have all points."""
    print(summary(judged(folder, texts, processes)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))

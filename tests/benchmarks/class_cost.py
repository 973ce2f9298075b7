"""What one more submission of a class costs, per exercise: run with `make bench`.

Every exercise is graded with a small and with a large class of right answers that differ
in a comment, so that nothing is graded once for many; the difference is the cost of the
submissions alone. All figures are of one run, as ratios to the NumPy exercise.
"""

from __future__ import annotations

import time
from pathlib import Path

from autograder.grading.classroom import grade_class
from autograder.model.exercise import Exercise, read_exercise
from autograder.submission.reading import Submission

ROOT = Path(__file__).parents[2]
SMALL, LARGE = 8, 108
FIRST = "numpy_single_head"


def submissions(exercise: Exercise, count: int) -> list[Submission]:
    """Return `count` right answers, no two equal."""
    code = (exercise.folder / "solution.py").read_text(encoding="utf-8")
    return [
        Submission(f"student{number}", exercise.name, (f"# {number}\n{code}",), exercise.folder)
        for number in range(count)
    ]


def seconds(exercise: Exercise, count: int) -> float:
    """Return how long a class takes."""
    handed_in = submissions(exercise, count)
    begun = time.perf_counter()
    verdicts = grade_class(exercise, handed_in)
    assert all(verdict.points == exercise.points for verdict in verdicts)
    return time.perf_counter() - begun


def main() -> None:
    """Print a line per exercise."""
    folders = sorted(path.parent for path in (ROOT / "solutions").glob("*/exercise.toml"))
    costs = {}
    for folder in sorted(folders, key=lambda folder: folder.name != FIRST):
        exercise = read_exercise(folder)
        start, whole = seconds(exercise, SMALL), seconds(exercise, LARGE)
        cost = costs[exercise.name] = (whole - start) / (LARGE - SMALL)
        print(
            f"{exercise.name:20} {1000 * cost:6.1f} ms a submission, "
            f"{cost / costs[FIRST]:.2f} times the first; "
            f"{SMALL} submissions with the start: {start:.1f} s"
        )


if __name__ == "__main__":
    main()

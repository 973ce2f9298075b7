"""What one more submission of a class costs, per exercise: run with `make bench`.

Every exercise is graded with a small and with a large class of right answers that differ
in a comment, so that nothing is graded once for many; the difference is the cost of the
submissions alone. The same is measured of a copy that holds its steps to no standing property,
which shows what those cost. All figures are of one run, as ratios to the NumPy exercise.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

from autograder.checks.standing import PROPERTIES
from autograder.grading.classroom import grade_class
from autograder.model.exercise import MANIFEST, Exercise, read_exercise
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


def without_standing(solutions: Path) -> None:
    """Switch every standing property off for every step of the exercises in `solutions`."""
    for manifest in solutions.glob(f"*/{MANIFEST}"):
        off = "".join(f'{name} = "to measure what it costs"\n' for name in PROPERTIES)
        steps = [step.name for step in read_exercise(manifest.parent).steps]
        with manifest.open("a", encoding="utf-8") as file:
            file.writelines(f"\n[grading.without.{step}]\n{off}" for step in steps)


def cost_of(exercise: Exercise) -> tuple[float, float]:
    """Return what one more submission costs, and the small class with the start, in seconds."""
    start, whole = seconds(exercise, SMALL), seconds(exercise, LARGE)
    return (whole - start) / (LARGE - SMALL), start


def main() -> None:
    """Print a line per exercise."""
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        bare = shutil.copytree(ROOT / "solutions", Path(folder) / "solutions")
        without_standing(bare)
        names = sorted(path.parent.name for path in bare.glob(f"*/{MANIFEST}"))
        for name in sorted(names, key=lambda name: name != FIRST):
            cost, start = cost_of(read_exercise(ROOT / "solutions" / name))
            without, _ = cost_of(read_exercise(bare / name))
            costs[name] = cost
            print(
                f"{name:20} {1000 * cost:6.1f} ms a submission, "
                f"{cost / costs[FIRST]:.2f} times the first; "
                f"{cost / without:.2f} times without standing properties; "
                f"{SMALL} submissions with the start: {start:.1f} s"
            )


if __name__ == "__main__":
    main()

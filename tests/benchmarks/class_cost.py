"""What one more submission of a class costs, per exercise: run with `make bench`.

Every exercise is judged with a small and with a large class of answers, right ones and mistakes,
no two alike; the difference is the cost of the submissions alone. Reading, gradebook and pages are
left out: course_cost.py shows those. The same is measured of a copy that holds its steps to no
standing property, which shows what those cost. All figures are of one run, as ratios to the NumPy
exercise.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from autograder.checks.standing import PROPERTIES
from autograder.grading.classroom import grade_class
from autograder.model.exercise import MANIFEST, Exercise, read_exercise
from autograder.submission.reading import Submission
from support.mixed_class import SEED, mixed_class

ROOT = Path(__file__).parents[2]
SMALL, LARGE = 8, 108
FIRST = "numpy_single_head"


def seconds(exercise: Exercise, texts: Sequence[str]) -> float:
    """Return how long judging a class takes."""
    handed_in = [
        Submission(f"student{number}", exercise.name, (text,), exercise.folder)
        for number, text in enumerate(texts)
    ]
    begun = time.perf_counter()
    verdicts = grade_class(exercise, handed_in)
    assert not any(verdict.infrastructure for verdict in verdicts)
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
    texts = mixed_class(exercise, LARGE)
    start, whole = seconds(exercise, texts[:SMALL]), seconds(exercise, texts)
    return (whole - start) / (LARGE - SMALL), start


def main() -> None:
    """Print a line per exercise."""
    costs = {}
    print(f"seed of the class: {SEED}")
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

"""Refusing to grade a release that no longer fits the exercise.

Students work on the release, and the gradebook counts its points. If the exercise has changed
since, its verdicts would be entered as other points than they have.
"""

from __future__ import annotations

from collections.abc import Mapping

from nbgrader import api

from autograder.course.creation import Course, notebook_name
from autograder.course.intake import release_notebook
from autograder.course.verdict_cells import check_cells
from autograder.errors import KitError
from autograder.grading.class_task import FACTS
from autograder.values.exercise import CHECK_PREFIX, MANIFEST, Exercise
from autograder.values.symbols import number


def refuse_stale_release(course: Course, exercise: Exercise, notebook: api.Notebook) -> None:
    """Raise `KitError` when steps or points of the exercise are not those that were released.

    `notebook` is the gradebook's. The released notebook is compared too, since grades are read off
    a copy of it; without it, nobody is graded.
    """
    file = notebook_name(exercise.name)
    if not (course.release(exercise.name) / file).is_file():
        raise KitError(
            f"the released notebook of {exercise.name} is missing",
            place=str(course.release(exercise.name)),
            cure=f"in the course, run `nbgrader generate_assignment {exercise.name} --force`",
        )
    # A question of the instructor's own is graded and a solution at once, whatever its name.
    own = {cell.name for cell in notebook.solution_cells}
    entered = {
        cell.name.removeprefix(CHECK_PREFIX): cell.max_score
        for cell in notebook.grade_cells
        if cell.name.startswith(CHECK_PREFIX) and cell.name not in own
    }
    cells = check_cells(release_notebook(course, exercise.name))
    released = {step: float(cell.metadata.nbgrader["points"]) for step, cell in cells.items()}
    ours = exercise.name in course.adjustments
    where = course.directory / FACTS if ours else exercise.folder / MANIFEST
    build = "" if ours else "run `attn build`, and "
    again = (
        f"{build}in the course, run `attn course update` and "
        f"`nbgrader generate_assignment {exercise.name} --force`; then grade. `attn course check` "
        "says whether the exchange has what students get"
    )
    for place, points in (("the gradebook", entered), ("the released notebook", released)):
        if fact := _difference(exercise, points, place):
            raise KitError(
                fact,
                place=str(where),
                cure=f"take the change back; or {again}",
            )


def _difference(exercise: Exercise, points: Mapping[str, float], place: str) -> str:
    """Return in words how the steps differ from what is in `place`; "" when they do not."""
    steps = {step.name: step.points for step in exercise.steps}
    new = [name for name in steps if name not in points]
    gone = [name for name in points if name not in steps]
    if new or gone:
        words = [f"{place} lacks {', '.join(new)}"] if new else []
        words += [f"{place} still has {', '.join(gone)}"] if gone else []
        return f"the steps of {exercise.name} have changed since its release: {'; '.join(words)}"
    changed = [
        f"{name} is worth {number(steps[name])} now, and {number(points[name])} in {place}"
        for name in steps
        if steps[name] != points[name]
    ]
    if changed:
        more = f"; {len(changed) - 3} more have changed, too" if len(changed) > 3 else ""
        told = "; ".join(changed[:3])
        return f"points of {exercise.name} have changed since its release: {told}{more}"
    return ""

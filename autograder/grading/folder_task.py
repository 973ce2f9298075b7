"""A class without a course: a folder in which every file or folder is named after its student."""

from __future__ import annotations

from pathlib import Path

from autograder.errors import KitError
from autograder.grading.class_task import ClassTask
from autograder.grading.graded_folder import find_solutions
from autograder.grading.roster import flat_roster, read_groups, shared_hand_ins
from autograder.model.exercise import find_exercise


def folder_task(
    path: Path, exercise: str | None, solutions: Path | None, output: Path | None
) -> ClassTask:
    """Return what there is to grade in the folder `path`; raise `KitError` on bad input.

    Results go beside the folder unless an `output` is named.
    """
    if exercise is None:
        raise KitError(
            "the kit does not know which exercise this is",
            place=str(path),
            cure="add --exercise, for example --exercise numpy_single_head",
        )
    facts = find_exercise(exercise, find_solutions(solutions, path).absolute())
    usual = path.resolve().with_name(f"{path.resolve().name}-graded")
    target = output or usual
    if target.resolve().is_relative_to(path.resolve()):
        raise KitError(
            "the results would lie among the submissions, and next time they would be graded too",
            place=str(target),
            cure="name a folder outside with --output",
        )
    hand_ins, groups = shared_hand_ins(flat_roster(path), read_groups(path))
    named = target.resolve() != usual
    return ClassTask(facts, hand_ins, path, target, named, target, groups=groups)

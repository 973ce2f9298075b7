"""Refuses an exercise whose facts would not work, or would grade wrong, further on.

`exercise.toml` is read by everybody, students included, so the reader takes what has the right
form. What an author has to write is demanded here, before anything is handed out.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator
from dataclasses import fields

from autograder.building.regions import Solution
from autograder.errors import Faults, KitError
from autograder.model.exercise import MANIFEST, Exercise, Step


def refuse_wrong_facts(exercise: Exercise, solution: Solution) -> None:
    """Raise `KitError` for every fact that is missing or cannot be meant."""
    tree = ast.parse("\n".join(solution.lines))
    faults, place = Faults(), str(exercise.folder / MANIFEST)
    for fact, cure in (*_of_exercise(exercise), *_of_steps(exercise), *_of_names(exercise, tree)):
        with faults.noted():
            raise KitError(fact, place=place, cure=cure)
    faults.refuse()


def _of_exercise(exercise: Exercise) -> Iterator[tuple[str, str]]:
    if not exercise.title.strip():
        yield "the exercise has no title", "write one"
    if not exercise.points > 0 and not exercise.optional:
        worth = f"all steps together are worth {exercise.points:g} points"
        yield worth, "write points > 0, or optional = true if nobody has to do it"
    for limit in fields(exercise.limits):
        value = getattr(exercise.limits, limit.name)
        if not _is_number(value) or not value > 0:
            yield f"the limit {limit.name} is {value!r}", "write a number that is larger than 0"
    for table in ("sizes", "public_sizes"):
        for axis, size in getattr(exercise.grading, table).items():
            if type(size) is not int or size < 1:
                yield f"the size of the axis {axis} is {size!r} in {table}", "write 1 or more"


def _of_steps(exercise: Exercise) -> Iterator[tuple[str, str]]:
    for step in exercise.steps:
        if not _is_number(step.points) or not 0 <= step.points < float("inf"):
            yield f"{step.name} is worth {step.points:g} points", "write 0 (a bonus) or more"
        if type(step.minutes) is not int or step.minutes < 1:
            yield f"{step.name} takes {step.minutes!r} minutes", "write a whole number of minutes"
        yield from _of_texts(step)


def _of_texts(step: Step) -> Iterator[tuple[str, str]]:
    if not step.title.strip():
        yield f"the step {step.name} has no title", "write one"
    if not step.name.isidentifier() or keyword.iskeyword(step.name):
        yield (
            f"no function can be called {step.name!r}",
            "use a name that Python takes, the same as in solution.py",
        )


def _of_names(exercise: Exercise, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Give the steps that share their name with something else that students are given."""
    taken = {name: node.lineno for node in tree.body for name in _bound(node)}
    for step in exercise.steps:
        if step.name in taken:
            yield (
                f"the step {step.name} has the name of something else, in line "
                f"{taken[step.name]} of solution.py",
                "rename one of the two: the later hides the earlier",
            )


def _bound(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (each.asname or each.name.partition(".")[0] for each in names)
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

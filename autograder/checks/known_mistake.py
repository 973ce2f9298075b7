"""The known wrong implementations of an exercise, read from `misconceptions.py`.

They are looked up by name alone, in messages as well, so a name stands for one mistake in the
whole exercise. Python itself would let the first of two vanish.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.checks.written_twice import written_twice
from autograder.errors import KitError
from autograder.model.exercise import MANIFEST, Exercise

MISCONCEPTIONS = "misconceptions.py"


@dataclass(frozen=True)
class Misconception:
    """A named wrong implementation of one step, and the words for the student."""

    name: str
    step: str
    words: str
    wrong: Any


def read_misconceptions(exercise: Exercise, module: ModuleType) -> tuple[Misconception, ...]:
    """Return the mistakes in every public class of `misconceptions.py`; each class is a step.

    What a class inherits belongs to its step too. The class of a step that is left out is left out.
    Raises `KitError` when a class is no step, two mistakes have one name, or one has no words.
    """
    _refuse_written_twice(Path(str(module.__file__)))
    found: list[Misconception] = []
    steps = {step.name for step in exercise.steps}
    for step, mistakes in vars(module).items():
        left_out = step in exercise.grading.left_out
        if left_out or step.startswith("_") or not _belongs_here(mistakes, step in steps, module):
            continue
        if step not in steps or not inspect.isclass(mistakes):
            held = ", ".join(_own(mistakes)) if inspect.isclass(mistakes) else ""
            raise KitError(
                f"the misconception {held or step} is not in any step's class",
                place=str(module.__file__),
                cure="put it into a class that is named after its step; begin other names with _",
            )
        found += [
            Misconception(name, step, _words(exercise, name, wrong), wrong)
            for base in reversed(mistakes.__mro__[:-1])
            for name, wrong in _own(base).items()
        ]
    _refuse_one_name(found, str(module.__file__))
    return tuple(found)


def _belongs_here(mistakes: Any, is_step: bool, module: ModuleType) -> bool:
    """Whether a name of the file holds mistakes: a class of its own, or a shared one of a step."""
    if getattr(mistakes, "__module__", None) == module.__name__:
        return True
    # The right answer itself may be here under its own name, to be made wrong.
    return is_step and inspect.isclass(mistakes) and not mistakes.__module__.endswith("_solution")


def _own(mistakes: type) -> dict[str, Any]:
    return {name: wrong for name, wrong in vars(mistakes).items() if not name.startswith("__")}


def _refuse_one_name(found: list[Misconception], place: str) -> None:
    """Refuse a name in two steps, or in a class and in one that it inherits from."""
    steps: dict[str, str] = {}
    for known in found:
        if known.name in steps:
            other = steps[known.name]
            both = f"of {known.step}" if other == known.step else f"of {other} and of {known.step}"
            raise _two(known.name, both, place)
        steps[known.name] = known.step


def _refuse_written_twice(path: Path) -> None:
    """Refuse a name that is written twice in one class, or a class that is written twice."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bodies = {node.name: node.body for node in reversed(classes) if node.name[0] != "_"}
    for held, first, second in written_twice(tree.body):
        if held in bodies:
            raise _two(held, f"in the file, lines {first} and {second}", str(path))
    for name, body in bodies.items():
        for held, first, second in written_twice(body):
            if not held.startswith("_"):
                raise _two(held, f"in {name}, lines {first} and {second}", str(path))


def _two(name: str, where: str, place: str) -> KitError:
    return KitError(
        f"two misconceptions have the name {name}: {where}",
        place=place,
        cure="give each a name of its own, or remove one: only one of them would be known",
    )


def _words(exercise: Exercise, name: str, wrong: Any) -> str:
    """Return what a student reads: the docstring, with the exercise's own words for {names}."""
    place = str(exercise.folder / MISCONCEPTIONS)
    if not wrong.__doc__:
        cure = "write what the student is told"
        raise KitError(f"the misconception {name} has no docstring", place=place, cure=cure)
    known = exercise.words
    capitals = {key.capitalize(): word[:1].upper() + word[1:] for key, word in known.items()}
    words = {**capitals, **known}
    try:
        return inspect.cleandoc(wrong.__doc__).format(**words)
    except (KeyError, IndexError, ValueError) as error:
        raise KitError(
            f"the misconception {name} uses a word that is not defined: {error}",
            place=place,
            cure=f"define it under [words] in {MANIFEST}; for a plain brace, write it twice",
        ) from None

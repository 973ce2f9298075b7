"""Which step a learner means with the value that they give to `check`.

A step is what its name stands for in the kernel, also where it was made by another function, as a
lambda or a decorated function is. What cannot be a step is told by what it is.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from autograder.errors import KitError
from autograder.judging.value_words import with_article
from autograder.model.exercise import Exercise
from autograder.notebook.cell_log import CellLog


def called_step(value: Any, exercise: Exercise, log: CellLog) -> str:
    """Return the name of the step that `value` is; raise `KitError` when it is none."""
    names = vars(sys.modules["__main__"])
    known = [step.name for step in exercise.steps]
    here = [name for name in known if names.get(name) is value]
    asked = [name for name in here if re.search(rf"\b{re.escape(name)}\b", log.running.text)]
    own = getattr(value, "__name__", "")
    name = (asked or here or [own])[0]
    if len(asked) > 1 and own in asked:
        name = own
    if name in here and not _may_be(value, name):
        raise _overwritten(value, name, log)
    if name in known and _may_be(value, name):
        return name
    raise _no_step(value, exercise)


def _may_be(value: Any, name: str) -> bool:
    return isinstance(value, type) if name[:1].isupper() else callable(value)


def _overwritten(value: Any, name: str, log: CellLog) -> KitError:
    cell = log.set_by.get(name)
    return KitError(
        f"`{name}` is now {_value_words(value)}: a cell has overwritten it",
        place=cell.place if cell else f"a cell that sets `{name}`",
        cure=f"call that result something else, run the cell of `{name}` again, "
        f"and then check({name})",
    )


def _no_step(value: Any, exercise: Exercise) -> KitError:
    first = exercise.steps[0].name
    known = [step.name for step in exercise.steps]
    made = type(value).__name__
    if isinstance(value, str) and value in known:
        return KitError(
            f"{value!r} in quotes is only the name of the step",
            place="check(...)",
            cure=f"leave out the quotes: check({value})",
        )
    if made in known:
        return KitError(
            f"an object of the class `{made}` is not the step, the class is",
            place="check(...)",
            cure=f"give it the class itself: check({made})",
        )
    if callable(value):
        name = getattr(value, "__name__", None)
        fact = f"`{name}` is" if name else f"{_value_words(value)} is"
        return KitError(
            f"{fact} not a step of {exercise.name}",
            place="check(...)",
            cure=f"keep the names that the notebook gives to the steps, as in check({first})",
        )
    return KitError(
        f"{_value_words(value)} is not a step",
        place="check(...)",
        cure=f"give it the function or class itself, as in check({first}), and not a result",
    )


def _value_words(value: Any) -> str:
    if callable(value):
        return f"an object of type {type(value).__name__}"
    if not hasattr(value, "shape"):
        return f"a value of type {type(value).__name__}"
    noun = "array" if type(value).__module__ == "numpy" else "tensor"
    return f"{with_article(noun)} of shape {tuple(value.shape)}"

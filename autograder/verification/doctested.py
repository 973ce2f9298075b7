"""The similar code of the third hints does what it says: it is run, as Python's `doctest` does."""

from __future__ import annotations

import doctest
import importlib
import math
from collections.abc import Iterator

import numpy as np

from autograder.ladder.quiet_run import quiet_run
from autograder.model.exercise import Exercise, Step

# A student reads it beside other code, and does not scroll.
LONGEST_LINE, MOST_LINES = 76, 16


def similar_code_gaps(exercise: Exercise) -> tuple[str, ...]:
    """Return a sentence for each step whose similar code prints something else, or is too long."""
    return tuple(gap for step in exercise.steps if step.similar for gap in _gaps(exercise, step))


def _gaps(exercise: Exercise, step: Step) -> Iterator[str]:
    names = {"np": np, "math": math}
    if exercise.library == "torch":
        names |= {"torch": importlib.import_module("torch")}
        names |= {"nn": importlib.import_module("torch.nn")}
    lines = step.similar.strip().split("\n")
    if len(lines) > MOST_LINES or max(map(len, lines)) > LONGEST_LINE:
        yield (
            f"the similar code of {step.name} is longer than {MOST_LINES} lines of {LONGEST_LINE} "
            "characters: show less"
        )
    name = f"the similar code of {step.name}"
    test = doctest.DocTestParser().get_doctest(step.similar, names, name, None, 0)
    if not test.examples:
        yield f"{name} is not written as typed into Python: begin its lines with >>>"
    said: list[str] = []
    with quiet_run(exercise.library, exercise.limits.seconds_per_call):
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    if said:
        found = " ".join("".join(said).split())
        yield f"{name} does not print what stands below it: {found}"

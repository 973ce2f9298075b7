"""A check in a notebook is noted where `attn` keeps a learner's progress, if there is such a place.

Only `attn` makes that place, so nothing is written for a course or by its graders. It does not
matter who runs the cell: a person in JupyterLab, or a command that executes the whole notebook.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from autograder.learning.own_work import MARK, has_say
from autograder.learning.state.progress import noted, read_progress
from autograder.model.exercise import Exercise
from autograder.model.verdict import StepVerdict
from autograder.notebook.prose import say


def note_in_workspace(exercise: Exercise, verdict: StepVerdict, does: Iterable[str] = ()) -> None:
    """Note a check of one step in the learner's workspace, if the exercise lies in one.

    `does` are the steps whose work it does if it passes, since it is a layer.

    It never raises for the sake of a disk: what cannot be written is said once.
    """
    root = _workspace_around(exercise)
    if root is None:
        return
    name = exercise.name
    counts = verdict.passes or has_say(exercise, exercise.folder.resolve() / f"{name}.ipynb")
    noted(
        read_progress(root, _say),
        lambda now: (
            now.with_current(name)
            .with_verdict(name, verdict, counts=counts)
            .with_layer(name, does, passes=verdict.passes)
            .with_check_at(name, time.time())
        ),
        _say,
    )


def known_by_layer(exercise: Exercise, step: str) -> bool:
    """Whether a step is open, and the layer did its work when it was last checked."""
    root = _workspace_around(exercise)
    return root is not None and read_progress(root, _say).step(exercise.name, step).by_layer


def _workspace_around(exercise: Exercise) -> Path | None:
    folder = exercise.folder.resolve()
    return next((each for each in (folder.parent, folder) if (each / MARK).is_dir()), None)


@cache
def _say(sentence: str) -> None:
    say(sentence)  # the same once

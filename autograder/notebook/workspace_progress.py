"""A check in a notebook is noted where `attn` keeps a learner's progress, if there is such a place.

Only `attn` makes that place, so nothing is written for a course or by its graders. It does not
matter who runs the cell: a person in JupyterLab, or a command that executes the whole notebook.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import cache

from autograder.learning.own_work import MARK, has_say
from autograder.learning.state.progress import noted, read_progress
from autograder.model.exercise import Exercise
from autograder.model.verdict import StepVerdict
from autograder.notebook.prose import say


def note_in_workspace(exercise: Exercise, verdict: StepVerdict, does: Iterable[str] = ()) -> None:
    """Note a check of one step in the learner's workspace, if the exercise lies in one.

    `does` are the steps whose work it does, since it is a layer that passes.

    It never raises for the sake of a disk: what cannot be written is said once.
    """
    folder = exercise.folder.resolve()
    root = next((each for each in (folder.parent, folder) if (each / MARK).is_dir()), None)
    if root is None:
        return
    name = exercise.name
    counts = verdict.passes or has_say(exercise, folder / f"{name}.ipynb")
    noted(
        read_progress(root, _say),
        lambda now: (
            now.with_current(name)
            .with_verdict(name, verdict, counts=counts)
            .with_layer(name, does)
            .with_check_at(name, time.time())
        ),
        _say,
    )


@cache
def _say(sentence: str) -> None:
    say(sentence)  # the same once

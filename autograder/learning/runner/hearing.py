"""Hears what the language model says through the learner's layer, which a child runs."""

from __future__ import annotations

import math
from collections.abc import Callable

from autograder.errors import KitError
from autograder.judging.time_limit import GRACE, WALL
from autograder.language_model.writing import TextLoss
from autograder.learning.runner.checking import Checking, JobRunner
from autograder.learning.runner.speech import SECONDS


def hear(checking: Checking, layer: str, child: JobRunner, say: Callable[[str], None]) -> TextLoss:
    """Return the loss of the model with the learner's `layer`; `say` gets the text in pieces.

    `child` was started for the exercise and is ended here. Raises `KitError` when it cannot speak.
    """
    child.wait_until_ready()
    child.send({**checking.job(), "speaks": layer})
    loss = TextLoss(math.nan, 0)
    try:
        while True:
            message = child.receive(WALL * SECONDS + GRACE)
            match message["event"]:
                case "measured":
                    loss = TextLoss(message["nats"], message["characters"])
                case "spoke":
                    say(message["text"])
                case "speechless":
                    raise _speechless(checking, message["why"])
                case "done":
                    return loss
                case "loading" | "loaded":
                    pass
                case _:
                    raise _speechless(checking, "your file does not run to its end.")
    finally:
        child.end()


def _speechless(checking: Checking, why: str) -> KitError:
    return KitError(
        f"the model cannot speak yet: {why}",
        place=str(checking.submission.path),
        cure="`attn check` says what is missing",
    )

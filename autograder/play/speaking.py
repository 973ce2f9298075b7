"""A language model speaks through the learner's layer, in the last cells of the notebook."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autograder.judging.inprocess import layer_error_words, undisturbed
from autograder.judging.time_limit import StillRunning
from autograder.learning.card import say, show_text
from autograder.learning.notebook_check import limited, met_mistakes
from autograder.play.language_model import (
    BEFORE,
    PROMPT,
    WITH_LAYER,
    WITHOUT,
    WITHOUT_LAYER,
    MakeLayer,
    PlainAverage,
    loss_words,
    measured_loss,
    read_costs,
    spoken_mistake_words,
    written,
)

SECONDS = 40.0  # of processor time; a right layer needs about five


def speak(make: MakeLayer, *, mistakes: bool = False) -> None:
    """Let a small language model write text through a learner's layer, and say how good it is.

    make: the learner's class. mistakes: whether to tell what all mistakes that were met would have
    cost, or else three others. This earns no points, so it never raises: where the layer gives
    nothing to go on with, a sentence says why.
    """
    try:
        with undisturbed(), limited(SECONDS), np.errstate(all="ignore"):
            _speak(make, mistakes)
    except (Exception, StillRunning, SystemExit) as error:
        say(f"It cannot speak yet: {layer_error_words(error)}")


def _speak(make: MakeLayer, mistakes: bool) -> None:
    # Whole, and before anything is printed: it may raise, and a page shows each piece by itself.
    loss, text = measured_loss(make), PROMPT + "".join(written(make))
    say(BEFORE)
    say(WITHOUT_LAYER)
    show_text(f"{PROMPT}{''.join(written(PlainAverage, length=WITHOUT))}")
    say(WITH_LAYER)
    show_text(text)
    say(loss_words(loss))
    for paragraph in spoken_mistake_words(read_costs(Path.cwd()), met_mistakes(), others=mistakes):
        say(*paragraph)

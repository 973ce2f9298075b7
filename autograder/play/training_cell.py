"""A model speaks, or is trained, through the learner's layer, in the notebook's last cells."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from autograder.judging.inprocess import Unusable, layer_error_words, undisturbed
from autograder.judging.time_limit import StillRunning
from autograder.learning.card import WIDTH, say, shell, show_text
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
from autograder.play.training_words import (
    Moment,
    TrainingResult,
    mistake_words,
    moment_words,
    picture_svg,
    read_trainings,
    result_words,
    shaded_lines,
    tried_words,
    words_before,
)
from autograder.reports.picture import render_panels, text_lines

if TYPE_CHECKING:
    from autograder.play.training import LayerOfWidth

# The loss of a training as a line in HTML: it takes the color of the page's own text.

_WIDE, _HIGH, _EDGE, _LINE = 320, 120, 8, 14  # pixels
_STYLE = "display:block;max-width:100%;margin:.4em 0;font-size:11px"


def render_curve(moments: Sequence[Moment]) -> str:
    """Return the losses as an SVG line, 0 at the bottom; nothing for fewer than two."""
    known = [each for each in moments if math.isfinite(each.loss)]
    if len(known) < 2:
        return ""
    first, last = known[0], known[-1]
    highest = max(each.loss for each in known) or 1.0
    top, bottom, right = _EDGE + _LINE, _HIGH - _EDGE - _LINE, _WIDE - _EDGE
    points = " ".join(
        f"{_EDGE + each.step / last.step * (right - _EDGE):.1f},"
        f"{bottom - each.loss / highest * (bottom - top):.1f}"
        for each in known
    )
    said = f"The loss goes from {first.loss:.2g} to {last.loss:.2g}."
    return (
        f"<svg role='img' aria-label='{said}' width='{_WIDE}' height='{_HIGH}' "
        f"viewBox='0 0 {_WIDE} {_HIGH}' style='{_STYLE}' fill='currentColor'>"
        f"<path d='M{_EDGE},{bottom}H{right}' stroke='currentColor' stroke-opacity='.3'/>"
        f"<polyline points='{points}' fill='none' stroke='currentColor' stroke-width='2'/>"
        f"<text x='{_EDGE}' y='{_LINE}'>loss {highest:.2g}</text>"
        f"<text x='{_EDGE}' y='{_HIGH - _EDGE}'>0</text>"
        f"<text x='{right}' y='{_HIGH - _EDGE}' text-anchor='end'>step {last.step}</text></svg>"
    )


FIRST_SECONDS = 5.0  # for the first call of a layer
SECONDS = 60.0  # of processor time, where a training has not stopped by itself
_BESIDE = "overflow-x:auto;display:flex;flex-wrap:wrap;gap:.4em 1.6em"
# nbgrader sets it in the kernels that it runs; Validate gives each cell 30 seconds.
RUN_BY_NBGRADER = "NBGRADER_EXECUTION"


def train(
    task: str, make: LayerOfWidth, *, causal: bool = False, most_steps: int | None = None
) -> None:
    """Train a small model on a task through a learner's layer, and show how it goes.

    task: repeat, sort, write or digits. make: returns the layer for a width. causal: whether the
    layer is called with causal=True. most_steps: those of the task, if not given.

    This earns no points, so what the layer does raises nothing: a sentence says what it is. What
    the layer prints is not shown. Where nbgrader runs the notebook, nothing is trained. Raises
    `KitError` for a task that there is not.
    """
    from autograder.play.training import task_named

    chosen = task_named(task)
    if os.environ.get(RUN_BY_NBGRADER):
        say("nbgrader runs this notebook now, so nothing is trained. Run this cell yourself.")
        return
    try:
        with undisturbed():
            result = _trained(chosen, make, causal, most_steps)
    except (Exception, StillRunning, SystemExit) as error:
        say(f"Not yet: {layer_error_words(error)}")
        return
    show_text("\n".join(map(tried_words, result.tried)))
    say(*result_words(result, read_trainings(Path.cwd()), causal=causal))


def show_costs() -> None:
    """Say what the mistakes that were met in this kernel would have done to a training."""
    measured, met = read_trainings(Path.cwd()), met_mistakes()
    for number, paragraph in enumerate(mistake_words(measured, met, others=True)):
        if number:
            print()
        say(*paragraph)


def _trained(task: Any, make: LayerOfWidth, causal: bool, most_steps: int | None) -> TrainingResult:
    from autograder.play.training import call_once, trained

    with limited(FIRST_SECONDS), contextlib.redirect_stdout(io.StringIO()):
        call_once(task, make, causal=causal)
    shown = _Shown(words_before(task.name))
    with limited(SECONDS):
        for each in _unheard(trained(task, make, causal=causal, steps=most_steps)):
            if isinstance(each, TrainingResult):
                return each
            shown.add(each)
    raise Unusable("the training came to no end.")


def _unheard(moments: Iterator[Moment | TrainingResult]) -> Iterator[Moment | TrainingResult]:
    """Yield what comes, without what is printed on the way."""
    while True:
        with contextlib.redirect_stdout(io.StringIO()):
            each = next(moments, None)
        if each is None:
            return
        yield each


class _Shown:
    """What is seen of a training: in a notebook one output that is renewed, else lines."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._moments: list[Moment] = []
        self._handle: Any = None
        self._display: Any = sys.modules["IPython"].display if shell() else None
        if self._display is None:
            print(textwrap.fill(words, WIDTH))

    def add(self, moment: Moment) -> None:
        """Show one more moment."""
        self._moments.append(moment)
        if self._display is None:
            print(moment_words(moment))
            return
        content = {"text/plain": self._text(), "text/html": self._html()}
        if self._handle is None:
            self._handle = self._display.display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def _text(self) -> str:
        drawings = self._moments[-1].drawings
        pictures = [line for each in drawings for line in (each.shows, *shaded_lines(each.picture))]
        panels = [each.panel() for each in drawings]
        lines = [textwrap.fill(self._words, WIDTH), *map(moment_words, self._moments)]
        return "\n".join([*lines, *filter(None, pictures), *text_lines(panels)])

    def _html(self) -> str:
        drawings = self._moments[-1].drawings
        pictures = "".join(
            f"<div><strong>{escape(each.shows)}</strong><br>"
            f"{picture_svg(each.picture, each.shows)}</div>"
            for each in drawings
            if each.picture
        )
        return (
            f"<p>{escape(self._words)}</p>{render_curve(self._moments)}"
            f"<p>{escape(moment_words(self._moments[-1]))}</p><div style='{_BESIDE}'>"
            f"{pictures}{render_panels([each.panel() for each in drawings])}</div>"
        )


# A language model speaks through the learner's layer, in the last cells of the notebook.

SPEAKING_SECONDS = 40.0  # of processor time; a right layer needs about five


def speak(make: MakeLayer, *, mistakes: bool = False) -> None:
    """Let a small language model write text through a learner's layer, and say how good it is.

    make: the learner's class. mistakes: whether to tell what all mistakes that were met would have
    cost, or else three others. This earns no points, so it never raises: where the layer gives
    nothing to go on with, a sentence says why.
    """
    try:
        with undisturbed(), limited(SPEAKING_SECONDS), np.errstate(all="ignore"):
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

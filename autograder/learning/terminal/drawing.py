"""Heat maps of a step: yours, expected, the difference, and what it was called with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import RenderableType
from rich.text import Text

from autograder.heatmaps import Panel, comparison, panel, save, terminal_panels
from autograder.heatmaps.picture import OwnResult, own_picture
from autograder.judging.tokens import Tokens
from autograder.learning.runner.results import CheckRun, Drawn, GivenInput, StepRun


@dataclass(frozen=True)
class StepPicture:
    """The picture of one array of a check: words, and heat maps.

    entry: which entry of its leading axes is shown, by name. row: one token in yours and expected.
    """

    name: str
    words: str
    panels: tuple[Panel, ...]
    entry: tuple[tuple[str, int], ...] = ()
    row: tuple[Panel, ...] = ()


def chosen(run: StepRun) -> CheckRun | None:
    """Return a check with arrays that fails, or else one with arrays, or None.

    It is the example of the text, if that is one, or else the first.
    """
    drawn = [check for check in run.checks if check.arrays]
    drawn.sort(key=lambda check: check.arrays[0].tokens is None)
    failing = [check for check in drawn if not check.verdict.passes]
    return next(iter(failing or drawn), None)


def pictures(check: CheckRun) -> tuple[StepPicture, ...]:
    """Return pictures of a check's arrays that differ, or of all if none differs."""
    every = [(_picture(drawn), _differs(drawn)) for drawn in check.arrays]
    differing = tuple(picture for picture, differs in every if differs)
    return differing or tuple(picture for picture, _ in every)


def _differs(drawn: Drawn) -> bool:
    if drawn.yours is None:
        return True
    compared = comparison(
        np.asarray(drawn.yours), np.asarray(drawn.expected), precision=drawn.precision
    )
    return compared.differs


def _picture(drawn: Drawn) -> StepPicture:
    expected = np.asarray(drawn.expected)
    tokens = _tokens(drawn)
    labels = tokens.labels(expected.shape, drawn.axes) if tokens else None
    if drawn.yours is None:
        alone = panel(expected, title="expected", axes=drawn.axes, labels=labels)
        return StepPicture(drawn.name, "Your code gave no array here.", (alone,))
    compared = comparison(
        np.asarray(drawn.yours),
        expected,
        axes=drawn.axes,
        labels=labels,
        precision=drawn.precision,
        tokens=tokens,
    )
    if compared.panels:
        entry = zip((drawn.axes or "").split(), compared.index)
        words = _capital(compared.words)
        return StepPicture(drawn.name, words, compared.panels, tuple(entry), compared.row)
    arrays, names = {"yours": np.asarray(drawn.yours), "expected": expected}, drawn.axes or ""
    panels = tuple(
        panel(array, title=title, axes=names if array.ndim == len(names.split()) else None)
        for title, array in arrays.items()
    )
    return StepPicture(drawn.name, _capital(compared.words), panels)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step: its heat maps, or why there are none."""
    check = chosen(run)
    if check is None:
        name = run.step.name
        if run.step.random:
            return (Text(f"{name} draws random numbers: there is nothing to compare them with."),)
        return (Text(f"There is nothing to draw for {name} yet."),)
    pieces: list[RenderableType] = [Text(f"The check: {check.verdict.title}.")]
    if check.verdict.finding and all(each.yours is None for each in check.arrays):
        pieces += [Text(), Text(check.verdict.finding.fact)]  # why there is nothing to draw
    for number, picture in enumerate(pictures(check)):
        name = f"{picture.name}: " if len(check.arrays) > 1 else ""
        pieces += [Text()] * bool(number)
        pieces += [Text(f"{name}{picture.words}")]
        # The row of one token stands by itself: it fits the smallest screen.
        pieces += [terminal_panels(panels) for panels in (picture.row, picture.panels) if panels]
    return (*pieces, *_inputs(check))


def own_drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step that passes: the row that the text follows, or a heat map."""
    own = own_picture(
        [
            OwnResult(
                run.step.name,
                check.verdict.title,
                drawn.name,
                np.asarray(drawn.yours),
                drawn.axes,
                _tokens(drawn),
            )
            for check in run.checks
            for drawn in check.arrays
            if drawn.axes and drawn.yours is not None
        ]
    )
    if not own.caption:
        return ()
    panels = [each for each in own.panels if each.bars] or own.panels
    return (Text(own.caption), terminal_panels(panels), Text())


def _inputs(check: CheckRun) -> tuple[RenderableType, ...]:
    """Return what the check handed over, at the entry that is drawn of the result."""
    if not check.inputs:
        return ()
    words = "; ".join(given.words for given in check.inputs)
    entry = dict(pictures(check)[0].entry)
    panels = tuple(
        _input_panel(given, entry, _tokens(check.arrays[0]))
        for given in check.inputs
        if given.numbers
    )
    drawn = (terminal_panels(panels),) if panels else ()
    return (Text(), Text(f"The input: {words}."), *drawn)


def _tokens(drawn: Drawn) -> Tokens | None:
    return Tokens(**drawn.tokens) if drawn.tokens else None


def _input_panel(given: GivenInput, entry: Mapping[str, int], tokens: Tokens | None) -> Panel:
    numbers = np.asarray(given.numbers)
    names = (given.axes or "").split()
    # A learner may have changed the annotation that names the axes.
    if len(names) == numbers.ndim:
        wanted = [entry.get(axis, 0) for axis in names[:-2]]
    else:  # without names, the axes are taken to stand in the order of the result's
        wanted = list(entry.values()) if len(entry) == numbers.ndim - 2 else [0] * numbers.ndim
    index = tuple(min(number, size - 1) for number, size in zip(wanted, numbers.shape[:-2]))
    labels = tokens.labels(numbers.shape, given.axes) if tokens else None
    return panel(numbers, title=given.name, axes=given.axes, labels=labels, index=index)


def draw_file(path: Path, check: CheckRun) -> None:
    """Draw a check's arrays into a PNG or SVG file; raises `KitError` as `save` does."""
    drawn = [panel for each in pictures(check) for panel in (*each.row, *each.panels)]
    save(path, tuple(drawn))

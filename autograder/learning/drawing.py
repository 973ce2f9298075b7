"""Heat maps of a step: yours, expected, the difference, and what it was called with."""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from autograder.learning.results import CheckRun, StepRun
from autograder.learning.step_pictures import CheckPicture, chosen, picture_of_run
from autograder.reports.figure import save_figure
from autograder.reports.terminal_text import Blocks
from autograder.values.value_file import read_as


def drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step: its heat maps, or why there are none."""
    check = chosen(run)
    if check is None:
        name = run.step.name
        if run.step.random:
            return (Text(f"{name} draws random numbers: there is nothing to compare them with."),)
        return (Text(f"There is nothing to draw for {name} yet."),)
    pieces: list[RenderableType] = [Text(f"The check: {check.verdict.title}.")]
    picture = read_as(CheckPicture, check.drawn)
    if check.verdict.finding and not picture.given:
        pieces += [Text(), Text(check.verdict.finding.fact)]  # why there is nothing to draw
    for number, each in enumerate(picture.arrays):
        pieces += [Text()] * bool(number)
        pieces += [Text(f"{each.name}: {each.words}" if each.name else each.words)]
        if each.row:  # by itself, since it fits the smallest screen
            pieces += [Blocks(each.row), Text()]
        pieces += [Blocks(each.panels)] if each.panels else []
    if check.inputs:
        pieces += [Text(), Text(f"The input: {'; '.join(check.inputs)}.")]
        pieces += [Blocks(picture.inputs)] if picture.inputs else []
    return tuple(pieces)


def own_drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step that passes: the row that the text follows, or a heat map."""
    own = picture_of_run(run)
    if not own.caption:
        return ()
    panels = [each for each in own.panels if each.bars] or own.panels
    return (Text(own.caption), Blocks(panels), Text())


def draw_file(path: Path, check: CheckRun) -> None:
    """Draw a check's arrays into a PNG or SVG file; raises `KitError` as `save_figure` does."""
    arrays = read_as(CheckPicture, check.drawn).arrays
    save_figure(path, tuple(panel for each in arrays for panel in (*each.row, *each.panels)))

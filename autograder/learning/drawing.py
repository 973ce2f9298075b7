"""Heat maps of a step: yours, expected, the difference, and what it was called with."""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from autograder.learning.results import CheckRun, StepRun
from autograder.learning.step_pictures import chosen, input_panels, own_result, pictures
from autograder.reports.figure import save_figure
from autograder.reports.terminal_text import Blocks


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
        if picture.row:  # by itself, since it fits the smallest screen
            pieces += [Blocks(picture.row), Text()]
        pieces += [Blocks(picture.panels)] if picture.panels else []
    return (*pieces, *_inputs(check))


def own_drawn(run: StepRun) -> tuple[RenderableType, ...]:
    """Return what to print for a step that passes: the row that the text follows, or a heat map."""
    own = own_result(run)
    if not own.caption:
        return ()
    panels = [each for each in own.panels if each.bars] or own.panels
    return (Text(own.caption), Blocks(panels), Text())


def _inputs(check: CheckRun) -> tuple[RenderableType, ...]:
    """Return what the check handed over."""
    if not check.inputs:
        return ()
    words = "; ".join(given.words for given in check.inputs)
    panels = input_panels(check)
    drawn = (Blocks(panels),) if panels else ()
    return (Text(), Text(f"The input: {words}."), *drawn)


def draw_file(path: Path, check: CheckRun) -> None:
    """Draw a check's arrays into a PNG or SVG file; raises `KitError` as `save_figure` does."""
    drawn = [panel for each in pictures(check) for panel in (*each.row, *each.panels)]
    save_figure(path, drawn)

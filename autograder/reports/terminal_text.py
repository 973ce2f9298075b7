"""Heat maps in a terminal, as blocks of color with numbers; and as a PNG or SVG file.

A terminal does not say whether it is light or dark. So 0 has the terminal's own colors and looks
like nothing, and every other number has a color of the 256 that differs the more from white and
from black the larger it is. Without color, the numbers and their signs remain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.style import Style
from rich.table import Table
from rich.text import Text

from autograder.errors import KitError
from autograder.reports.picture import Panel, bar_lines

# Colors of a 256-color terminal, from small numbers to large ones; black can be read on each.
# People who are color-blind can tell blue from orange.
POSITIVE = (109, 110, 74, 75, 39)
NEGATIVE = (144, 179, 215, 208, 202)
INK = 16  # black, whatever colors the terminal calls black
ZERO = Style()
OFF_THE_SCALE = Style(bold=True, italic=True)
DIM = Style(dim=True)
CELL = 5  # the least width of a cell, including the space beside the number
LABEL = 10  # the greatest width of a label
ROWS = 24
GAP = 2


@dataclass(frozen=True)
class Blocks:
    """Heat maps that rich prints, side by side if the console is wide enough."""

    panels: Sequence[Panel]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give rows of panels, with as many in each row as fit the console."""
        shelf: list[Text] = []
        for number, text in enumerate(block(each, options.max_width) for each in self.panels):
            if shelf and _width([*shelf, text]) > options.max_width:
                yield _side_by_side(shelf)
                yield Text()
                shelf = []
            shelf.append(text)
            if number == len(self.panels) - 1:
                yield _side_by_side(shelf)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width of the widest panel, and that of all panels side by side."""
        texts = [block(each, options.max_width) for each in self.panels]
        return Measurement(max(map(_width_of, texts), default=0), _width(texts))


def block(panel: Panel, width: int) -> Text:
    """Return one panel as lines at most `width` wide, with a note about what is cut off."""
    if panel.bars:
        title = [panel.title] if panel.title else []
        return Text("\n".join([*title, *bar_lines(panel)]), no_wrap=True, overflow="ellipsis")
    rows, columns = panel.heads
    margin = min(LABEL, _widest(panel.labels[0], (rows,)))
    column = max(CELL, min(LABEL, _widest(panel.labels[1], *signed_cells(panel)) + 1))
    panel = panel.cut(ROWS, (width - margin) // column)
    text = Text(panel.title, style="bold", no_wrap=True, overflow="ellipsis")
    text = Text.assemble(text, "\n", no_wrap=True, overflow="ellipsis")
    head = "".join(_fitted(label, column, right=True) for label in panel.labels[1])
    text.append(f"{' ' * margin} {columns}\n", DIM)
    text.append(f"{_fitted(rows, margin)}{head}\n", DIM)
    for row, (label, cells) in enumerate(zip(panel.labels[0], signed_cells(panel))):
        text.append(_fitted(label, margin), DIM)
        for place, cell in enumerate(cells):
            text.append(_fitted(cell, column, right=True), style(panel.strength(row, place)))
        text.append("\n")
    for note in panel.notes:
        text.append(f"{note}\n", DIM)
    text.rstrip()
    return text


def style(strength: float | None) -> Style:
    """Return the colors of a cell; 0 has none of its own."""
    if strength is None:
        return OFF_THE_SCALE
    if strength == 0:
        return ZERO
    shades = POSITIVE if strength > 0 else NEGATIVE
    shade = shades[min(math.ceil(abs(strength) * len(shades)), len(shades)) - 1]
    return Style(color=Color.from_ansi(INK), bgcolor=Color.from_ansi(shade))


def signed_cells(panel: Panel) -> tuple[tuple[str, ...], ...]:
    """Return a panel's cells; if one is negative, positive numbers have a sign, too."""
    rows, columns = panel.values.shape
    strengths = [[panel.strength(row, column) for column in range(columns)] for row in range(rows)]
    if not any(each is not None and each < 0 for row in strengths for each in row):
        return panel.cells
    return tuple(
        tuple(f"+{cell}" if each and each > 0 else cell for cell, each in zip(*pair))
        for pair in zip(panel.cells, strengths)
    )


def _widest(*texts: Sequence[str]) -> int:
    return max((cell_len(text) for each in texts for text in each), default=0)


def _fitted(text: str, width: int, right: bool = False) -> str:
    most = width - 1 if right else width
    if cell_len(text) > most:
        text = set_cell_size(text, most - 1) + "…"
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _width_of(text: Text) -> int:
    return _widest(text.plain.splitlines())


def _width(texts: Sequence[Text]) -> int:
    return sum(map(_width_of, texts)) + GAP * max(0, len(texts) - 1)


def _side_by_side(texts: Sequence[Text]) -> Table:
    grid = Table.grid(padding=(0, GAP, 0, 0))
    for text in texts:
        grid.add_column(no_wrap=True, min_width=min(_width_of(text), 1000))
    grid.add_row(*texts)
    return grid


# Heat maps as a PNG or SVG file, drawn by matplotlib.
#
# matplotlib is an extra, because it would double the size of what a student of the NumPy exercise
# installs, and only picture files need it. The figure is made without pyplot, so the backend that
# a learner has chosen stays in use.

FORMATS = (".png", ".svg")
FILE_MOST = (24, 24)
# Light enough for black numbers, and easy to tell apart for people who are color-blind.
FILE_POSITIVE, FILE_NEGATIVE = "#56b4e9", "#e69f40"
# Inches: the side of a cell, and the margin around the cells.
INCHES = 0.5
MARGIN = 0.9
DOTS_PER_INCH = 150


def save_figure(path: Path, panels: Sequence[Panel]) -> None:
    """Draw `panels` side by side into a `.png` or `.svg` file.

    Raises `KitError` when matplotlib is missing, the suffix is a different one, or the file
    cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise KitError(
            f"a picture cannot be saved as {path.suffix or 'a file without a suffix'}",
            place=str(path),
            cure=f"give the file a name that ends in {' or '.join(FORMATS)}",
        )
    matplotlib = _matplotlib(path)
    figure = _figure(matplotlib, tuple(panel.cut(*FILE_MOST) for panel in panels))
    try:
        # Without a date or random ids, the same picture gives the same file.
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        with matplotlib.rc_context({"svg.hashsalt": "heat map"}):
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata=metadata)
    except OSError as error:
        raise KitError(
            f"the picture cannot be written: {error.strerror}",
            place=str(path),
            cure="name a file in an existing folder that you may write to",
        ) from None


def _matplotlib(path: Path) -> Any:
    try:
        import matplotlib.colors
        import matplotlib.figure
    except ImportError:
        raise KitError(
            "matplotlib, which draws pictures into files, is not installed",
            place=str(path),
            cure="python -m pip install matplotlib; "
            "pictures in the terminal and in the notebook do not need it",
        ) from None
    return matplotlib


def _figure(matplotlib: Any, panels: tuple[Panel, ...]) -> Any:
    width = sum(panel.values.shape[1] * INCHES + MARGIN for panel in panels)
    height = max(panel.values.shape[0] for panel in panels) * INCHES + 1.6 * MARGIN
    figure = matplotlib.figure.Figure(figsize=(max(width, 3.0), height), layout="constrained")
    ratios = [panel.values.shape[1] + MARGIN / INCHES for panel in panels]
    places = figure.subplots(1, len(panels), squeeze=False, width_ratios=ratios)[0]
    ends = [FILE_NEGATIVE, "white", FILE_POSITIVE]
    colors = matplotlib.colors.LinearSegmentedColormap.from_list("signed", ends)
    for place, panel in zip(places, panels):
        _draw(place, panel, colors)
    return figure


def _draw(place: Any, panel: Panel, colors: Any) -> None:
    rows, columns = panel.values.shape
    strengths = np.array(
        [
            [np.nan if (each := panel.strength(row, column)) is None else each]
            for row in range(rows)
            for column in range(columns)
        ]
    ).reshape(rows, columns)
    place.set_facecolor("0.85")  # the color of a number that is not on the scale
    place.imshow(np.ma.masked_invalid(strengths), cmap=colors, vmin=-1, vmax=1)
    place.set_title(panel.title, fontsize=10)
    place.set_xticks(range(columns), panel.labels[1], rotation=45, ha="left", fontsize=8)
    place.set_yticks(range(rows), panel.labels[0], fontsize=8)
    place.xaxis.set_ticks_position("top")
    place.xaxis.set_label_position("top")
    place.set_xlabel(panel.axes[1], fontsize=9)
    place.set_ylabel(panel.axes[0], fontsize=9)
    for row, cells in enumerate(panel.cells):
        for column, cell in enumerate(cells):
            place.text(column, row, cell, ha="center", va="center", fontsize=8, color="black")
    if panel.notes:
        place.text(
            0.5,
            -0.03,
            "\n".join(panel.notes),
            transform=place.transAxes,
            ha="center",
            va="top",
            fontsize=7,
        )

"""Heat maps as a PNG or SVG file, drawn by matplotlib.

matplotlib is an extra, because it would double the size of what a student of the NumPy exercise
installs, and only picture files need it. The figure is made without pyplot, so the backend that a
learner has chosen stays in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autograder.errors import KitError
from autograder.reports.panel import Panel

FORMATS = (".png", ".svg")
MOST = (24, 24)
# Light enough for black numbers, and easy to tell apart for people who are color-blind.
POSITIVE, NEGATIVE = "#56b4e9", "#e69f40"
# Inches: the side of a cell, and the margin around the cells.
CELL = 0.5
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
    figure = _figure(matplotlib, tuple(panel.cut(*MOST) for panel in panels))
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
    width = sum(panel.values.shape[1] * CELL + MARGIN for panel in panels)
    height = max(panel.values.shape[0] for panel in panels) * CELL + 1.6 * MARGIN
    figure = matplotlib.figure.Figure(figsize=(max(width, 3.0), height), layout="constrained")
    ratios = [panel.values.shape[1] + MARGIN / CELL for panel in panels]
    places = figure.subplots(1, len(panels), squeeze=False, width_ratios=ratios)[0]
    ends = [NEGATIVE, "white", POSITIVE]
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

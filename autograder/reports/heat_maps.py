"""Heat maps of arrays: in a terminal, in a notebook's card, as plain text, as a PNG or SVG file.

A picture must be readable without colors (every cell shows its number) and in any theme.
Importing this package loads neither rich nor matplotlib before they are needed: a check in a
notebook draws with NumPy and the standard library alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.reports.panel import Comparison, Panel, comparison, panel

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = [
    "Comparison",
    "Panel",
    "comparison",
    "panel",
    "save",
    "terminal_panels",
]


def terminal_panels(panels: Sequence[Panel]) -> RenderableType:
    """Return heat maps for a rich console, side by side if it is wide enough."""
    from autograder.reports.terminal_text import Blocks

    return Blocks(tuple(panels))


def save(path: Path, panels: Sequence[Panel]) -> None:
    """Draw heat maps side by side into a `.png` or `.svg` file.

    Raises `KitError` when matplotlib is missing, the suffix is a different one, or the file
    cannot be written.
    """
    from autograder.reports.figure import save_figure

    save_figure(path, tuple(panels))

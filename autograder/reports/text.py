"""Heat maps as plain text: the numbers, with the names of the axes and of their entries.

This is how nbgrader's feedback, a log or an editor without HTML shows a picture.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.reports.panel import Panel

WIDEST = 72
GAP = "   "
MOST = (12, 10)
BAR = 24  # the signs of the longest bar


def text_lines(panels: Sequence[Panel]) -> tuple[str, ...]:
    """Return heat maps as lines: side by side if all fit, or else one below the other."""
    blocks = [_block(panel.cut(*MOST)) for panel in panels]
    widths = [max(map(len, block)) for block in blocks]
    if sum(widths) + len(GAP) * (len(blocks) - 1) > WIDEST:
        return tuple(line for block in blocks for line in block)
    height = max(map(len, blocks), default=0)
    for block in blocks:
        block += [""] * (height - len(block))
    rows = zip(*blocks)
    return tuple(
        GAP.join(line.ljust(width) for line, width in zip(row, widths)).rstrip() for row in rows
    )


def _block(panel: Panel) -> list[str]:
    """Return the lines: title, names of the axes and columns, rows, notes."""
    rows, columns = panel.heads
    if panel.bars:
        return [*([f"{panel.title}:"] if panel.title else []), *bar_lines(panel)]
    names = (rows, *panel.labels[0])
    cells = (panel.labels[1], *panel.cells)
    margin, width = max(map(len, names)), max(len(cell) for row in cells for cell in row)
    lines = [
        f"{name:<{margin}}  " + " ".join(f"{cell:>{width}}" for cell in row)
        for name, row in zip(names, cells)
    ]
    return [f"{panel.title}:", f"{'':<{margin}}  {columns}".rstrip(), *lines, *panel.notes]


def bar_lines(panel: Panel) -> list[str]:
    """Return a line for each number of a panel of bars: its name, the number, a bar."""
    cells = [cells[0] for cells in panel.cells]
    margin, width = max(map(len, panel.labels[0])), max(map(len, cells))
    return [
        f"{name:<{margin}}  {cell:>{width}}  {'█' * round(abs(panel.strength(row, 0) or 0) * BAR)}"
        for row, (name, cell) in enumerate(zip(panel.labels[0], cells))
    ]

"""Heat maps as HTML tables, for the card of a check and for a notebook's last cells.

A table is text too. The numbers and the names of the axes remain where styles are removed
(nbgrader's feedback) or nothing is drawn (a screen reader). Transparent colors lie between the
page's own background and its own text, so they work in a light and in a dark theme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from autograder.heatmaps.panel import Panel

# Red, green, blue; transparent enough for the text of either theme to stand out.
POSITIVE = "25,118,210"
NEGATIVE = "230,90,0"
MOST_OPAQUE = 0.55
MOST = (12, 12)

SHELF = "display:flex;flex-wrap:wrap;gap:.4em 1.2em;margin:.5em 0"
# Every property that a notebook's own style sheet sets for tables is set here.
TABLE = "border-collapse:collapse;margin:.2em 0;table-layout:auto;font-size:90%;border:none"
ROW = "background:none"
HEAD = "font-weight:normal;opacity:.75;padding:.15em .4em;border:none;white-space:nowrap"
CELL = (
    "padding:.15em .4em;text-align:right;border:1px solid rgba(128,128,128,.25);"
    "font-variant-numeric:tabular-nums;white-space:nowrap"
)
FIGURE = "max-width:100%;overflow-x:auto"
OWN_ROW = "your row"
BAR = 14  # the width of a bar's cell, in em
OFF_THE_SCALE = "font-style:italic;opacity:.6"
NOTE = "opacity:.75;font-size:85%"


def render_panels(panels: Sequence[Panel]) -> str:
    """Return heat maps as HTML, side by side if the page is wide enough."""
    inside = "".join(_figure(panel.cut(*MOST)) for panel in panels)
    return f"<div style='{SHELF}'>{inside}</div>"


def _figure(panel: Panel) -> str:
    notes = "".join(f"<div style='{NOTE}'>{escape(note)}</div>" for note in panel.notes)
    # Not a caption: nbgrader's feedback would show the tag itself.
    rows, title = "".join(_rows(panel)), escape(panel.title)
    return (
        f"<div style='{FIGURE}'><strong>{title}</strong>"
        f"<table aria-label='{title or OWN_ROW}' style='{TABLE}'>"
        f"<thead>{_head(panel)}</thead><tbody>{rows}</tbody></table>{notes}</div>"
    )


def _head(panel: Panel) -> str:
    rows, columns = (f"{axis} {arrow}" if axis else "" for axis, arrow in zip(panel.axes, "↓→"))
    names = "".join(_heading(label, "col", "right") for label in panel.labels[1])
    style, width = f"{HEAD};text-align:left", len(panel.labels[1])
    over = f"<th scope='colgroup' style='{style}' colspan='{width}'>{escape(columns)}</th>"
    corner = f"<td style='{HEAD}'></td>"
    return (
        f"<tr style='{ROW}'>{corner}{over}</tr>"
        f"<tr style='{ROW}'>{_heading(rows, 'col', 'left')}{names}</tr>"
    )


def _heading(text: str, scope: str, side: str) -> str:
    return f"<th scope='{scope}' style='{HEAD};text-align:{side}'>{escape(text)}</th>"


def _rows(panel: Panel) -> Iterator[str]:
    # All columns have the same width, so that nobody reads a meaning into a cell's size.
    widest = max(len(text) for row in (panel.labels[1], *panel.cells) for text in row)
    for row, (label, cells) in enumerate(zip(panel.labels[0], panel.cells)):
        values = "".join(
            f"<td style='{CELL};min-width:{BAR if panel.bars else widest * 0.55:.1f}em;"
            f"{_color(panel.strength(row, column), panel.bars)}'>{cell}</td>"
            for column, cell in enumerate(cells)
        )
        yield f"<tr style='{ROW}'>{_heading(label, 'row', 'left')}{values}</tr>"


def _color(strength: float | None, bar: bool = False) -> str:
    if strength is None:
        return OFF_THE_SCALE
    end = POSITIVE if strength >= 0 else NEGATIVE
    if bar:
        color, width = f"rgba({end},{MOST_OPAQUE})", f"{100 * abs(strength):.0f}%"
        return f"background:linear-gradient(to right,{color} {width},transparent {width})"
    return f"background:rgba({end},{abs(strength) * MOST_OPAQUE:.2f})"

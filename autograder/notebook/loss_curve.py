"""The loss of a training as a line in HTML: it takes the color of the page's own text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autograder.training_tasks.training_result import Moment

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

"""The loss of a training as a line in HTML: it takes the color of the page's own text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autograder.training_tasks.training_result import Moment

_WIDE, _HIGH, _EDGE = 320, 90, 8
_STYLE = "display:block;max-width:100%;margin:.4em 0"


def render_curve(moments: Sequence[Moment]) -> str:
    """Return the losses as an SVG line, 0 at the bottom; nothing for fewer than two."""
    known = [each for each in moments if math.isfinite(each.loss)]
    if len(known) < 2:
        return ""
    highest, last = max(each.loss for each in known), max(each.step for each in known)
    points = " ".join(
        f"{_EDGE + each.step / last * (_WIDE - 2 * _EDGE):.1f},"
        f"{_HIGH - _EDGE - each.loss / (highest or 1) * (_HIGH - 2 * _EDGE):.1f}"
        for each in known
    )
    said = f"The loss goes from {known[0].loss:.2g} to {known[-1].loss:.2g}."
    ground = f"M{_EDGE},{_HIGH - _EDGE}H{_WIDE - _EDGE}"
    return (
        f"<svg role='img' aria-label='{said}' width='{_WIDE}' height='{_HIGH}' "
        f"viewBox='0 0 {_WIDE} {_HIGH}' style='{_STYLE}'>"
        f"<path d='{ground}' stroke='currentColor' stroke-opacity='.3'/>"
        f"<polyline points='{points}' fill='none' stroke='currentColor' stroke-width='2'/></svg>"
    )

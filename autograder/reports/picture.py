"""The pictures of a step in notebook and terminal: what is wrong, or the learner's own result.

If values differ, the picture shows the learner's beside the expected ones. Once a step passes, it
shows the learner's own: the row that the text works out by hand, or which token attends to which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from autograder.judging.asking import AskedExample
from autograder.judging.compare import FLOOR, arrays_of, compare_form
from autograder.judging.expectation import Agrees
from autograder.judging.tokens import Tokens
from autograder.reports.panel import (
    Comparison,
    Panel,
    comparison,
    floating,
    followed_row,
    is_attention,
    panel,
)
from autograder.values.request import Returned
from autograder.values.verdict import Outcome, telling


@dataclass(frozen=True)
class Picture:
    """Heat maps, and a caption that says what they show."""

    caption: str = ""
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True, eq=False)
class _OwnResult:
    """What a step gave in a check: an array, its name and axes, and the title of the check.

    tokens: the names of the tokens, if the check is the example of the text.
    """

    step: str
    title: str
    name: str
    array: np.ndarray
    axes: str
    tokens: Tokens | None = None


def picture_of(asked: Sequence[AskedExample]) -> Picture:
    """Draw the example of the text if it is wrong, or the one that is told.

    If none is wrong, draw the learner's own result, if it says anything.
    """
    wrong = telling([each.finding for each in asked])
    if wrong is None:
        return _own_picture([own for each in asked for own in _own_results(each)])
    by_hand = [each for each in asked if each.example.expectation.form.tokens]
    drawn = (_counter_example(each) for each in (*by_hand, asked[wrong]))
    return next((each for each in drawn if each.panels), Picture())


def followed_token(asked: AskedExample) -> str:
    """Say what the token that the text follows gets in place of what is expected, "" if it can't.

    Only the example of the text follows one.
    """
    if asked.example.expectation.form.tokens is None:
        return ""
    differing = _differing(asked)
    return differing[1].told if differing else ""


def _own_picture(results: Sequence[_OwnResult]) -> Picture:
    """Draw the row that the text follows, and the result that says most about who attends to whom.

    Without a text, a causal triangle of different numbers is best. Weights of 0 and 1 alone, as
    extreme inputs give them, show little.
    """
    by_hand = [each for each in results if each.tokens]
    caption, panels = "", tuple[Panel, ...]()
    if by_hand and by_hand[0].tokens:
        arrays = {each.name: (each.array, each.axes) for each in by_hand}
        caption, panels = followed_row(arrays, by_hand[0].tokens)
    found = [each for each in by_hand or results if is_attention(each.axes)]
    if not found:
        return Picture(caption, panels)
    chosen = min(found, key=lambda each: _says_little(each.array))
    names = chosen.tokens.labels(chosen.array.shape, chosen.axes) if chosen.tokens else ()
    labels = names or [f"token {number}" for number in range(chosen.array.shape[-1])]
    whole = panel(chosen.array, title=f"your {chosen.step}", axes=chosen.axes, labels=labels)
    caption = caption or f"What your code gives in the check “{chosen.title}”:"
    return Picture(caption, (*panels, whole))


def _counter_example(asked: AskedExample) -> Picture:
    """Draw yours, expected and the difference, if type and shape are right."""
    differing = _differing(asked)
    if differing is None:
        return Picture()
    name, compared = differing
    which = f", for `{name}`" if name else ""
    caption = f"In the check “{asked.example.title}”{which}: {compared.words}"
    return Picture(caption, (*compared.row, *compared.panels))


def _differing(asked: AskedExample) -> tuple[str, Comparison] | None:
    """Return the first array whose numbers alone are wrong, named if there are several."""
    example, reply = asked.example, asked.reply
    expectation = example.expectation
    values = asked.finding is not None and asked.finding.outcome is Outcome.WRONG_VALUES
    if not values or not isinstance(expectation, Agrees):
        return None
    form, expected = expectation.form, expectation.expected
    if not isinstance(reply, Returned) or example.request.read:
        return None
    if compare_form(reply.value, expected, form):
        return None
    yours, theirs = arrays_of(reply.value, form), arrays_of(expected, form)
    for name, axes, actual, wanted in zip(form.names, form.axes, yours, theirs):
        precision, tokens = form.precision, form.tokens
        compared = comparison(actual, wanted, axes=axes, precision=precision, tokens=tokens)
        if compared.differs:
            return (name if len(yours) > 1 else ""), compared
    return None


def _own_results(asked: AskedExample) -> Iterator[_OwnResult]:
    example, reply = asked.example, asked.reply
    if not isinstance(example.expectation, Agrees) or not isinstance(reply, Returned):
        return
    form = example.expectation.form
    for name, axes, value in zip(form.names, form.axes, arrays_of(reply.value, form)):
        if axes and isinstance(value, np.ndarray):
            numbers = floating(value)
            yield _OwnResult(example.step, example.title, name, numbers, axes, form.tokens)


def _says_little(array: np.ndarray) -> tuple[bool, bool, bool]:
    spread, causal = _is_spread(array), _is_causal(array)
    return not (causal and spread), not spread, not causal


def _is_causal(array: np.ndarray) -> bool:
    above = array[..., *np.triu_indices(array.shape[-1], k=1)]
    return bool(above.size and ((above == 0) | (above <= FLOOR)).all())


def _is_spread(array: np.ndarray) -> bool:
    return bool(array.shape[-1] > 1 and np.unique(array.round(2)).size > array.shape[-1])


# Heat maps as HTML tables, for the card of a check and for a notebook's last cells.
#
# A table is text too. The numbers and the names of the axes remain where styles are removed
# (nbgrader's feedback) or nothing is drawn (a screen reader). Transparent colors lie between the
# page's own background and its own text, so they work in a light and in a dark theme.

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
    rows, columns = panel.heads
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

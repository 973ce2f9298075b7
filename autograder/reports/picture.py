"""Heat maps of a step: one as data, as plain text, in a notebook; and which of them are shown.

If values differ, the picture shows the learner's beside the expected ones. Once a step passes, it
shows the learner's own: the row that the text works out by hand, or which token attends to which.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from autograder.judging.asking import AskedExample
from autograder.judging.compare import FLOOR, agree, arrays_of, compare_form
from autograder.judging.expectation import Agrees
from autograder.judging.value_words import (
    MOST_NUMBERS,
    SEQUENCE,
    Tokens,
    entry_words,
    first_place,
    place_words,
    shape_words,
    vector_words,
)
from autograder.values.request import Returned
from autograder.values.verdict import Outcome, telling

# One heat map as data: two axes of an array, their labels, and one scale of colors.
#
# Terminal, notebook, plain text and file all show the same cells with the same words. So it is
# decided here what they show: which sequence and head of a batch, how numbers are shortened, what
# is not a number, and how strong each cell's color is.

Axes = Sequence[str] | str | None


@dataclass(frozen=True, eq=False)
class Panel:
    """What one heat map shows.

    values: (rows, columns). axes: the names of these two axes. labels: the names of the rows, and
    those of the columns. bound: the absolute value with the strongest color. notes: sentences
    about what is not shown. bars: whether the numbers, in one column, are drawn as bars.
    """

    title: str
    values: np.ndarray
    axes: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    bound: float
    notes: tuple[str, ...] = ()
    bars: bool = False

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The short number of every cell, row by row."""
        return tuple(tuple(short(float(value)) for value in row) for row in self.values)

    @property
    def heads(self) -> tuple[str, str]:
        """The names of its axes, with an arrow the way each goes."""
        rows, columns = (f"{axis} {arrow}" if axis else "" for axis, arrow in zip(self.axes, "↓→"))
        return rows, columns

    def strength(self, row: int, column: int) -> float | None:
        """Return how strong a cell's color is, from -1 to 1, or None if it is off the scale."""
        value = float(self.values[row, column])
        if not math.isfinite(value) or value <= FLOOR:
            return None
        return max(-1.0, min(1.0, value / self.bound))

    def cut(self, rows: int, columns: int) -> Panel:
        """Return at most this many rows and columns of the panel, and a note about the rest."""
        there = self.values.shape
        if there[0] <= rows and there[1] <= columns:
            return self
        kept = tuple(max(1, most) for most in (rows, columns))
        notes = tuple(
            f"the first {most} of {size} along {axis}"
            for most, size, axis in zip(kept, there, self.axes)
            if size > most
        )
        return replace(
            self,
            values=self.values[: kept[0], : kept[1]],
            labels=(self.labels[0][: kept[0]], self.labels[1][: kept[1]]),
            notes=(*self.notes, *notes),
        )


@dataclass(frozen=True)
class Comparison:
    """Panels of yours, expected and the difference (none if the shapes differ), and words.

    index: which entry of the leading axes they show. told: what one token gets in place of what is
    expected, if tokens have names; row: that token in yours, expected and the difference, which
    then is not among the panels.
    """

    words: str
    panels: tuple[Panel, ...] = ()
    differs: bool = True
    index: tuple[int, ...] = ()
    told: str = ""
    row: tuple[Panel, ...] = ()


def panel(
    array: Any,
    *,
    title: str,
    axes: Axes = ("query", "key"),
    labels: Sequence[str] | None = None,
    index: Sequence[int] | None = None,
) -> Panel:
    """Return the last two axes of `array` as a panel, at one entry of the other axes.

    array: (..., rows, columns); an array with fewer axes is one row. axes: the names of the
    last two axes or of all axes, as a list or as "B S S". labels: tokens, used for each of the
    two axes that has this length. index: the entry of the leading axes, the first by default.
    """
    numbers = np.asarray(array)
    names = axis_names(axes, numbers.ndim)
    numbers = floating(numbers)
    if numbers.ndim < 2:
        numbers = numbers.reshape(1, -1)
        names = ("", names[-1] if names else "")
    chosen = tuple(index or (0,) * (numbers.ndim - 2))[: numbers.ndim - 2]
    taken = [
        f"{name}[{number}] of {size}"
        for name, number, size in zip(names, chosen, numbers.shape)
        if size > 1
    ]
    notes = (f"shown: {', '.join(taken)}",) if taken else ()
    values = numbers[chosen]
    rows, columns = (_labels(size, labels) for size in values.shape)
    return Panel(title, values, (names[-2], names[-1]), (rows, columns), _bound(values), notes)


def followed_row(
    arrays: Mapping[str, tuple[np.ndarray, str | None]], tokens: Tokens
) -> tuple[str, tuple[Panel, ...]]:
    """Return what right results say of the token that is followed: words, and bars if it attends.

    arrays: each result and its axes, (..., tokens, tokens) or (..., tokens, numbers of a token), by
    its name. The words are "" if they say nothing of a token.
    """
    told, name = [], ""
    for result, (array, axes) in arrays.items():
        letters, names = (axes or "").split(), tokens.labels(array.shape, axes)
        if not names or letters[-2] not in SEQUENCE:
            continue
        name, rows = names[tokens.followed], array[..., tokens.followed, :]
        leading = rows.shape[:-1]
        places = [(each, entry_words(each, letters, leading)) for each in np.ndindex(leading)]
        if letters[-1] == letters[-2]:
            panels = [_bars(rows[place], title, names) for place, title in places]
            return f"Your row of “{name}”, as in the text:", tuple(panels)
        if rows.shape[-1] <= MOST_NUMBERS:
            which = f"`{result}` " if len(arrays) > 1 else ""
            told += [f"{which}{title} {vector_words(rows[place])}" for place, title in places]
    words = "; ".join(" ".join(each.split()) for each in told)
    return (f"Your “{name}”, as in the text: {words}." if told else ""), ()


def _bars(row: np.ndarray, title: str, names: Sequence[str]) -> Panel:
    column = panel(row[:, None], title=title, axes=("", ""))
    # A share of 0.63 is 63 percent of a whole bar.
    bound = 1.0 if ((row >= 0) & (row <= 1)).all() else column.bound
    return replace(column, labels=(tuple(names), ("",)), bars=True, bound=bound)


def comparison(
    yours: Any,
    expected: Any,
    *,
    axes: Axes = None,
    precision: str = "",
    tokens: Tokens | None = None,
) -> Comparison:
    """Show `yours` beside `expected`, at the entry of the leading axes with the largest difference.

    yours, expected: arrays with these axes. axes: the names of all axes, such as "B S S".
    precision: the dtype that was asked for. tokens: their names, of which the words tell, and one
    of which says the entry.
    """
    actual, wanted = np.asarray(yours), np.asarray(expected)
    letters = axes if isinstance(axes, str) or axes is None else " ".join(axes)
    if actual.shape != wanted.shape:
        shape = shape_words(wanted.shape, letters)
        return Comparison(
            f"Yours has the shape {shape_words(actual.shape, letters)}, but {shape} is expected."
        )
    actual, wanted = floating(actual), floating(wanted)
    wrong = _far_apart(actual, wanted, precision)
    with np.errstate(all="ignore"):
        # Where numbers agree, show a difference of 0: rounding is not of interest.
        difference = np.where(wrong, actual - wanted, 0.0)
    place = first_place(_largest(difference, wrong)) if wrong.any() else (0,) * actual.ndim
    told, labels = "", None
    if tokens:
        labels = tokens.labels(wanted.shape, letters)
        if at := tokens.row_of(wrong):
            place, told = (*at, 0), tokens.compared(actual, wanted, wrong, letters)
    arrays = {"yours": actual, "expected": wanted, "difference": difference}
    panels = [
        panel(array, title=title, axes=axes, labels=labels, index=place[:-2])
        for title, array in arrays.items()
    ]
    # One scale for both, so that equal colors are equal numbers.
    bound = max(panels[0].bound, panels[1].bound)
    panels[:2] = [replace(each, bound=bound) for each in panels[:2]]
    row: tuple[Panel, ...] = ()
    if told and tokens:
        name = tokens.labels(wanted.shape, letters)[place[-2]]
        row, panels = (_one_row(panels, name, place[-2]),), panels[:2]
    words = f"{told} {_count(wrong)}." if told else _difference_words(difference, wrong, letters)
    index = tuple(map(int, place[:-2]))
    return Comparison(words, tuple(panels), bool(wrong.any()), index, told, row)


def _one_row(panels: Sequence[Panel], name: str, row: int) -> Panel:
    """Return the row of one token, named so, of some panels below each other."""
    values = np.stack([each.values[row] for each in panels])
    labels = tuple(each.title for each in panels), panels[0].labels[1]
    axes = "", panels[0].axes[1]
    return replace(panels[0], title=f"“{name}”", values=values, axes=axes, labels=labels)


def axis_names(axes: Axes, count: int) -> tuple[str, ...]:
    """Return a name for each of `count` axes; a final pair like "S S" is "query", "key"."""
    names = axes.split() if isinstance(axes, str) else list(axes or ())
    if len(names) > count:
        names = names[len(names) - count :]
    if is_attention(" ".join(names)):
        names[-2:] = ["query", "key"]
    unknown = [f"axis {number}" for number in range(count - len(names))]
    return (*unknown, *names)


def is_attention(axes: str) -> bool:
    """Whether axes such as "B heads S S" end with the same sequence axis twice."""
    last = axes.split()[-2:]
    return len(last) == 2 and last[0] == last[1] and last[0] in SEQUENCE


def short(value: float) -> str:
    """Write a number in at most six characters; NaN and infinity are words.

    >>> [short(value) for value in (0.416, -12.34, -1e9, float("nan"))]
    ['0.42', '-12.3', '-1e9', 'NaN']
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    size = abs(value)
    if value == int(value) and size < 1000:
        return str(int(value))
    if size < 0.005 or size >= 9999.5:
        mantissa, _, exponent = f"{value:.0e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{value:.{digits}f}"


def floating(array: np.ndarray) -> np.ndarray:
    """Return an array's numbers as floating-point ones: a mask may be True and False."""
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _labels(size: int, labels: Sequence[str] | None) -> tuple[str, ...]:
    if labels is not None and len(labels) == size:
        return tuple(labels)
    return tuple(str(number) for number in range(size))


def _bound(values: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        sizes = np.abs(values[np.isfinite(values) & (values > FLOOR)])
    return float(sizes.max()) if sizes.size and sizes.max() > 0 else 1.0


def _far_apart(actual: np.ndarray, wanted: np.ndarray, precision: str) -> np.ndarray:
    """Return a mask, in the arrays' shape, that is True where they differ.

    NaN equals NaN, and all numbers below the floor are equal.
    """
    with np.errstate(all="ignore"):
        alike = (
            (actual == wanted)
            | (np.isnan(actual) & np.isnan(wanted))
            | ((actual <= FLOOR) & (wanted <= FLOOR))
        )
    return np.asarray(~(agree(actual, wanted, precision) | alike))


def _difference_words(difference: np.ndarray, wrong: np.ndarray, letters: str | None) -> str:
    if not wrong.any():
        return "All numbers agree."
    count = _count(wrong)
    marked = _largest(difference, wrong)
    largest = float(np.abs(difference[first_place(marked)]))
    if not math.isfinite(largest):
        return f"{count}, the first {place_words(wrong, letters)}."
    return f"{count}; the largest difference is {largest:.4g}, {place_words(marked, letters)}."


def _count(wrong: np.ndarray) -> str:
    return f"{int(wrong.sum())} of {wrong.size} numbers differ"


def _largest(difference: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return a mask of the largest finite differences, or of all when none is finite."""
    finite = np.isfinite(difference) & wrong
    if not finite.any():
        return wrong
    sizes = np.abs(difference)
    return np.asarray(finite & (sizes == sizes[finite].max()))


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


# Heat maps as plain text: the numbers, with the names of the axes and of their entries.
#
# This is how nbgrader's feedback, a log or an editor without HTML shows a picture.

WIDEST = 72
PLAIN_GAP = "   "
PLAIN_MOST = (12, 10)
SIGNS = 24  # the signs of the longest bar


def text_lines(panels: Sequence[Panel]) -> tuple[str, ...]:
    """Return heat maps as lines: side by side if all fit, or else one below the other."""
    blocks = [_block(panel.cut(*PLAIN_MOST)) for panel in panels]
    widths = [max(map(len, block)) for block in blocks]
    if sum(widths) + len(PLAIN_GAP) * (len(blocks) - 1) > WIDEST:
        return tuple(line for block in blocks for line in block)
    height = max(map(len, blocks), default=0)
    for block in blocks:
        block += [""] * (height - len(block))
    rows = zip(*blocks)
    return tuple(
        PLAIN_GAP.join(line.ljust(width) for line, width in zip(row, widths)).rstrip()
        for row in rows
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
        f"{name:<{margin}}  {cell:>{width}}  {'█' * signs}"
        for row, (name, cell) in enumerate(zip(panel.labels[0], cells))
        for signs in [round(abs(panel.strength(row, 0) or 0) * SIGNS)]
    ]

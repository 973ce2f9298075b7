"""The picture under a check: the learner's numbers as heat maps.

If values differ, the picture shows the learner's beside the expected ones. If a right result says
which token attends to which, the picture shows that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.heatmaps.panel import (
    Comparison,
    Panel,
    comparison,
    followed_row,
    is_attention,
    panel,
)
from autograder.heatmaps.text import text_lines
from autograder.judging.asking import AskedExample
from autograder.judging.compare import FLOOR, arrays_of, compare_form
from autograder.judging.expectation import Agrees
from autograder.model.request import Returned
from autograder.model.verdict import Outcome, telling


@dataclass(frozen=True)
class Picture:
    """Heat maps, and a caption that says what they show."""

    caption: str = ""
    panels: tuple[Panel, ...] = ()


def picture_of(asked: Sequence[AskedExample]) -> Picture:
    """Draw the example of the text if it is wrong, or the one that is told.

    If none is wrong, draw the learner's own attention, if any.
    """
    wrong = telling([each.finding for each in asked])
    if wrong is None:
        return _own_attention(asked)
    by_hand = [each for each in asked if each.example.expectation.form.tokens]
    drawn = (_counter_example(each) for each in (*by_hand, asked[wrong]))
    return next((each for each in drawn if each.panels), Picture())


def followed_lines(asked: AskedExample) -> tuple[str, ...]:
    """Return lines about the token that an example's text follows, () if it follows none.

    They say what the learner's code gives it in place of what is expected, or draw what is right.
    """
    if asked.finding is None:
        picture = _followed_row(asked)
        return (picture.caption, *text_lines(picture.panels)) if picture else ()
    differing = _differing(asked)
    told = differing[1].told if differing else ""
    return (f"In the example of the text, {told}",) if told else ()


def _counter_example(asked: AskedExample) -> Picture:
    """Draw yours, expected and the difference, if type and shape are right."""
    differing = _differing(asked)
    if differing is None:
        return Picture()
    name, compared = differing
    which = f", for `{name}`" if name else ""
    caption = f"In the check “{asked.example.title}”{which}: {compared.words}"
    return Picture(caption, compared.panels)


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


def _own_attention(asked: Sequence[AskedExample]) -> Picture:
    """Draw the learner's own scores, mask or weights, of the example of the text if there is one.

    Else it is a causal triangle, or an ordinary example. Weights of 0 and 1 alone, as extreme
    inputs give, show little.
    """
    row = next(filter(None, map(_followed_row, asked)), Picture())
    found = [(each, array, axes) for each in asked for array, axes in _attention(each)]
    if not found:
        return row
    found.sort(
        key=lambda each: (
            not each[0].example.expectation.form.tokens,
            not _is_causal(each[1]),
            not _is_spread(each[1]),
        )
    )
    chosen, array, axes = found[0]
    example = chosen.example
    tokens = example.expectation.form.tokens
    names = tokens.labels(array.shape, axes) if tokens else ()
    labels = names or [f"token {number}" for number in range(array.shape[-1])]
    whole = panel(array, title=f"your {example.step}", axes=axes, labels=labels)
    caption = row.caption or f"What your code gives in the check “{example.title}”:"
    return Picture(caption, (*row.panels, whole))


def _followed_row(asked: AskedExample) -> Picture | None:
    """Draw what the text works out by hand of one token, as the learner's code gives it."""
    expectation, reply = asked.example.expectation, asked.reply
    if not isinstance(expectation, Agrees) or not isinstance(reply, Returned):
        return None
    form = expectation.form
    arrays = arrays_of(reply.value, form)
    if form.tokens is None or not all(isinstance(each, np.ndarray) for each in arrays):
        return None
    named = {name: (array, axes) for name, array, axes in zip(form.names, arrays, form.axes)}
    words, panels = followed_row(named, form.tokens)
    return Picture(words, panels) if words else None


def _attention(asked: AskedExample) -> list[tuple[np.ndarray, str]]:
    """Return the result and its axes, if its last two axes are query and key."""
    expectation, reply = asked.example.expectation, asked.reply
    if not isinstance(expectation, Agrees) or not isinstance(reply, Returned):
        return []
    axes, value = expectation.form.axes[0], reply.value
    fits = axes is not None and is_attention(axes) and isinstance(value, np.ndarray)
    return [(value, axes)] if fits and axes else []


def _is_causal(array: np.ndarray) -> bool:
    above = array[..., *np.triu_indices(array.shape[-1], k=1)]
    return bool(above.size and ((above == 0) | (above <= FLOOR)).all())


def _is_spread(array: np.ndarray) -> bool:
    return bool(array.shape[-1] > 1 and np.unique(array.round(2)).size > array.shape[-1])

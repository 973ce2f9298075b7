"""The picture under a check: the learner's numbers as heat maps.

If values differ, the picture shows the learner's beside the expected ones. If a right result says
which token attends to which, the picture shows that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.heatmaps.panel import Panel, comparison, is_attention, panel
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
    """Draw the wrong example that is told, or else the learner's own attention, if any."""
    wrong = telling([each.finding for each in asked])
    return _own_attention(asked) if wrong is None else _counter_example(asked[wrong])


def _counter_example(asked: AskedExample) -> Picture:
    """Draw yours, expected and the difference, if type and shape are right."""
    example, reply = asked.example, asked.reply
    expectation = example.expectation
    values = asked.finding is not None and asked.finding.outcome is Outcome.WRONG_VALUES
    if not values or not isinstance(expectation, Agrees):
        return Picture()
    form, expected = expectation.form, expectation.expected
    if not isinstance(reply, Returned) or example.request.read:
        return Picture()
    if compare_form(reply.value, expected, form):
        return Picture()
    yours, theirs = arrays_of(reply.value, form), arrays_of(expected, form)
    for name, axes, actual, wanted in zip(form.names, form.axes, yours, theirs):
        compared = comparison(actual, wanted, axes=axes, precision=form.precision)
        if compared.differs:
            which = f", for `{name}`" if len(yours) > 1 else ""
            return Picture(
                f"In the check “{example.title}”{which}: {compared.words}", compared.panels
            )
    return Picture()


def _own_attention(asked: Sequence[AskedExample]) -> Picture:
    """Draw the learner's own scores, mask or weights: a causal triangle, or an ordinary example.

    Weights of 0 and 1 alone, as extreme inputs give, show little.
    """
    found = [(each, array, axes) for each in asked for array, axes in _attention(each)]
    if not found:
        return Picture()
    found.sort(key=lambda each: (not _is_causal(each[1]), not _is_spread(each[1])))
    chosen, array, axes = found[0]
    example = chosen.example
    tokens = [f"token {number}" for number in range(array.shape[-1])]
    drawn = panel(array, title=f"your {example.step}", axes=axes, labels=tokens)
    return Picture(f"What your code gives in the check “{example.title}”:", (drawn,))


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

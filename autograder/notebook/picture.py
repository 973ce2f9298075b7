"""The picture under a check: the learner's numbers as heat maps.

If values differ, the picture shows the learner's beside the expected ones. If a right result says
which token attends to which, the picture shows that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autograder.heatmaps.panel import comparison
from autograder.judging.asking import AskedExample
from autograder.judging.compare import arrays_of, compare_form
from autograder.judging.expectation import Agrees
from autograder.learning.own_picture import OwnResult, Picture, own_picture
from autograder.model.request import Returned
from autograder.model.verdict import Outcome, telling


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
    """Draw the learner's own scores, mask or weights."""
    return own_picture(own for each in asked if (own := _own_result(each)))


def _own_result(asked: AskedExample) -> OwnResult | None:
    expectation, reply = asked.example.expectation, asked.reply
    if not isinstance(expectation, Agrees) or not isinstance(reply, Returned):
        return None
    axes, value = expectation.form.axes[0], reply.value
    if not axes or not isinstance(value, np.ndarray):
        return None
    return OwnResult(asked.example.step, asked.example.title, value, axes)

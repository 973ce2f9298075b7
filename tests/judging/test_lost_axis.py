"""Where shapes do not line up, an axis that a sum has lost is told."""

from __future__ import annotations

import pytest

from autograder.judging.explanation import meaning
from autograder.judging.library_words import lost_axis_words
from autograder.values.request import ExceptionReport

SHAPES = {"e": (2, 3, 5, 5), "total": (2, 3, 5), "x": (2, 4, 6), "mean": (4, 6)}
LOST = {
    "return e / e.sum(-1)": "The sum in this line has lost the axis",
    "return e / torch.sum(e, dim=-1)": "The sum in this line",
    "s = s - s.max(axis=-1)": "The maximum in this line",
    "s = s - s.max(-1).values": "The maximum in this line",
    "return e / total": "`total` has lost an axis of `e`",
    "x = x - mean": "`mean` has lost axis 0 of `x`",
}
KEPT = (
    "return e / e.sum(-1, keepdim=True)",
    "return e / e.sum()",
    "return e / np.sum(e)",
    "return e @ e.sum(-1)",
    "return e / x",
    "return e / e.max(x)",
    "return e / np.max(e)",
    "return e / (",
    "return e / e.sum(*axes, **kept)",
)


@pytest.mark.parametrize("code", LOST)
def test_an_axis_that_is_lost_is_told(code: str) -> None:
    words = lost_axis_words(code, SHAPES)
    assert LOST[code] in words and words.endswith("?")


@pytest.mark.parametrize("code", KEPT)
def test_no_axis_is_said_to_be_lost_that_is_not(code: str) -> None:
    assert lost_axis_words(code, SHAPES) == ""


def test_the_meaning_of_shapes_that_do_not_line_up_names_the_sum() -> None:
    message = (
        "The size of tensor a (5) must match the size of tensor b (3) at non-singleton dimension 2"
    )
    report = ExceptionReport(
        "RuntimeError", message, 3, "return e / e.sum(-1)", {"e": (2, 3, 5, 5)}
    )
    assert "The sum in this line has lost the axis it goes over." in meaning(report)

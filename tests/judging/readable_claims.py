"""The first claim about a wrong result, and results that several tests begin with."""

from __future__ import annotations

import numpy as np

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec
from autograder.values.request import Request
from autograder.values.verdict import Claim
from autograder.worker.wire import Value


def first(wrong: Value, expected: Value, form: ResultSpec, *arguments: Value) -> Claim:
    """The first claim, which a student has to be able to read."""
    claims = claims_about(wrong, expected, form, Request("step", arguments))
    texts = [StudentText(each.kind, f"{each.fact} {each.look}") for each in claims]
    assert reading_gaps(texts, ()) == ()
    return claims[0] if claims else Claim("", "")


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))

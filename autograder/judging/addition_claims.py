"""Claims about an argument that is added to what is expected, as in a residual connection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.judging.masked_claims import forbidden_in
from autograder.judging.matrix_product import is_like
from autograder.model.claim import Claim
from autograder.model.request import Request

_WAYS = (("plus", 1.0, "Which line adds it?"), ("less", -1.0, "Which line takes it away?"))


def about_additions(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Claim that a result is what is expected plus an argument, or less it."""
    if seen.actual.shape != seen.expected.shape or request is None or request.read:
        return
    if not np.isfinite(seen.actual).all() or forbidden_in(seen).any():
        return
    arguments = request.method_arguments if request.method else request.arguments
    for number, value in enumerate(arguments, start=1):
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        if value.shape != seen.expected.shape or is_like(
            seen, np.abs(value), np.abs(seen.expected)
        ):
            continue
        for words, sign, look in _WAYS:
            if seen.holds((seen.expected + sign * value).astype(seen.expected.dtype)):
                yield Claim(
                    f"{words} argument {number}",
                    f"{seen.label} is what is expected {words} argument number {number}, as it was "
                    "given.",
                    f"{look} What should this code alone return?",
                )
                return

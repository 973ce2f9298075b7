"""Claims about a linear layer that is taken apart: what its weight and bias did to the input."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from autograder.judging.difference import Difference
from autograder.judging.matrix_product import is_like, times
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import Linear

_LOOK = "What does a layer do with its weight and its bias when it is called?"


def about_projections(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what was done with a layer's parameters, where its output is expected."""
    if request is None or request.method is not None or not np.isfinite(seen.actual).all():
        return
    inputs = [each for each in request.arguments if isinstance(each, np.ndarray) and each.ndim > 1]
    for number, layer in enumerate(request.arguments, start=1):
        if isinstance(layer, Linear) and layer.weight.ndim == 2:
            for x in inputs:
                yield from _of_layer(seen, x, layer, f"argument number {number}")


def _of_layer(seen: Difference, x: np.ndarray, layer: Linear, words: str) -> Iterator[Claim]:
    right = times(x, layer.weight.swapaxes(-2, -1))
    bias = np.zeros(len(layer.weight)) if layer.bias is None else layer.bias
    if right is None or not is_like(seen, right + bias, seen.expected):
        return
    for kind, what, array in _uses(layer, x, right, words):
        if seen.holds(array.astype(seen.expected.dtype)):
            yield Claim(f"layer {words} {kind}", f"In {_inner(seen)}, {what}.", _LOOK)


def _uses(
    layer: Linear, x: np.ndarray, right: np.ndarray, words: str
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Give wrong uses of a layer: a kind, words, and the result; `right` is without a bias."""
    stored, bias = times(x, layer.weight), layer.bias
    as_stored = f"the weight of {words} is used as it is stored"
    if stored is not None and bias is None:
        # Nothing tells whether a bias would be added.
        yield "stored", as_stored, stored
        yield "stored alone", as_stored, stored
    if bias is None:
        return
    if stored is not None and bias.shape == stored.shape[-1:]:
        yield "stored", as_stored, stored + bias
    if stored is not None:
        yield "stored alone", f"{as_stored}, and its bias is left out", stored
    multiplied = f"the product is multiplied by the bias of {words}, which should be added"
    yield "multiplied", multiplied, right * bias
    yield "twice", f"the bias of {words} is added twice", right + 2 * bias
    yield "taken away", f"the bias of {words} is taken away and not added", right - bias


def _inner(seen: Difference) -> str:
    return seen.label[0].lower() + seen.label[1:]

"""Claims about a product with several slips at once, such as one that is turned over and scaled."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from autograder.judging.difference import Difference
from autograder.judging.matrix_product import Factor, MatrixProduct, factor_of, is_like
from autograder.judging.score_claims import shares_of
from autograder.model.claim import Claim, Measure

_LOOK = "Which arrays does your product take, in which order, and along which axes?"


def about_elementwise(seen: Difference, expected: MatrixProduct) -> Iterator[Claim]:
    """Claim that the arguments are multiplied number by number, whatever shape that gives."""
    left, right = expected.left.array, expected.right.array
    if left.size < 3 or left.shape != right.shape or left.shape != seen.actual.shape:
        return
    if factor_of(seen, seen.actual, left * right) is not None:
        yield Claim(
            "number by number",
            "Your result multiplies the two arguments number by number. Every vector of the one is "
            "expected to meet every vector of the other: which product does that?",
            leads=seen.actual.shape == seen.expected.shape,
        )


def about_slips(seen: Difference, expected: MatrixProduct) -> Iterator[Claim]:
    """Give the product of the same arguments that a result is, with the fewest slips."""
    found = sorted(_products(expected), key=lambda each: len(each[0]))
    for slips, array in found:
        factor = factor_of(seen, seen.actual, array) if slips else None
        if factor is None or not seen.holds(factor * array):
            continue
        fact = f"{seen.label} is another product of the arguments: {_listed(slips)}."
        measure = None
        if not is_like(seen, array, seen.actual):
            fact = f"{fact} Besides, it is {factor:.4g} times what that gives."
            measure = Measure(factor, seen.sizes)
        yield Claim(f"slips {' '.join(slips)} {measure is not None}", fact, _LOOK, measure)
        return


def _products(expected: MatrixProduct) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """Give products of the arguments, each with the slips that lead to it."""
    left, right = expected.left, expected.right
    for first, second in ((left, right), (right, left), (left, left), (right, right)):
        other = _which(expected, first, second)
        for (ours, one), (theirs, two) in product(
            _forms(first, expected), _forms(second, expected)
        ):
            array = expected.of(one, two)
            slips = tuple(filter(None, (other, ours, theirs)))
            if array is not None and len(slips) <= 2:
                yield slips, array


def _which(expected: MatrixProduct, first: Factor, second: Factor) -> str:
    if first is second:
        return f"{first.words} is multiplied with itself"
    return "the two have changed places" if first is expected.right else ""


def _forms(factor: Factor, expected: MatrixProduct) -> Iterator[tuple[str, np.ndarray]]:
    """Give an argument as it is, and as it may have become before the product."""
    array = factor.array
    yield "", array
    yield f"the last two axes of {factor.words} have changed places", factor.turned
    if expected.turned:
        *front, rows, columns = array.shape
        reshaped = array.reshape(*front, columns, rows).swapaxes(-2, -1)
        yield f"{factor.words} is reshaped where axes have to change places", reshaped
    if (array >= 0).all() and np.allclose(array.sum(axis=-1), 1):
        shares = shares_of(array)
        again = f"{factor.words} goes through a softmax once more"
        yield again, shares
        yield f"{again}, and its last two axes change places", shares.swapaxes(-2, -1)


def _listed(slips: tuple[str, ...]) -> str:
    return " and ".join(slips)

"""Claims about a product: which other product of the arguments stands where one is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from autograder.judging.difference import Difference
from autograder.judging.matrix_product import MatrixProduct, expected_product, times
from autograder.judging.slip_claims import about_elementwise, about_slips
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import Linear, Value

_MOST_LEFT_OUT = 16  # entries that are tried


def about_products(
    seen: Difference, request: Request | None, parts: Mapping[str, np.ndarray]
) -> Iterator[Claim]:
    """Give which product of arguments a result is, where another one is expected.

    `parts` are all arrays that are expected, by name.
    """
    if request is None or request.method is not None or request.read:
        return
    if not np.isfinite(seen.actual).all():
        return
    expected = expected_product(seen, request.arguments)
    if expected:
        yield from about_elementwise(seen, expected)
    if seen.actual.shape != seen.expected.shape:
        return
    yield from _from_another_part(seen, request.arguments, parts)
    if expected:
        found = (claim(seen, expected) for claim in _CLAIMS)
        yield from filter(None, found)
        yield from about_slips(seen, expected)


def _turned_over(seen: Difference, expected: MatrixProduct) -> Claim | None:
    left, right = expected.left, expected.right
    for factor, array in (
        (right, expected.of(left.array, right.turned)),
        (left, expected.of(left.turned, right.array)),
    ):
        if array is not None and seen.holds(array):
            return Claim(
                f"turned over {factor.words}",
                f"{seen.label} multiplies the right arguments, but the last two axes of "
                f"{factor.words} have changed places.",
                "Which axes does the product pair up?",
            )
    return None


def _summed(seen: Difference, expected: MatrixProduct) -> Claim | None:
    """Claim that one factor is summed, averaged or cut down to one entry along an axis."""
    for factor, other in ((expected.right, expected.left), (expected.left, expected.right)):
        if factor.array.ndim != seen.expected.ndim:
            continue  # its axes have no names here
        for axis in range(factor.array.ndim - 2):
            for kind, words, array in _along(factor.array, axis):
                factors = (other.array, array) if factor is expected.right else (array, other.array)
                result = expected.of(*factors)
                if result is None or not seen.holds(np.broadcast_to(result, seen.expected.shape)):
                    continue
                where = seen.axis(axis)
                return Claim(
                    f"{kind} {factor.words}",
                    f"{seen.label} multiplies the right arguments, but uses {words} "
                    f"{factor.words} along {where} for every entry there.",
                    f"Which entries along {where} belong together?",
                )
    return None


def _along(array: np.ndarray, axis: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """Give what may become of an array along an axis that it has to keep: words and array."""
    if array.shape[axis] < 2:
        return
    whole = np.ones_like(array)
    yield "summed", "the sum of", whole * array.sum(axis=axis, keepdims=True)
    yield "averaged", "the mean of", whole * array.mean(axis=axis, keepdims=True)
    for entry, name in ((0, "the first"), (-1, "the last")):
        yield f"{name} entry", f"{name} entry of", whole * array.take([entry], axis=axis)


def _reordered(seen: Difference, expected: MatrixProduct) -> Claim | None:
    """Claim that one factor has its entries along an axis reversed, or moved on by one."""
    left, right = expected.left, expected.right
    paired = {id(left): left.array.ndim - 1}  # the axis that the product pairs up
    paired[id(right)] = right.array.ndim - (1 if expected.turned else 2)
    for factor in (right, left):
        named = factor.array.ndim == seen.expected.ndim
        for axis in (*range(factor.array.ndim - 2), paired[id(factor)]):
            where = seen.axis(axis) if named and axis < factor.array.ndim - 2 else f"axis {axis}"
            for words, array in _in_other_orders(factor.array, axis):
                factors = (left.array, array) if factor is right else (array, right.array)
                result = expected.of(*factors)
                if result is not None and seen.holds(result.astype(seen.expected.dtype)):
                    return Claim(
                        f"{words} {factor.words}",
                        f"{seen.label} multiplies the right arguments, but {factor.words} stands "
                        f"{words} along its {where}.",
                        "Which line changes their order there?",
                    )
    return None


def _in_other_orders(array: np.ndarray, axis: int) -> Iterator[tuple[str, np.ndarray]]:
    if array.shape[axis] < 2:
        return
    yield "in reverse order", np.flip(array, axis)
    if array.shape[axis] > 2:
        yield "one place too late", np.roll(array, 1, axis)
        yield "one place too early", np.roll(array, -1, axis)


def _left_out(seen: Difference, expected: MatrixProduct) -> Claim | None:
    """Claim that some of the terms that a product sums up are not there."""
    left, right = expected.left, expected.right
    ours, theirs = left.array.ndim - 1, right.array.ndim - (1 if expected.turned else 2)
    count = left.array.shape[ours]
    for words, places in _left_out_places(count):
        kept = np.delete(np.arange(count), places)
        result = expected.of(left.array.take(kept, ours), right.array.take(kept, theirs))
        if result is not None and seen.holds(result.astype(seen.expected.dtype)):
            them = "it" if len(places) == 1 else "them"
            return Claim(
                f"left out {words}",
                f"{seen.label} multiplies the right arguments, but its sums leave out {words} of "
                f"their {count} terms. Without {them}, the product gives just these numbers. The "
                f"sums run along axis {ours} of {left.words} and axis {theirs} of {right.words}.",
                "Which line takes only a part of an axis?",
            )
    return None


def _left_out_places(count: int) -> Iterator[tuple[str, list[int]]]:
    """Give which of `count` entries may be left out, in words and by their numbers."""
    if count < 2:
        return
    yield "the last", [count - 1]
    yield "the first", [0]
    for number in range(2, min(count, _MOST_LEFT_OUT)):
        yield f"the last {number}", list(range(count - number, count))
        yield f"the first {number}", list(range(number))
    yield "every other", list(range(1, count, 2))
    yield from ((f"number {place}", [place]) for place in range(1, min(count, _MOST_LEFT_OUT) - 1))


def _directions(seen: Difference, expected: MatrixProduct) -> Claim | None:
    """Claim that vectors are divided by their lengths before they are multiplied."""
    left, right = expected.left.array, expected.right.array
    units = left / _length(left, -1), right / _length(right, -1 if expected.turned else -2)
    for words, factors in (
        ("each vector of both arguments", units),
        (f"each vector of {expected.left.words}", (units[0], right)),
        (f"each vector of {expected.right.words}", (left, units[1])),
    ):
        array = expected.of(*factors)
        if array is not None and seen.holds(array):
            return Claim(
                f"directions {words}",
                f"{seen.label} multiplies the right arguments, but {words} is divided by its own "
                "length.",
                "Lengths are expected to count here. Which line divides by the length of a vector?",
            )
    return None


def _length(array: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.sqrt((array * array).sum(axis=axis, keepdims=True)))


def _distances(seen: Difference, expected: MatrixProduct) -> Claim | None:
    """Claim that the distance of two vectors stands in the place of their product."""
    if not expected.turned:
        return None
    left, right = expected.left.array, expected.right.array
    lengths = _length(left, -1) ** 2, _length(right, -1).swapaxes(-2, -1) ** 2
    try:
        squares = np.maximum(lengths[0] + lengths[1] - 2 * (left @ expected.right.turned), 0.0)
    except ValueError:  # the axes in front do not fit
        return None
    for words, array in (("squared distance", squares), ("distance", np.sqrt(squares))):
        weight = float((array * array).sum())
        factor = float((seen.actual * array).sum()) / weight if weight else 0.0
        if array.shape == seen.actual.shape and abs(factor) > 1e-3 and seen.holds(factor * array):
            return Claim(
                "distances",
                f"{seen.label} is {_often(factor)}the {words} between each two vectors, but their "
                "dot product is expected.",
                "Where does your code subtract one vector from another?",
            )
    return None


def _often(factor: float) -> str:
    """Say how many times something is taken, and nothing where it is once."""
    if abs(abs(factor) - 1) < 1e-3:
        return "" if factor > 0 else "minus "
    return f"{factor:.4g} times "


def _largest_only(seen: Difference, expected: MatrixProduct) -> Claim | None:
    left = expected.left.array
    largest = np.arange(left.shape[-1]) == left.argmax(axis=-1)[..., None]
    for words, array in (("as 1", largest.astype(np.float64)), ("", np.where(largest, left, 0.0))):
        result = expected.of(array, expected.right.array)
        if result is not None and seen.holds(result):
            counts = f"counts, {words}" if words else "counts"
            return Claim(
                f"largest only {words}",
                f"In each row of {expected.left.words}, only the largest number {counts}.",
                "What becomes of the smaller numbers of a row?",
            )
    return None


def _from_another_part(
    seen: Difference, arguments: tuple[Value, ...], parts: Mapping[str, np.ndarray]
) -> Iterator[Claim]:
    """Claim that one of several results is projected from another one of them."""
    if len(parts) < 2:
        return
    for number, value in enumerate(arguments, start=1):
        for name, part in parts.items():
            array = _projected(part, value)
            if array is not None and seen.holds(array.astype(seen.expected.dtype)):
                yield Claim(
                    f"made from {name}",
                    f"{seen.label} is made from `{name}`: it is what argument number {number} "
                    "makes of that.",
                    "What goes into that projection?",
                )
                return


def _projected(array: np.ndarray, by: Value) -> np.ndarray | None:
    if array.ndim < 2 or array.dtype.kind != "f":
        return None
    if isinstance(by, Linear):
        result = times(array, by.weight.swapaxes(-2, -1)) if by.weight.ndim == 2 else None
        return result if result is None or by.bias is None else result + by.bias
    if isinstance(by, np.ndarray) and by.ndim == 2 and by.dtype.kind == "f":
        return times(array, by)
    return None


_CLAIMS = (_turned_over, _summed, _reordered, _left_out, _directions, _distances, _largest_only)

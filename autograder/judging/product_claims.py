"""Claims about a product: which other product of the arguments stands where one is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from autograder.judging.number_claims import Difference
from autograder.judging.share_claims import shares_of
from autograder.model.request import Request
from autograder.model.verdict import Claim, Measure
from autograder.protocol.wire import Linear, Value

# A matrix product of two arguments, as it is expected, and the same product of other arrays.

_MOST = 1 << 22  # multiplications that are tried out for one product


@dataclass(frozen=True, eq=False)
class Factor:
    """An argument of the question, as a factor of a matrix product."""

    words: str
    array: np.ndarray

    @property
    def turned(self) -> np.ndarray:
        return self.array.swapaxes(-2, -1)


@dataclass(frozen=True, eq=False)
class MatrixProduct:
    """The product that is expected: `left` times `right`, which is `turned` over if so.

    `scale` is the number that it is multiplied by.
    """

    left: Factor
    right: Factor
    turned: bool
    scale: float = 1.0

    def of(self, left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """Return the same product of other arrays, or None where their shapes do not fit."""
        array = times(left, right.swapaxes(-2, -1) if self.turned else right)
        return None if array is None else self.scale * array


def expected_product(seen: Difference, arguments: tuple[Value, ...]) -> MatrixProduct | None:
    """Return the product of two arguments that is expected, times a number; None for none."""
    factors = [
        Factor(f"argument number {number}", np.asarray(value, np.float64))
        for number, value in enumerate(arguments, start=1)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim > 1
    ]
    for (left, right), turned in product(permutations(factors, 2), (True, False)):
        array = MatrixProduct(left, right, turned).of(left.array, right.array)
        scale = None if array is None else factor_of(seen, seen.expected, array)
        if scale is not None:
            return MatrixProduct(left, right, turned, scale)
    return None


def factor_of(seen: Difference, wanted: np.ndarray, array: np.ndarray) -> float | None:
    """Return the number that makes `wanted` out of an array, 1 where it need not be another."""
    if array.shape != wanted.shape or not np.isfinite(array).all():
        return None
    if is_like(seen, array, wanted):
        return 1.0
    weight = float((array * array).sum())
    scale = float((np.asarray(wanted, np.float64) * array).sum()) / weight if weight else 0.0
    return scale if abs(scale) > 1e-3 and is_like(seen, scale * array, wanted) else None


def times(left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Return a matrix product, or None where the shapes do not fit or it takes long."""
    if left.shape[-1] != right.shape[-2] or left.size * right.shape[-1] > _MOST:
        return None
    try:
        return np.asarray(left @ right)
    except ValueError:  # the axes in front do not fit
        return None


def is_like(seen: Difference, array: np.ndarray, wanted: np.ndarray) -> bool:
    """Say whether an array is `wanted`, within the tolerance."""
    if array.shape != wanted.shape or not np.isfinite(array).all():
        return False
    return bool(seen.agree(wanted, array.astype(wanted.dtype)).all())


# Claims about a product with several slips at once, such as one that is turned over and scaled.

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

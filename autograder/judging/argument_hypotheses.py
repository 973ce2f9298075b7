"""Ways in which a wrong result may follow from what went in: arguments, layers, scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

import numpy as np

from autograder.judging.hypotheses import Difference, Guess, Hypothesis, shares_of
from autograder.values.verdict import Claim
from autograder.worker.wire import Linear, Value, arrays_in

# An argument as it came, or added to what is expected, as in a residual connection.


def _arguments(seen: Difference) -> Iterator[tuple[int, np.ndarray]]:
    for number, value in enumerate(seen.arguments, start=1):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            yield number, value


def _added(seen: Difference) -> Iterator[Guess]:
    if seen.forbidden.any():
        return
    for number, value in _arguments(seen):
        if value.shape != seen.expected.shape or seen.is_like(np.abs(value), np.abs(seen.expected)):
            continue
        yield seen.expected + value, number, "plus", "adds it"
        yield seen.expected - value, number, "less", "takes it away"


# A layer that is taken apart: what its weight and bias did to the input.


def _uses(seen: Difference) -> Iterator[Guess]:
    """Give wrong uses of a layer whose output is expected."""
    inputs = [each for each in seen.inputs if isinstance(each, np.ndarray) and each.ndim > 1]
    for number, layer in enumerate(seen.inputs, start=1):
        if not isinstance(layer, Linear) or layer.weight.ndim != 2:
            continue
        bias = np.zeros(len(layer.weight)) if layer.bias is None else layer.bias
        for x in inputs:
            right = times(x, layer.weight.T)
            if right is not None and seen.is_like(right + bias, seen.expected):
                words = f"argument number {number}"
                for kind, what, array in _uses_of(layer, x, words):
                    yield array, f"{words} {kind}", what
                if layer.bias is not None and right.shape == seen.actual.shape:
                    yield from _in_parts(seen, right, layer.bias, words)


def _uses_of(layer: Linear, x: np.ndarray, words: str) -> Iterator[tuple[str, str, np.ndarray]]:
    """Give wrong uses of a layer: a kind, words, and the result."""
    right, stored, bias = times(x, layer.weight.T), times(x, layer.weight), layer.bias
    as_stored = f"the weight of {words} is used as it is stored"
    if stored is not None and bias is None:
        # Nothing tells whether a bias would be added.
        yield "stored", as_stored, stored
        yield "stored alone", as_stored, stored
    elif stored is not None and bias is not None:
        if bias.shape == stored.shape[-1:]:
            yield "stored", as_stored, stored + bias
        yield "stored alone", f"{as_stored}, and its bias is left out", stored
    if right is not None and bias is not None:
        multiplied = f"the product is multiplied by the bias of {words}, which should be added"
        yield "multiplied", multiplied, right * bias


def _in_parts(seen: Difference, right: np.ndarray, bias: np.ndarray, words: str) -> Iterator[Guess]:
    """Give the product and the bias of a layer, each times the number that fits best."""
    parts, whole = (right, np.broadcast_to(bias, right.shape)), seen.actual
    (one, both), (_, other) = ([float((each * part).sum()) for each in parts] for part in parts)
    ours, theirs = (float((part * whole).sum()) for part in parts)
    apart = one * other - both * both
    if not apart:
        return
    products, biases = (ours * other - theirs * both) / apart, (theirs * one - ours * both) / apart
    if abs(products - biases) > 1e-3 and np.isfinite(biases):
        often = "once" if abs(biases - 1) < 1e-3 else f"{biases:.4g} times"
        what = f"the product is taken {products:.4g} times, and the bias of {words} {often}"
        if abs(products - 1) < 1e-3:
            done = {0: "left out", -1: "taken away and not added", 2: "added twice"}
            is_so = done.get(round(biases), "") if abs(biases - round(biases)) < 1e-3 else ""
            what = f"the bias of {words} is {is_so or f'added {biases:.4g} times'}"
        yield products * right + biases * bias, f"{words} in parts", what


def _from_another_part(seen: Difference) -> Iterator[Guess]:
    """Give what an argument makes of another result, in the place of what went in."""
    for number, value in enumerate(seen.inputs if len(seen.parts) > 1 else (), start=1):
        for name, part in seen.parts.items():
            array = _projected(part, value) if part.ndim > 1 and part.dtype.kind == "f" else None
            if array is not None:
                yield array, name, number


def _projected(array: np.ndarray, by: Value) -> np.ndarray | None:
    if isinstance(by, Linear):
        result = times(array, by.weight.T) if by.weight.ndim == 2 else None
        return result if result is None or by.bias is None else result + by.bias
    if isinstance(by, np.ndarray) and by.ndim == 2 and by.dtype.kind == "f":
        return times(array, by)
    return None


# A matrix product of two arguments, as it is expected, and the same product of other arrays.

_MOST = 1 << 22  # multiplications that are tried out for one product
_MOST_LEFT_OUT = 16  # entries that are tried


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

    def paired(self, factor: Factor) -> int:
        """Return the axis of a factor that the product pairs up and sums over."""
        return factor.array.ndim - (2 if factor is self.right and not self.turned else 1)


def times(left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Return a matrix product, or None where the shapes do not fit or it takes long."""
    if left.shape[-1] != right.shape[-2] or left.size * right.shape[-1] > _MOST:
        return None
    try:
        return np.asarray(left @ right)
    except ValueError:  # the axes in front do not fit
        return None


@lru_cache(maxsize=1)
def _product(seen: Difference) -> MatrixProduct | None:
    """Return the product of two arguments that is expected, times a number; None for none."""
    factors = [
        Factor(f"argument number {number}", np.asarray(value, np.float64))
        for number, value in _arguments(seen)
        if value.ndim > 1 and seen.inputs
    ]
    for (left, right), turned in product(permutations(factors, 2), (True, False)):
        array = MatrixProduct(left, right, turned).of(left.array, right.array)
        if array is not None and array.shape == seen.expected.shape:
            weight = float((array * array).sum())
            scale = float((seen.expected * array).sum()) / weight if weight else 0.0
            scale = 1.0 if seen.is_like(array, seen.expected) else scale
            if abs(scale) > 1e-3 and seen.is_like(scale * array, seen.expected):
                return MatrixProduct(left, right, turned, scale)
    return None


# What was done to an argument, a question, and what came of it.
Altered = tuple[tuple[str, ...], str, np.ndarray]


def _other_products(seen: Difference) -> Iterator[Guess]:
    """Give products of the arguments with one slip or two, those with the fewest first."""
    expected = _product(seen) if seen.same_shape else None
    if expected is None:
        return
    left, right = expected.left, expected.right
    found: list[Altered] = []
    for first, second in ((left, right), (right, left), (left, left), (right, right)):
        other = () if first is left else ("the two have changed places",)
        other = (f"{first.words} is multiplied with itself",) if first is second else other
        for (ours, look, one), (theirs, also, two) in product(
            *([((), "", factor.array), *_forms(factor, expected)] for factor in (first, second))
        ):
            slips = (*other, *ours, *theirs)
            array = expected.of(one, two) if 0 < len(slips) < 3 else None
            if array is not None:
                found.append((slips, look or also, array))
    for factor in (right, left):
        for slips, look, form in _rarer_forms(seen, factor, expected):
            pair = (left.array, form) if factor is right else (form, right.array)
            array = expected.of(*pair)
            if array is not None:
                found.append((slips, look, array))
    for slips, look, array in sorted(found, key=lambda each: len(each[0])):
        told, how = " and ".join(slips), "multiplies the right arguments, but"
        if slips[0].endswith("itself"):
            how = "is another product of the arguments:"
        elif len(slips) == 2 and " of argument" in slips[0]:
            names = left.words, right.words
            alike = {each.replace(name, "both arguments") for each, name in zip(slips, names)}
            told = alike.pop() if len(alike) == 1 else told
        yield array, told, look or _ARRAYS, how


def _forms(factor: Factor, expected: MatrixProduct) -> Iterator[Altered]:
    """Give what an argument may have become before the product."""
    words, array = factor.words, factor.array
    look = "Which axes does the product pair up?"
    yield (f"the last two axes of {words} have changed places",), look, factor.turned
    if expected.turned:
        *front, rows, columns = array.shape
        reshaped = array.reshape(*front, columns, rows).swapaxes(-2, -1)
        yield (f"{words} is reshaped where axes have to change places",), "", reshaped
    if (array >= 0).all() and np.allclose(array.sum(axis=-1), 1):
        shares = shares_of(array)
        again = f"{words} goes through a softmax once more"
        yield (again,), "", shares
        yield (f"{again}, and its last two axes change places",), "", shares.swapaxes(-2, -1)
    look = "Lengths are expected to count here. Which line divides by the length of a vector?"
    unit = array / np.sqrt((array**2).sum(axis=expected.paired(factor), keepdims=True))
    yield (f"each vector of {words} is divided by its own length",), look, unit


def _rarer_forms(seen: Difference, factor: Factor, expected: MatrixProduct) -> Iterator[Altered]:
    """Give what an argument may have become along an axis, which is tried alone."""
    words, array = factor.words, factor.array
    if factor is expected.left:
        largest, look = array.max(axis=-1, keepdims=True), "What becomes of the smaller numbers?"
        only = f"in each row of {words}, only the largest number counts"
        yield (f"{only}, as 1",), look, np.where(array == largest, 1.0, 0.0)
        yield (only,), look, np.where(array == largest, array, 0.0)
    named = array.ndim == seen.expected.ndim
    for axis in range(array.ndim - 2 if named else 0):
        look = f"Which entries along {seen.axis(axis)} belong together?"
        for which, part in (
            ("sum", array.sum(axis=axis, keepdims=True)),
            ("mean", array.mean(axis=axis, keepdims=True)),
            ("first entry", array.take([0], axis=axis)),
            ("last entry", array.take([-1], axis=axis)),
        ):
            what = f"uses the {which} of {words} along {seen.axis(axis)} for every entry there"
            yield (what,), look, np.broadcast_to(part, array.shape)
    for axis in (*range(array.ndim - 2), expected.paired(factor)):
        where = seen.axis(axis) if named and axis < array.ndim - 2 else f"axis {axis}"
        for way, moved in (
            ("in reverse order", np.flip(array, axis)),
            ("one place too late", np.roll(array, 1, axis)),
            ("one place too early", np.roll(array, -1, axis)),
        ):
            look = "Which line changes their order there?"
            yield (f"{words} stands {way} along its {where}",), look, moved


def _left_out(seen: Difference) -> Iterator[Guess]:
    """Give the expected product without some of the terms that it sums up."""
    expected = _product(seen)
    if expected is None:
        return
    factors = expected.left, expected.right
    ours, theirs = (expected.paired(factor) for factor in factors)
    count = expected.left.array.shape[ours]
    for words, places in _left_out_places(count):
        kept = np.delete(np.arange(count), places)
        result = expected.of(
            expected.left.array.take(kept, ours), expected.right.array.take(kept, theirs)
        )
        if result is not None:
            them = "it" if len(places) == 1 else "them"
            where = f"axis {ours} of {factors[0].words} and axis {theirs} of {factors[1].words}"
            yield result, words, count, them, where


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


def _distances(seen: Difference) -> Iterator[Guess]:
    """Give the distances of vectors in the place of their product."""
    expected = _product(seen)
    dots = times(expected.left.array, expected.right.turned) if expected else None
    if expected is None or dots is None or not expected.turned:
        return
    ours, theirs = ((factor.array**2).sum(-1) for factor in (expected.left, expected.right))
    squares = np.maximum(ours[..., :, None] + theirs[..., None, :] - 2 * dots, 0.0)
    for words, array in (("squared distance", squares), ("distance", np.sqrt(squares))):
        yield array, "", words
        yield -array, "minus ", words


def _number_by_number(seen: Difference) -> Iterator[Guess]:
    expected = _product(seen)
    if expected and expected.left.array.shape == expected.right.array.shape:
        array = expected.left.array * expected.right.array
        yield (array * (seen.factor_of(array) or 1.0),)


# Shares that are made from the scores in another way than by a softmax.

_BOUNDS = tuple(2.0**power for power in range(1, 14))  # that scores may be cut off at


def given_scores(seen: Difference) -> np.ndarray | None:
    """Return the argument of a function that has the shape of the shares, as their scores have."""
    arrays = (array for array in arrays_in(seen.inputs) if array.dtype.kind == "f")
    return next((array for array in arrays if array.shape == seen.expected.shape), None)


def _wide_scores(seen: Difference) -> Iterator[np.ndarray]:
    scores = given_scores(seen) if seen.shares else None
    if scores is not None:
        yield np.asarray(scores, np.float64)


def _of_rows(numbers: np.ndarray) -> np.ndarray:
    return np.asarray(numbers / numbers.sum(axis=-1, keepdims=True))


def _other_functions(seen: Difference) -> Iterator[Guess]:
    for scores in _wide_scores(seen):
        least = scores.min(axis=-1, keepdims=True)
        yield _of_rows(scores), "each score as it is"
        yield _of_rows(scores - least), "each score less the smallest one"
        yield _of_rows(scores * scores), "the square of each score"
        yield _of_rows(np.abs(scores)), "each score without its sign"
        yield _of_rows(np.maximum(scores, 0.0)), "each score, or 0 where that is negative"


def bounded(seen: Difference) -> Iterator[Claim]:
    """Claim that the shares are those of scores that are cut off at a bound."""
    for scores in _wide_scores(seen):
        for bound in (each for each in _BOUNDS if each < np.abs(scores).max(initial=0.0)):
            for low, high in ((-bound, bound), (-np.inf, bound), (-bound, np.inf)):
                if seen.is_like(seen.actual, shares_of(np.clip(scores, low, high))):
                    fact = (
                        "Each row sums to 1, but scores that lie far from 0 count as equal. The "
                        "shares are those of scores that are cut off at a bound."
                    )
                    look = "Which operation keeps the scores within bounds?"
                    yield Claim("bounded scores", fact, look)
                    return


_LAYERS = "What does a layer do with its weight and its bias when it is called?"
_ARRAYS = "Which arrays does your product take, in which order, and along which axes?"
# Told with a factor only where nothing is known of what is expected.
AS_IT_CAME = Hypothesis(
    "argument {0}",
    lambda seen: ((value, number) for number, value in _arguments(seen)),
    "{label} is argument number {0}, unchanged.",
    "Which line computes something new from it, and is that what you return?",
    scaled="{label} is {factor:.4g} times argument number {0}.",
)
ARGUMENTS: tuple[Hypothesis, ...] = (
    Hypothesis("layer {0}", _uses, "In {inner}, {1}.", _LAYERS, scaled=None),
    Hypothesis(
        "number by number",
        _number_by_number,
        "Your result multiplies the two arguments number by number. Every vector of the one is "
        "expected to meet every vector of the other.",
        "Which product does that?",
        scaled=None,
    ),
    Hypothesis(
        "made from {0}",
        _from_another_part,
        "{label} is made from `{0}`: it is what argument number {1} makes of that.",
        "What goes into that projection?",
    ),
    Hypothesis(
        "left out {0}",
        _left_out,
        "{label} multiplies the right arguments, but its sums leave out {0} of their {1} terms. "
        "Without {2}, the product gives just these numbers. The sums run along {3}.",
        "Which line takes only a part of an axis?",
        scaled=None,
    ),
    Hypothesis(
        "distances",
        _distances,
        "{label} is {0}the {1} between each two vectors, but their dot product is expected.",
        "Where does your code subtract one vector from another?",
        scaled="{label} is {factor:.4g} times the {1} between each two vectors, but their dot "
        "product is expected.",
    ),
    Hypothesis("slips {0}", _other_products, "{label} {2} {0}.", "{1}"),
    Hypothesis(
        "{1} argument {0}",
        _added,
        "{label} is what is expected {1} argument number {0}, as it was given.",
        "Which line {2}? What should this code alone return?",
        scaled=None,
    ),
    Hypothesis(
        "no exponential",
        _other_functions,
        "Each row sums to 1, but without an exponential. What is divided by the sum of the row is "
        "{0}.",
        "What makes every number positive, and grows with the score?",
        scaled=None,
    ),
    Hypothesis(
        "sigmoid",
        lambda seen: ((0.5 + 0.5 * np.tanh(scores / 2),) for scores in _wide_scores(seen)),
        "Each number is that of a sigmoid: it lies between 0 and 1, but follows from its own score "
        "alone. So the rows do not sum to 1.",
        "Shares are parts of a whole. Which numbers of a row does a share depend on?",
        scaled=None,
    ),
)

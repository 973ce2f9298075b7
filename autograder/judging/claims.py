"""What is true of a wrong result that no catalogue knows, the most specific claim first.

Claims are computed, never guessed: each holds for all the numbers that it is about, within the
tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from autograder.judging.compare import (
    LOWER,
    ResultSpec,
    agree,
    arrays_of,
    asked_precision,
    is_lower,
    sizes_of,
)
from autograder.judging.number_claims import (
    MOST_PLACES,
    RESULT,
    Difference,
    about_closeness,
    about_entries,
    about_numbers,
    about_rows,
    about_triangle,
    entries,
    near,
    numbers,
)
from autograder.judging.order_claims import (
    about_axes,
    about_joined,
    about_order,
    about_parts,
    about_reshaping,
    about_shape,
    about_type,
)
from autograder.judging.product_claims import about_products, is_like, times
from autograder.judging.share_claims import (
    about_allowed,
    about_floor,
    about_scores,
    about_shares,
    forbidden_in,
    given_scores,
    sums_to_one,
)
from autograder.judging.value_words import range_words
from autograder.model.request import Request
from autograder.model.verdict import Claim
from autograder.protocol.wire import Linear, Value, arrays_in

# Claims about an argument that is added to what is expected, as in a residual connection.

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


# Claims about numbers that are brought to mean 0 and standard deviation 1.

_MEAN, _SPREAD = 1e-5, 1e-3  # how near to 0 and to 1: a small number may be added before a root
_FEWEST = 3  # numbers that have a spread


def about_spread(seen: Difference) -> Iterator[Claim]:
    """Claim that the numbers of a result, or of each part of it, have mean 0 and deviation 1."""
    count = seen.expected.ndim
    for axes in [(axis,) for axis in reversed(range(count))] + _together(count):
        entries = int(np.prod([seen.expected.shape[axis] for axis in axes]))
        if entries < _FEWEST or not _standard(seen.actual, axes) or _standard(seen.expected, axes):
            continue
        names = " and ".join(seen.axis(axis) for axis in axes)
        where = f"Along {names}{' together' if len(axes) > 1 else ''}{seen.of_label}, the numbers"
        if len(axes) == count:
            where = f"All numbers{seen.of_label} together"
        yield Claim(
            f"standardized {axes}",
            f"{where} have mean 0 and standard deviation 1. That is not expected.",
            "Should a number here depend on the others? Which line makes it do so?",
        )
        return


def _together(count: int) -> list[tuple[int, ...]]:
    """Return the last axes of `count`, from two to all."""
    return [tuple(range(first, count)) for first in reversed(range(count - 1))]


def _standard(array: np.ndarray, axes: tuple[int, ...]) -> bool:
    wide = np.asarray(array, np.float64)
    if np.abs(wide.mean(axis=axes)).max() > _MEAN:
        return False
    return any(
        bool((np.abs(wide.std(axis=axes, ddof=less) - 1) < _SPREAD).all()) for less in (0, 1)
    )


# Claims about zeros: which entries of a result are 0, where all the others are right.

GRADIENT = ".grad"  # behind the name of a parameter


def about_zeros(seen: Difference) -> Iterator[Claim]:
    """Give which entries are 0, where all the others are right."""
    wrong = ~seen.agree(seen.actual, seen.expected)
    if wrong.all() or seen.actual[wrong].any():
        return
    count = int(wrong.sum())
    if count > 1 and ((seen.expected < 0) == wrong).all():
        yield Claim(
            "cut at zero",
            f"{count} of the {wrong.size} numbers{seen.of_label} are 0 where negative ones are "
            "expected, and all the others are right.",
            "Which line cuts off what is below 0?",
        )
    for axis in range(seen.expected.ndim):
        others = tuple(other for other in range(seen.expected.ndim) if other != axis)
        whole = np.asarray(wrong.any(axis=others))
        if not whole.all() and not np.compress(whole, seen.actual, axis).any():
            yield _along(seen, axis, [int(place) for place in np.flatnonzero(whole)])
            return
    if count > 1:
        yield Claim(
            "zeros",
            f"{count} of the {wrong.size} numbers{seen.of_label} are 0, and all the others are "
            "right.",
            "Which line leaves numbers out?",
        )


def _along(seen: Difference, axis: int, places: list[int]) -> Claim:
    """Claim that the entries at `places` along an axis hold nothing but 0."""
    size = seen.expected.shape[axis]
    parameter = seen.label.removesuffix(f"{GRADIENT}`")
    if parameter == seen.label or axis:
        fact = f"{entries(places, size)} 0 everywhere, and the others are right."
        return Claim(
            f"zero {axis}",
            f"Along {seen.axis(axis)}{seen.of_label}, {fact}",
            "Which line leaves these entries out?",
        )
    third = _share_of(places, size)
    rows = f"row {places[0]}{third} gets" if len(places) == 1 else f"{_listed(places)}{third} get"
    return Claim(
        f"zero {axis}",
        f"In {parameter}`, {rows} no gradient. The others get the right one.",
        "Which result is made with these rows? Where is its way to the output cut?",
    )


def _listed(places: list[int]) -> str:
    if places == list(range(places[0], places[-1] + 1)) and len(places) > 2:
        return f"the rows {places[0]} to {places[-1]}"
    if len(places) <= MOST_PLACES:
        return f"the rows {', '.join(map(str, places[:-1]))} and {places[-1]}"
    return f"{len(places)} of the rows"


def _share_of(places: list[int], count: int) -> str:
    """Say which third of the rows these are, where they are one."""
    for number, words in enumerate(("first", "second", "last")):
        if count % 3 == 0 and places == list(range(number * count // 3, (number + 1) * count // 3)):
            return f", the {words} third of all rows,"
    return ""


# Claims about the sums of rows of shares, where nothing more is known of them.

# Where the scores are an argument, they are right.
_MADE_OF = "What becomes of each score on its way to a share, one line after the other?"


def about_row_sums(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give how shares of the right sum differ from the expected ones, where nothing else does."""
    if not seen.shares:
        return
    if (seen.actual < 0).any() or not sums_to_one(seen, (seen.expected.ndim - 1,)):
        yield from _wrong_sums(seen)
        return
    given = given_scores(seen, request) is not None
    ours, theirs = seen.actual.max(axis=-1), seen.expected.max(axis=-1)
    differ = ~seen.agree(ours, theirs)
    if differ.all() and differ.size > 3 and (ours < theirs).all():
        yield Claim(
            "flat",
            "Each row sums to 1, but is too flat: its largest share is too small.",
            _MADE_OF if given else "What makes the scores too small, or the shares too equal?",
            weak=True,
        )
    elif differ.all() and differ.size > 3 and (ours > theirs).all():
        yield Claim(
            "sharp",
            "Each row sums to 1, but is too sharp: its largest share is too large.",
            _MADE_OF if given else "What makes the scores too large, or drops shares?",
            weak=True,
        )
    else:
        yield Claim(
            "rows sum to 1",
            "Each row sums to 1, as expected, but the shares in it are not the right ones.",
            _MADE_OF if given else "Are the scores right that go into the softmax?",
            weak=True,
        )


def _wrong_sums(seen: Difference) -> Iterator[Claim]:
    """Claim that no row sums to 1, where each is expected to."""
    sums = np.asarray(seen.actual.sum(axis=-1))
    if sums.size < 3 or seen.agree(sums, np.ones_like(sums)).any():
        return
    held = range_words(float(sums.min()), float(sums.max()))
    yield Claim(
        "no row sums to 1",
        f"The rows sum to {held}, but each is expected to sum to 1.",
        "Shares are parts of a whole: by what is each number of a row divided, and when?",
        weak=True,
    )


# Claims about where NaN and infinity stand in a result.


def about_not_finite(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of the numbers that are not finite, in a result of the expected shape."""
    if seen.actual.shape != seen.expected.shape or not np.isfinite(seen.expected).all():
        return
    if np.isnan(seen.actual).any():
        yield from _of_negative(seen, request)
    elif np.isneginf(seen.actual).any() and seen.square:
        yield from _hidden(seen)


def _of_negative(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Claim that NaN stands where a number is negative, and nowhere else."""
    nan = np.isnan(seen.actual)
    if nan.all() or nan.sum() < 3:
        return
    given = () if request is None or request.method else arrays_in(request.arguments)
    others = [(f"argument number {n}", each) for n, each in enumerate(given, start=1)]
    for words, array in (("what is expected", seen.expected), *others):
        if array.shape == nan.shape and np.array_equal(nan, array < 0):
            yield Claim(
                "nan of negative",
                f"NaN stands exactly where {words} is negative. The square root of a negative "
                "number is NaN, and so is its logarithm.",
                leads=False,
            )
            return


def _hidden(seen: Difference) -> Iterator[Claim]:
    """Claim that scores of later or earlier tokens are hidden, where all others are right."""
    hidden = np.isneginf(seen.actual)
    if not seen.agree(seen.actual, seen.expected)[~hidden].all():
        return
    later = np.triu(np.ones(seen.expected.shape[-2:], bool), k=1)
    for words, side in (("later", later), ("earlier", later.T)):
        if later.any() and np.array_equal(hidden, np.broadcast_to(side, hidden.shape)):
            yield Claim(
                "hidden",
                f"The numbers of {words} keys are hidden: they are negative infinity. All others "
                "are right.",
                "Nothing is expected to be hidden here. Which of your lines masks?",
            )


# Claims about a linear layer that is taken apart: what its weight and bias did to the input.

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


About = Callable[[Difference], Iterator[Claim]]

MOST_NUMBERS = 1 << 16  # of an array that is described
# The most specific first: a factor says more than rows that are right.
_SAME_SHAPE: tuple[About, ...] = (
    about_axes,
    about_shares,
    about_numbers,
    about_triangle,
    about_zeros,
    about_order,
    about_rows,
    about_spread,
    about_closeness,
    about_entries,
)
# Of a masked result, whose forbidden scores are the largest numbers by far: what counts places.
_PLACES = (about_axes, about_order, about_entries)


def claims_about(
    returned: Value, expected: Value, form: ResultSpec, request: Request | None = None
) -> tuple[Claim, ...]:
    """Return what is true of a wrong result, or nothing; `request` is the question to it."""
    with np.errstate(all="ignore"):
        return tuple(_claims(returned, expected, form, request))


def _claims(
    returned: Value, expected: Value, form: ResultSpec, request: Request | None
) -> Iterator[Claim]:
    if len(form.names) == 1:
        yield from about_type(returned, form)
    given, wanted = arrays_of(returned, form, expected), arrays_of(expected, form)
    if not all(isinstance(part, np.ndarray | float) for part in wanted):
        return
    arrays = [np.asarray(part) for part in wanted]
    yield from about_parts(given, arrays, form)
    yield from about_joined(given, arrays, form)
    yield from about_reshaping(given, arrays, form, request)
    if len(given) == 1 < len(arrays):
        return  # one array in place of several is none of them
    sizes = sizes_of(expected, form, request)
    others = False  # whether a wrong array comes before, of which there is nothing to say
    for name, axes, part, whole in zip(form.names, form.axes, given, arrays):
        if not _describable(part, whole):
            continue
        label = f"`{name}`" if len(form.names) > 1 else RESULT
        actual = numbers(part, form)
        if (
            actual.shape == whole.shape
            and agree(actual, numbers(whole, form), form.precision).all()
        ):
            continue
        seen = Difference(actual, numbers(whole, form), label, axes, near(part, form), sizes)
        found = [
            *_argument(seen, request),
            *about_projections(seen, request),
            *about_products(seen, request, dict(zip(form.names, arrays))),
            *about_additions(seen, request),
            *about_scores(seen, request),
            *about_not_finite(seen, request),
            *_of_one(seen, request),
        ]
        if found:
            lower = _lower_words(part, whole, form)
            for claim in found:
                # The bare fact gives an example from the first array that is wrong.
                leads = claim.leads and not others
                yield replace(claim, fact=f"{claim.fact}{lower}", leads=leads)
            return
        others = True


def _describable(part: Value, whole: np.ndarray) -> bool:
    if not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf":
        return False
    return 0 < part.size <= MOST_NUMBERS and 0 < whole.size <= MOST_NUMBERS


def _lower_words(part: np.ndarray, whole: np.ndarray, form: ResultSpec) -> str:
    """Name the precision of an array that has less than was asked for."""
    lower = is_lower(part, asked_precision(whole, form.precision))
    return f" Its numbers are {LOWER[part.dtype.name]}." if lower else ""


def _of_one(seen: Difference, request: Request | None) -> Iterator[Claim]:
    if seen.actual.shape != seen.expected.shape:
        for about in (about_axes, about_shape):
            for claim in about(seen):
                yield replace(claim, leads=False)
    elif not np.isfinite(seen.actual).all():
        yield from about_floor(seen)
        for claim in about_entries(seen):
            yield replace(claim, leads=False)
    elif not seen.agree(seen.actual, seen.expected).all():  # in its own, lower precision
        masked = forbidden_in(seen).any() and not forbidden_in(seen).all()
        yield from _of_masked(seen, request) if masked else _of_all(seen, _SAME_SHAPE)
        yield from about_row_sums(seen, request)


def _of_masked(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of a masked result: of the forbidden or the allowed scores alone, first."""
    right, forbidden = seen.agree(seen.actual, seen.expected), forbidden_in(seen)
    yield from about_floor(seen)
    yield from about_triangle(seen)
    yield from about_allowed(seen, request)
    if not right[forbidden].all() and not right[~forbidden].all():
        yield from _of_all(seen, (about_shares, about_numbers))
    elif (seen.actual == seen.actual.flat[0]).all():
        yield from about_numbers(seen)
    yield from _of_all(seen, _PLACES)


def _of_all(seen: Difference, abouts: Sequence[About]) -> Iterator[Claim]:
    for about in abouts:
        yield from about(seen)


def _argument(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give the argument that came back unchanged, if one did."""
    if request is None or request.read:
        return
    arguments = request.method_arguments if request.method else request.arguments
    for number, value in enumerate(arguments, start=1):
        if (
            isinstance(value, np.ndarray)
            and value.dtype.kind == "f"
            and value.shape == seen.actual.shape
            and value.size > 1
            and np.ptp(value) > 0
            and seen.agree(seen.actual, value).all()
        ):
            yield Claim(
                f"argument {number}",
                f"{seen.label} is argument number {number}, unchanged.",
                "Which line computes something new from it, and is that what you return?",
                leads=seen.actual.shape == seen.expected.shape,
            )
            return

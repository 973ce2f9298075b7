"""What is true of a wrong result that no catalogue knows, the most specific claim first.

Claims are computed, never guessed: each holds for all the numbers that it is about, within the
tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from autograder.judging.addition_claims import about_additions
from autograder.judging.compare import ResultSpec, agree, arrays_of
from autograder.judging.difference import RESULT, Difference, near, numbers
from autograder.judging.entry_claims import (
    about_closeness,
    about_entries,
    about_rows,
    about_triangle,
)
from autograder.judging.joined_claims import about_joined
from autograder.judging.masked_claims import about_allowed, about_floor, forbidden_in
from autograder.judging.not_finite_claims import about_not_finite
from autograder.judging.number_claims import about_numbers
from autograder.judging.order_claims import about_axes, about_order
from autograder.judging.part_claims import about_parts, about_reshaping, about_type
from autograder.judging.precision import LOWER, asked_precision, is_lower
from autograder.judging.product_claims import about_products
from autograder.judging.projection_claims import about_projections
from autograder.judging.question_sizes import sizes_of
from autograder.judging.row_sum_claims import about_row_sums
from autograder.judging.score_claims import about_scores
from autograder.judging.shape_claims import about_shape
from autograder.judging.share_claims import about_shares
from autograder.judging.spread_claims import about_spread
from autograder.judging.zero_claims import about_zeros
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import Value

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

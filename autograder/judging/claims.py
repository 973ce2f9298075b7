"""What is true of a wrong result that no catalogue knows, the most specific claim first.

Claims are computed, never guessed: each holds for all the numbers that it is about, within the
tolerance. Where the result follows from something by one transform, a `Hypothesis` says so; what is
here is true of a part of it, or of several results at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from autograder.judging.argument_hypotheses import (
    ARGUMENTS,
    AS_IT_CAME,
    bounded,
    given_scores,
)
from autograder.judging.compare import (
    FLOOR,
    GRADIENT,
    LOWER,
    ResultSpec,
    agree,
    arrays_of,
    asked_precision,
    decimals_of,
    decimals_words,
    is_lower,
    sizes_of,
)
from autograder.judging.hypotheses import (
    AXES,
    CUT_AT_ZERO,
    JOINED,
    KEPT,
    MOST_AXES,
    NUMBERS,
    ORDER,
    OTHER_ROWS,
    RESULT,
    ROW_BY_ROW,
    SHAPES,
    SHIFTED,
    TEMPERATURE,
    About,
    Difference,
    claim_of,
    near,
    numbers,
    once,
    order_and_factor,
    shares_of,
)
from autograder.judging.value_words import listed, place_words, quoted, range_words
from autograder.values.request import Request
from autograder.values.verdict import Claim
from autograder.worker.wire import Value, arrays_in

MOST_NUMBERS = 1 << 16  # of an array that is described


def claims_about(
    returned: Value, expected: Value, form: ResultSpec, request: Request | None = None
) -> tuple[Claim, ...]:
    """Return what is true of a wrong result, or nothing; `request` is the question to it."""
    with np.errstate(all="ignore"):
        return tuple(_claims(returned, expected, form, request))


def _claims(
    returned: Value, expected: Value, form: ResultSpec, request: Request | None
) -> Iterator[Claim]:
    given, wanted = arrays_of(returned, form, expected), arrays_of(expected, form)
    if not all(isinstance(part, np.ndarray | float) for part in wanted):
        return
    arrays = [np.asarray(part) for part in wanted]
    yield from _about_type(returned, form)
    if len(given) == len(arrays):
        if all(name.endswith(GRADIENT) for name in form.names):
            yield from _untrained(given, arrays, form)
        if len(arrays) > 1:
            yield from _exchanged(given, arrays, form)
    yield from _about_reshaping(given, arrays, form, request)
    sizes, parts = sizes_of(expected, form, request), dict(zip(form.names, arrays))
    others = False  # whether a wrong array comes before, of which there is nothing to say
    for name, axes, part, whole in zip(form.names, form.axes, given, arrays):
        if not _describable(part, whole):
            continue
        label = f"`{name}`" if len(form.names) > 1 else RESULT
        if len(given) == 1 < len(arrays):
            label = f"Your {form.noun}"  # one array in place of several is none of them
        actual, whole_numbers = numbers(part, form), numbers(whole, form)
        same = actual.shape == whole.shape
        if same and agree(actual, whole_numbers, form.precision).all():
            continue
        precision = near(part, form)
        seen = Difference(actual, whole_numbers, label, axes, precision, sizes, request, parts)
        found = _described(seen) if len(given) == len(arrays) else list(JOINED(seen))
        if found:
            lower = is_lower(part, asked_precision(whole, form.precision))
            held = f" Its numbers are {LOWER[part.dtype.name]}." if lower else ""
            for claim in found:
                # The bare fact gives an example from the first array that is wrong.
                leads = claim.leads and not others
                yield replace(claim, fact=f"{claim.fact}{held}", leads=leads)
            return
        others = True


def _describable(part: Value, whole: np.ndarray) -> bool:
    if not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf":
        return False
    return 0 < part.size <= MOST_NUMBERS and 0 < whole.size <= MOST_NUMBERS


def _described(seen: Difference) -> list[Claim]:
    """Return all that is true of one array, also of what it is a multiple of."""
    found = [claim for each in (AS_IT_CAME, *ARGUMENTS) for claim in each(seen)]
    others = [*_about_scores(seen), *_of_one(seen)]
    multiples = (
        [] if found else [claim for each in ARGUMENTS for claim in each.times_a_number(seen)]
    )
    others.sort(key=lambda claim: claim.weak)
    if multiples and seen.factor_of(seen.expected) is None:
        return [*multiples, *others]
    if not found and all(claim.weak for claim in others):
        return [*_with_a_factor(seen), *others]
    return [*found, *others, *multiples]


def _of_one(seen: Difference) -> Iterator[Claim]:
    finite = np.isfinite(seen.actual).all()
    if not finite and seen.same_shape:
        if np.isfinite(seen.expected).all():
            yield from _of_negative(seen)
            yield from _about_triangle(seen)
        yield from _about_floor(seen)
        for claim in _about_lines(seen):
            yield replace(claim, leads=False)
    elif seen.same_shape and seen.right.all():
        return  # in its own, lower precision
    elif seen.same_shape and seen.forbidden.any() and not seen.forbidden.all():
        yield from _of_masked(seen)
    else:
        for about in _SAME_SHAPE if seen.same_shape else _OTHER_SHAPE:
            yield from about(seen)


def _with_a_factor(seen: Difference) -> Iterator[Claim]:
    """Claim that a result is a number times what a hypothesis makes."""
    if np.isfinite(seen.actual).all() and not seen.forbidden.any():
        yield from order_and_factor(seen)
        for hypothesis in (AS_IT_CAME, *(NUMBERS if seen.same_shape else SHAPES)):
            yield from hypothesis.times_a_number(seen)


# Several arrays at once: exchanged ones, joined ones, and gradients that do not arrive.


def _about_type(value: Value, form: ResultSpec) -> Iterator[Claim]:
    """Give what is true of a result whose numbers are complex."""
    if len(form.names) > 1 or not isinstance(value, np.ndarray) or value.dtype.kind != "c":
        return
    tail = "" if value.imag.any() else " Their imaginary part is 0 everywhere."
    fact = f"It returns complex numbers, but real ones are expected.{tail}"
    look = "Which line turns real numbers into complex ones? A root of a negative number can do it."
    yield Claim("complex", fact, look)


def _untrained(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    names = [name.removesuffix(GRADIENT) for name in form.names]
    empty = [
        name
        for name, part, whole in zip(names, given, wanted)
        if (part is None or (isinstance(part, np.ndarray) and not part.any())) and whole.any()
    ]
    if not empty:
        return
    others = [name for name in names if name not in empty]
    fact = "No parameter gets a gradient."
    if others:
        gets = "gets one" if len(others) == 1 else "get one"
        fact = f"No gradient reaches {quoted(empty)}, but {quoted(others)} {gets}."
    look = "Where is the way from the result back to these parameters cut?"
    yield Claim(f"untrained {' '.join(empty)}", fact, look)


def _exchanged(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    what = "the gradient of " if form.names[0].endswith(GRADIENT) else ""
    names = [f"{what}`{name.removesuffix(GRADIENT)}`" for name in form.names]
    holds = {
        place: next((n for n, whole in enumerate(wanted) if _same_part(part, whole, form)), None)
        for place, part in enumerate(given)
        if not _same_part(part, wanted[place], form)
    }
    for place, other in holds.items():
        if other is None:
            continue
        fact = f"{names[place]} holds what is expected for {names[other].removeprefix(what)}."
        if holds.get(other) == place:
            fact = f"{names[place]} and {names[other]} have changed places."
        look = "In which order are they made, used and returned?"
        yield Claim(f"exchanged {place} {other}", fact[:1].upper() + fact[1:], look)
        return


def _same_part(part: Value, whole: np.ndarray, form: ResultSpec) -> bool:
    if not isinstance(part, np.ndarray) or part.dtype.kind != "f" or part.shape != whole.shape:
        return False
    return np.ptp(whole) > 0 and bool(agree(part, whole, form.precision).all())


def _about_reshaping(
    given: Sequence[Value],
    wanted: Sequence[np.ndarray],
    form: ResultSpec,
    request: Request | None,
) -> Iterator[Claim]:
    """Claim that results hold all numbers of an argument, one after the other as they came."""
    arrays = [part for part in given if isinstance(part, np.ndarray) and part.dtype.kind == "f"]
    if request is None or request.method is not None or len(arrays) != len(form.names):
        return
    part, right = arrays[0], wanted[0]
    if any(each.shape != part.shape for each in arrays) or not part.size:
        return
    for number, whole in enumerate(request.arguments, start=1):
        # Where what is expected has them in this order too, nothing was to change places.
        seen = isinstance(whole, np.ndarray) and not _in_one_piece(wanted, whole)
        if not seen or not _in_one_piece(arrays, whole):
            continue
        fact = (
            f"The numbers of argument number {number} stand in your "
            f"{'results together' if len(arrays) > 1 else 'result'} in the order in which they "
            "came: no axis has changed places with another."
        )
        look = "Which axis should be cut, and which axes have to change places afterwards?"
        if right.ndim < whole.ndim:
            look = "Which axes become one, and which have to change places before?"
        if part.shape != right.shape:
            fact, look = f"{fact} {look}", ""
        yield Claim("reshaped only", fact, look, leads=part.shape == right.shape)
        return


def _in_one_piece(parts: Sequence[np.ndarray], whole: np.ndarray) -> bool:
    """Say whether an array was only reshaped, and then taken apart along one axis."""
    shape = parts[0].shape
    if (
        whole.size != parts[0].size * len(parts)
        or np.unique(whole).size < 6
        or shape == whole.shape
    ):
        return False
    axes = range(len(shape) + 1) if len(parts) > 1 else (0,)
    return any(np.array_equal(np.stack(parts, axis).ravel(), whole.ravel()) for axis in axes)


# A shape that tells what was done, whatever the numbers are.


def _crossed(seen: Difference) -> Iterator[Claim]:
    """Claim that every entry along the axes in front is paired with every other one."""
    count, shape = seen.expected.ndim - 2, seen.expected.shape
    if count < 1 or seen.actual.shape != (*shape[:-1], *shape[:count], shape[-1]):
        return
    names = " and ".join(seen.axis(axis) for axis in range(count))
    them = "them" if count > 1 else "it"
    fact = f"It has {names} twice, as if every entry along {them} met every other one."
    look = "Which product takes the matrices one by one, each with its own partner?"
    yield claim_of(seen, "crossed", fact, look)


def _sizes_exchanged(seen: Difference) -> Iterator[Claim]:
    given, wanted = seen.actual.shape, seen.expected.shape
    differ = [axis for axis, size in enumerate(wanted) if given[axis : axis + 1] != (size,)]
    if len(given) != len(wanted) or len(differ) != 2:
        return
    first, second = differ
    if (given[second], given[first]) != (wanted[first], wanted[second]):
        return
    if any(wanted.count(wanted[axis]) > 1 for axis in differ):
        return  # the sizes do not tell which axes these are
    fact = f"The sizes of {seen.axis(first)} and {seen.axis(second)} have changed places."
    look = "In which order are they read from a shape, and in which are they used?"
    yield claim_of(seen, "sizes exchanged", fact, look)


# Scores and shares: what sums to 1, what is masked, what large scores do.

# Of a larger number, the exponential is infinite in this precision.
_EXPONENT = {"float32": 88.0, "float64": 709.0}
_SHIFT = "What is taken off each row before you exponentiate, if anything?"
# Where the scores are an argument, they are right.
_MADE_OF = "What becomes of each score on its way to a share, one line after the other?"


def _about_shares(seen: Difference) -> Iterator[Claim]:
    """Give what is true of a result whose rows, or the expected ones, are shares that sum to 1."""
    if not seen.shares:
        yield from _too_soon(seen)
        return
    found = list(once(TEMPERATURE, _equal_shares)(seen))
    if found:
        yield from found
    elif seen.rows_sum_to_one:
        for about in (SHIFTED, _masked, KEPT):
            yield from about(seen)
    else:
        yield from once(OTHER_ROWS, _other_sums)(seen)


def _too_soon(seen: Difference) -> Iterator[Claim]:
    """Claim that a result holds shares where none are expected."""
    if np.isin(seen.expected, (0, 1)).all() and np.isin(seen.actual, (0, 1)).all():
        return  # a mask may have a single 1 in each row
    several = seen.actual.ndim > 1 and seen.actual.shape[-1] > 2
    if several and not (seen.actual < 0).any() and seen.rows_sum_to_one:
        yield Claim(
            "shares too soon",
            "Each row of your result sums to 1, as after a softmax. No shares are expected here.",
            "Which step of the layer turns scores into shares?",
        )


def _equal_shares(seen: Difference) -> Iterator[Claim]:
    size = seen.expected.shape[-1]
    if seen.is_like(seen.actual, np.full_like(seen.expected, 1 / size)):
        fact = (
            "Each row sums to 1, as expected, but all its shares are equal: 1 divided by the size "
            f"of {seen.axis(seen.expected.ndim - 1)}."
        )
        yield Claim("equal shares", fact, "Do your weights depend on the scores?")


def _masked(seen: Difference) -> Iterator[Claim]:
    """Give what is true of the keys that a query may not see, in a square of shares."""
    if not seen.square:
        return
    later = np.triu(np.ones(seen.expected.shape[-2:], bool), k=1)
    here, there = (np.where(later, each, 0.0) for each in (seen.actual, seen.expected))
    words = (
        "queries give shares to later keys: they see the future",
        "Which entries of the scores belong to later keys?",
    )
    others = (
        "later keys get no share. Here every query may see them",
        "Where are scores forbidden?",
    )
    for kind, none, some, (fact, look) in (
        ("future", there, here, words),
        ("no future", here, there, others),
    ):
        if (none == 0).all() and (some[..., :-1, :] > 0).any(axis=-1).all():
            yield Claim(kind, f"Each row sums to 1, but {fact}.", look)


def _other_sums(seen: Difference) -> Iterator[Claim]:
    """Give over which axes the shares sum to 1, where it is not over each row.

    An axis of a single entry may be one of them or not: both are told, as other results may tell.
    """
    count, sizes = seen.expected.ndim, seen.expected.shape
    if count > MOST_AXES or (seen.actual < 0).any() or seen.actual.size < 3:
        return
    found: set[int] = set()
    for axes in (each for many in range(count) for each in combinations(range(count), many + 1)):
        longer = {axis for axis in axes if sizes[axis] > 1}
        if longer and (longer == found if found else seen.sums_to_one(axes)):
            found = longer
            names, together = listed(list(map(seen.axis, axes))), " together" * (len(axes) > 1)
            fact = (
                f"The shares sum to 1 along {names}{together}. "
                f"They are expected to sum to 1 along {seen.axis(count - 1)} alone."
            )
            look = "Along which axis do the keys of one query lie?"
            yield Claim(f"sums over {axes}", fact, look)


def _about_row_sums(seen: Difference) -> Iterator[Claim]:
    """Give how shares of the right sum differ from the expected ones, where nothing else does."""
    if not seen.shares:
        return
    if (seen.actual < 0).any() or not seen.rows_sum_to_one:
        sums = np.asarray(seen.actual.sum(axis=-1))
        if sums.size > 2 and not seen.agree(sums, np.ones_like(sums)).any():
            held = range_words(float(sums.min()), float(sums.max()))
            fact = f"The rows sum to {held}, but each is expected to sum to 1."
            look = "Shares are parts of a whole: by what is each number of a row divided, and when?"
            yield Claim("no row sums to 1", fact, look, weak=True)
        return
    ours, theirs = seen.actual.max(axis=-1), seen.expected.max(axis=-1)
    differ = not seen.agree(ours, theirs).any() and ours.size > 3
    kind, but = "rows sum to 1", ", as expected, but the shares in it are not the right ones."
    look = "Are the scores right that go into the softmax?"
    if differ and (ours < theirs).all():
        kind, but = "flat", ", but is too flat: its largest share is too small."
        look = "What makes the scores too small, or the shares too equal?"
    elif differ and (ours > theirs).all():
        kind, but = "sharp", ", but is too sharp: its largest share is too large."
        look = "What makes the scores too large, or drops shares?"
    look = look if given_scores(seen) is None else _MADE_OF
    yield Claim(kind, f"Each row sums to 1{but}", look, weak=True)


def _about_scores(seen: Difference) -> Iterator[Claim]:
    """Give what is true of shares whose scores are the arguments of the question."""
    if not seen.shares or not seen.same_shape:
        return
    scores = given_scores(seen)
    if scores is not None:
        yield from _lost_rows(seen, scores)
    yield from bounded(seen)
    first = next((each for each in arrays_in(seen.inputs) if each.dtype.kind == "f"), None)
    words = _large(first) if first is not None and np.isnan(seen.actual).any() else ""
    if words:
        yield Claim("large scores", f"{words} {_SHIFT}", leads=False)


def _large(scores: np.ndarray) -> str:
    """Say what the exponential of large scores is, or "" where they are not large."""
    largest = float(np.abs(scores[np.isfinite(scores)]).max(initial=0))
    if largest <= _EXPONENT.get(scores.dtype.name, _EXPONENT["float64"]):
        return ""
    forbidden = ", and some are -inf, as a mask may write" if np.isneginf(scores).any() else ""
    return (
        f"Some of these scores are as large as {largest:.4g}, up or down{forbidden}. The "
        "exponential of such a number is infinite, or 0."
    )


def _lost_rows(seen: Difference, scores: np.ndarray) -> Iterator[Claim]:
    """Claim that whole rows hold 0 or NaN in place of shares, where all the others are right."""
    empty = (seen.actual == 0).all(axis=-1)
    lost = empty | np.isnan(seen.actual).any(axis=-1)
    words = _below(scores, lost) or _large(scores)
    if not words or not lost.any() or not seen.right[~lost].all():
        return
    held = "NaN, or 0 everywhere" if empty.any() else "NaN"
    held = "0 everywhere" if empty[lost].all() else held
    count = f"{int(lost.sum())} of the {lost.size} rows hold {held}, and the others are right"
    count = f"All rows hold {held}" if lost.all() else count
    yield Claim("lost rows", f"{count}. {words}", _SHIFT)


def _below(scores: np.ndarray, lost: np.ndarray) -> str:
    """Say how far the largest score of each lost row lies below that of the array, if so."""
    largest = scores.max(axis=-1)
    gaps = np.asarray(largest.max() - largest, np.float64)
    if lost.all() or not lost.any() or not np.isfinite(gaps).all():
        return ""
    least = float(gaps[lost].min())
    if least <= 0 or gaps[~lost].max() >= least:
        return ""
    return (
        f"In the lost rows, even the largest score lies at least {least:.4g} below the largest "
        "one of all."
    )


# NaN and infinity: where they stand in a result of the expected shape.


def _of_negative(seen: Difference) -> Iterator[Claim]:
    """Claim that NaN stands where a number is negative, and nowhere else."""
    nan = np.isnan(seen.actual)
    if nan.all() or nan.sum() < 3:
        return
    given = enumerate(arrays_in(seen.inputs), start=1)
    others = [(f"argument number {number}", each) for number, each in given]
    for words, array in (("what is expected", seen.expected), *others):
        if array.shape == nan.shape and np.array_equal(nan, array < 0):
            fact = (
                f"NaN stands exactly where {words} is negative. The square root of a negative "
                "number is NaN, and so is its logarithm."
            )
            yield Claim("nan of negative", fact, leads=False)
            return


# A masked result: its forbidden scores and its allowed ones, each apart.

_RIGHT = "The forbidden scores are right."


def _of_masked(seen: Difference) -> Iterator[Claim]:
    """Give what is true of a masked result: of the forbidden or the allowed scores alone, first."""
    right, forbidden = seen.right, seen.forbidden
    abouts: list[About] = [_about_floor, _about_triangle, _about_allowed]
    if not right[forbidden].all() and not right[~forbidden].all():
        abouts += [_about_shares, *_NUMBERS]
    elif (seen.actual == seen.actual.flat[0]).all():
        abouts += _NUMBERS
    # Its forbidden scores are the largest numbers by far: what counts places.
    for about in (*abouts, AXES, ORDER, _about_lines):
        yield from about(seen)


def _about_floor(seen: Difference) -> Iterator[Claim]:
    """Give what is true of forbidden scores, where all the others are right."""
    forbidden = seen.forbidden
    wrong = forbidden & ~seen.right
    if forbidden.all() or not wrong.any() or not seen.right[~forbidden].all():
        return
    held = _range(seen.actual[wrong])
    part = _hidden_entries(seen, wrong)
    if part:
        fact = (
            f"The allowed scores are right. The forbidden ones are very negative in {part}; "
            f"elsewhere they hold {held}."
        )
        yield Claim("floor in part", fact, "Which entries does your mask reach?")
        return
    count, more = f"Forbidden ones hold {held}", ""
    if wrong.sum() < forbidden.sum():
        count = f"{int(wrong.sum())} of the {int(forbidden.sum())} forbidden ones hold {held}"
        more = f" The first is {place_words(wrong, seen.axes)}. The other forbidden ones are right."
    fact = (
        f"The allowed scores are right. {count}, but a very negative number such as -1e9 is "
        f"expected there.{more}"
    )
    yield Claim("floor", fact, "What share does such a score get in the softmax?")


def _hidden_entries(seen: Difference, wrong: np.ndarray) -> str:
    """Name the entries along an axis whose forbidden scores are all right, if all others' are not.

    Nothing is named where that is so of no axis.
    """
    for axis in range(wrong.ndim):
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        asked, missed = (each.any(axis=others) for each in (seen.forbidden, wrong))
        right = [str(entry) for entry in np.flatnonzero(asked & ~missed)]
        whole = (wrong == seen.forbidden).all(axis=others)[missed].all()
        if 0 < len(right) <= 3 and missed.any() and whole:
            entries = "entry" if len(right) == 1 else "the entries"
            return f"{entries} {' and '.join(right)} along {seen.axis(axis)} only"
    return ""


def _range(array: np.ndarray) -> str:
    if np.isnan(array).any():
        return "NaN"
    low, high = (float(end) + 0.0 for end in (array.min(), array.max()))  # 0 and not -0
    if low == high:
        return "plus infinity" if low == np.inf else f"{low:.4g}"
    return range_words(low, high)


def _about_allowed(seen: Difference) -> Iterator[Claim]:
    """Give what is true of the allowed scores, where all forbidden ones are right.

    Beside forbidden scores, any other number is small, so these are compared without them.
    """
    allowed = ~seen.forbidden
    wrong = allowed & ~seen.right
    if not seen.right[~allowed].all():
        return
    low = seen.actual == FLOOR
    if wrong.sum() < allowed.sum() and low[wrong].all():
        fact = (
            f"{_RIGHT} But {int(wrong.sum())} of the {int(allowed.sum())} allowed ones are very "
            "negative too. The others are right."
        )
        yield Claim("forbidden too", fact, "What does the mask hold where these scores stand?")
    yield from _allowed_shares(seen, allowed)
    if low[allowed].all():
        return
    label = f"The allowed part{seen.of_label}"
    ours, theirs = seen.actual[allowed], seen.expected[allowed]
    part = replace(seen, actual=ours, expected=theirs, label=label, axes=None)
    for about in (*_NUMBERS, _about_closeness):
        for claim in about(part):
            yield replace(claim, kind=f"allowed {claim.kind}", fact=f"{_RIGHT} {claim.fact}")


def _allowed_shares(seen: Difference, allowed: np.ndarray) -> Iterator[Claim]:
    """Claim that the allowed scores are shares already: the softmax of an argument."""
    for number, scores in enumerate(arrays_in(seen.inputs), start=1):
        if scores.shape != seen.actual.shape or scores.dtype.kind != "f":
            continue
        if seen.is_like(
            seen.actual[allowed], shares_of(scores)[allowed].astype(seen.expected.dtype)
        ):
            fact = (
                f"{_RIGHT} But the allowed ones are no scores any more: they are shares, the "
                f"softmax of argument number {number}."
            )
            look = (
                "Which step of the layer turns scores into shares, and what does this one return?"
            )
            yield Claim("allowed shares", fact, look)
            return


# Every number: one and the same, or fewer digits; a spread of its own, or nearly right.

_MEAN, _SPREAD = 1e-5, 1e-3  # how near to 0 and to 1: a small number may be added before a root
_FEWEST = 3  # numbers that have a spread
CLOSE_LOOK = "Where is a small number added, a large one cut off, or precision lost?"


def _constant(seen: Difference) -> Iterator[Claim]:
    first = seen.actual.flat[0] if seen.actual.size > 1 else np.nan
    if np.isfinite(first) and (seen.actual == first).all():
        # Where scores may be forbidden, all that are as low as this are one.
        low = first == FLOOR and seen.forbidden.any()
        number = "a very negative one" if low else f"{first:.4g}"
        fact = f"{seen.label} holds the same number everywhere, {number}."
        yield Claim("constant", fact, "Which of the arguments does your result depend on?")


def _rounded(seen: Difference) -> Iterator[Claim]:
    off = np.abs(np.asarray(seen.actual - seen.expected, np.float64)).max()
    digits = decimals_of(seen.actual) if seen.actual.size > 2 and np.ptp(seen.actual) else None
    if digits is not None and off * 10**digits <= 0.5 + 1e-3:
        fact = f"{seen.label} is what is expected, rounded to {decimals_words(digits)}."
        look = "Numbers are rounded to be read, and not to be computed with. Which line does it?"
        yield Claim("rounded", fact, look)


def _about_spread(seen: Difference) -> Iterator[Claim]:
    """Claim that the numbers of a result, or of each part of it, have mean 0 and deviation 1."""
    count = seen.expected.ndim
    together = (tuple(range(first, count)) for first in reversed(range(count - 1)))
    for axes in (*((axis,) for axis in reversed(range(count))), *together):
        entries = int(np.prod([seen.expected.shape[axis] for axis in axes]))
        if entries < _FEWEST or not _standard(seen.actual, axes) or _standard(seen.expected, axes):
            continue
        names = " and ".join(seen.axis(axis) for axis in axes)
        where = f"Along {names}{' together' if len(axes) > 1 else ''}{seen.of_label}, the numbers"
        where = f"All numbers{seen.of_label} together" if len(axes) == count else where
        fact = f"{where} have mean 0 and standard deviation 1. That is not expected."
        look = "Should a number here depend on the others? Which line makes it do so?"
        yield Claim(f"standardized {axes}", fact, look)
        return


def _standard(array: np.ndarray, axes: tuple[int, ...]) -> bool:
    wide = np.asarray(array, np.float64)
    if np.abs(wide.mean(axis=axes)).max() > _MEAN:
        return False
    return any(
        bool((np.abs(wide.std(axis=axes, ddof=less) - 1) < _SPREAD).all()) for less in (0, 1)
    )


def _about_closeness(seen: Difference) -> Iterator[Claim]:
    """Give by how much a result is off, where it is nearly right."""
    off, sizes = np.abs(seen.actual - seen.expected), np.abs(seen.expected)
    # A few large numbers would make all the others look right.
    small = min(float(sizes.max(initial=0.0)), 4 * float(np.median(sizes)) if sizes.size else 0.0)
    largest = float(off.max(initial=0.0))
    if 0 < largest < 5e-3 * small:
        unit = 10.0 ** (np.floor(np.log10(largest)) - 1)  # two digits, and not less than it is
        fact = (
            f"{seen.label} is nearly right: no number is off by more than "
            f"{np.ceil(largest / unit) * unit:.2g}. But that is too much."
        )
        yield Claim("close", fact, CLOSE_LOOK, weak=True)


# Some numbers, where all the others are right: what they are, and where they stand.

MOST_PLACES = 6  # that are listed one by one


def _held(numbers: np.ndarray) -> str:
    """Name the one number that all of these are, or return ""."""
    first = float(numbers.flat[0])
    if (numbers != first).any():
        return "NaN" if np.isnan(numbers).all() else ""
    names = {FLOOR: "a very negative number", -np.inf: "negative infinity", np.inf: "infinity"}
    return names.get(first, f"{first + 0.0:.4g}")  # 0 and not -0


def _about_triangle(seen: Difference) -> Iterator[Claim]:
    """Give on which side of the diagonal all wrong entries of a square lie."""
    size = seen.expected.shape[-1] if seen.square else 0
    above = np.triu(np.ones((size, size), bool), k=1)
    sides = {
        "above": (above, "the keys of later tokens"),
        "on": (np.eye(size, dtype=bool), "the key of its own token"),
        "below": (above.T, "the keys of earlier tokens"),
    }
    hit = [where for where, (side, _) in sides.items() if size > 2 and (~seen.right & side).any()]
    if len(hit) == 1:
        where, (side, key) = f"{hit[0]} the diagonal", sides[hit[0]]
        held = _held(seen.actual[np.broadcast_to(side, seen.actual.shape)])
        there = f", where it is {held} everywhere" if held else ""
        look = f"There, a query meets {key}. What does your code do there?"
        yield Claim(where, f"{seen.label} is right except {where}{there}.", look)


def _about_lines(seen: Difference) -> Iterator[Claim]:
    """Give which entries along an axis are right, or one number where all the others are."""
    for axis in range(seen.expected.ndim):
        others = tuple(other for other in range(seen.expected.ndim) if other != axis)
        wrong = np.asarray((~seen.right).any(axis=others))
        if not wrong.any() or wrong.all():
            continue
        along, parameter = f"Along {seen.axis(axis)}{seen.of_label}", seen.label[:-1]
        held = _held(np.compress(wrong, seen.actual, axis))
        if held == "0" and axis == 0 and parameter.endswith(GRADIENT):
            get = _entries(wrong, "row gets", "rows get")
            fact = f"In {parameter.removesuffix(GRADIENT)}`, {get} no gradient."
            look = "Which result is made with these rows? Where is its way to the output cut?"
            yield Claim("no gradient", f"{fact} The others get the right one.", look)
        elif held:
            fact = f"{along}, {_entries(wrong)} {held} everywhere, and the others are right."
            which = "leaves these entries out" if held == "0" else "decides what stands there"
            yield Claim(f"{held} along {axis}", fact, f"Which line {which}?")
        fact = f"{along}, {_entries(~wrong)} right, but the others are not."
        yield Claim(f"entries {axis}", fact, weak=True)
        return


def _entries(marked: np.ndarray, one: str = "entry is", many: str = "entries are") -> str:
    """Name the entries that are marked; when they are too many to list, say how many."""
    places, count = [int(place) for place in np.flatnonzero(marked)], len(marked)
    first, last = places[0], places[-1]
    noun, verb = (one if len(places) == 1 else many).split()
    in_one_piece = len(places) == last - first + 1
    words = f"{len(places)} of the {count} {noun}"
    if len(places) == 1:
        words = f"{noun} {first}"
    elif in_one_piece and len(places) > 2:
        words = f"the {noun} {first} to {last}"
    elif len(places) <= MOST_PLACES:
        words = f"the {noun} {listed(list(map(str, places)))}"
    if (
        many.startswith("rows")
        and in_one_piece
        and count == 3 * len(places)
        and first % len(places) == 0
    ):
        third = ("first", "second", "last")[first // len(places)]
        words = f"{words}, the {third} third of all {many.split()[0]},"
    return f"{words} {verb}"


def _about_zeros(seen: Difference) -> Iterator[Claim]:
    """Give how many numbers are one and the same, where all the others are right."""
    wrong = ~seen.right
    count = int(wrong.sum())
    held = _held(seen.actual[wrong]) if 1 < count < wrong.size else ""
    if held and (held == "0" or count > 2):
        fact = f"{count} of the {wrong.size} numbers{seen.of_label} are {held}"
        look = f"Which line {'leaves numbers out' if held == '0' else 'decides what stands there'}?"
        yield Claim(f"some are {held}", f"{fact}, and all the others are right.", look)


def _alike(seen: Difference) -> Iterator[Claim]:
    if (seen.actual == seen.actual.flat[0]).all():
        return  # it is one number everywhere, along each axis alike
    for axis, size in enumerate(seen.expected.shape):
        same = [
            size > 1 and seen.agree(each, np.broadcast_to(each.take([0], axis), each.shape)).all()
            for each in (seen.actual, seen.expected)
        ]
        if same == [True, False]:
            fact = (
                f"{seen.label} is the same for every entry along {seen.axis(axis)}. It is expected "
                "to differ."
            )
            look = "Where does your code look at the entries one by one?"
            yield Claim("alike", fact, look, weak=True)


_NUMBERS: tuple[About, ...] = (_constant, _rounded, *NUMBERS)
# The most specific first: a factor says more than rows that are right.
_SAME_SHAPE: tuple[About, ...] = (
    AXES,
    _about_shares,
    *_NUMBERS,
    _about_triangle,
    CUT_AT_ZERO,
    _alike,
    _about_closeness,
    _about_lines,
    _about_zeros,
    ORDER,
    ROW_BY_ROW,
    _about_spread,
    _about_row_sums,
)
_OTHER_SHAPE: tuple[About, ...] = (AXES, *SHAPES, _crossed, _sizes_exchanged)

"""Claims about scores and shares: how sharp rows are, what sums to 1, what is masked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from autograder.judging.compare import FLOOR
from autograder.judging.number_claims import Difference, about_closeness, about_numbers
from autograder.judging.value_words import place_words, range_words
from autograder.model.request import Request
from autograder.model.verdict import Claim, Measure
from autograder.protocol.wire import arrays_in

MOST_AXES = 4


def about_shares(seen: Difference) -> Iterator[Claim]:
    """Give what is true of a result whose rows, or the expected ones, are shares that sum to 1."""
    if not np.isfinite(seen.actual).all():
        return
    if not seen.shares:
        yield from _too_soon(seen)
        return
    found = _temperature(seen) or _equal_shares(seen)
    if found:
        yield found
    elif sums_to_one(seen, (seen.expected.ndim - 1,)):
        yield from _shifted(seen)
        yield from _masked(seen)
        yield from _some_kept(seen)
    else:
        found = _sums_of_other_rows(seen)
        yield from [found] if found else _other_sums(seen)


def _too_soon(seen: Difference) -> Iterator[Claim]:
    """Claim that a result holds shares where none are expected."""
    if np.isin(seen.expected, (0, 1)).all() and np.isin(seen.actual, (0, 1)).all():
        return  # a mask may have a single 1 in each row
    several = seen.actual.ndim > 1 and seen.actual.shape[-1] > 2
    if several and not (seen.actual < 0).any() and sums_to_one(seen, (seen.actual.ndim - 1,)):
        yield Claim(
            "shares too soon",
            "Each row of your result sums to 1, as after a softmax. No shares are expected here.",
            "Which step of the layer turns scores into shares?",
        )


def _temperature(seen: Difference) -> Claim | None:
    """Claim that the rows are those of scores times a number, if there is such a number."""
    expected, actual = (np.asarray(each, np.float64) for each in (seen.expected, seen.actual))
    told = (expected > 1e-6) & (actual > 1e-12)
    if told.sum(axis=-1).max() < 2:
        return None
    ours, theirs = (_apart(each, told) for each in (expected, actual))
    spread = float((ours * ours).sum())
    if spread < 1e-6:
        return None
    times = float((ours * theirs).sum()) / spread
    if abs(times) < 1e-3 or (times < 0 and not (expected > 0).all()):
        return None
    powers = np.where(expected > 0, expected, 0.0) ** times
    wanted = powers / powers.sum(axis=-1, keepdims=True)
    if not seen.agree(seen.actual, wanted.astype(seen.expected.dtype)).all():
        return None
    if times < 0:
        return Claim(
            "turned round",
            "Each row sums to 1, but the larger a score is, the smaller is its share. It is the "
            f"softmax of {times:.4g} times the right scores.",
            "Where do the scores change their sign, or the two sides of a difference places?",
        )
    way, largest = ("sharp", "too large") if times > 1 else ("flat", "too small")
    return Claim(
        "temperature",
        f"Each row sums to 1, but is too {way}: its largest share is {largest}. It is the softmax "
        f"of {times:.4g} times the right scores.",
        "What are the scores multiplied or divided by before the softmax? Or is another number "
        "than e raised to them?",
        Measure(times, seen.sizes),
    )


def _apart(shares: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Return the logarithms of the shares that are `told`, less their mean in each row; else 0."""
    logarithms = np.where(told, np.log(np.where(told, shares, 1.0)), 0.0)
    count = np.maximum(told.sum(axis=-1, keepdims=True), 1)
    return np.where(told, logarithms - logarithms.sum(axis=-1, keepdims=True) / count, 0.0)


def _shifted(seen: Difference) -> Iterator[Claim]:
    """Claim that the scores of a row are not all shifted by one number."""
    expected, actual = (np.asarray(each, np.float64) for each in (seen.expected, seen.actual))
    told = (expected > 1e-12) & (actual > 1e-12)
    if not told.all() or min(expected.shape[-1:], default=0) < 2:
        return
    shift = _apart(actual, told) - _apart(expected, told)
    for axis in range(shift.ndim - 1):
        if shift.shape[axis] < 2 or shift.size // shift.shape[axis] < 3 or np.ptp(shift) < 1e-2:
            continue
        wanted = expected * np.exp(shift.mean(axis=axis, keepdims=True))
        wanted /= wanted.sum(axis=-1, keepdims=True)
        if seen.agree(seen.actual, wanted.astype(seen.expected.dtype)).all():
            yield Claim(
                "shifted",
                "Each row sums to 1, but the scores of a row are shifted by different numbers: by "
                f"the same one everywhere along {seen.axis(axis)}.",
                "A row keeps its shares only if it is shifted as a whole. Along which axis is what "
                "you take off computed?",
            )
            return


def _equal_shares(seen: Difference) -> Claim | None:
    count = seen.expected.shape[-1]
    if not seen.agree(seen.actual, np.full_like(seen.expected, 1 / count)).all():
        return None
    return Claim(
        "equal shares",
        "Each row sums to 1, as expected, but all its shares are equal: 1 divided by the size of "
        f"{seen.axis(seen.expected.ndim - 1)}.",
        "Do your weights depend on the scores?",
    )


def _masked(seen: Difference) -> Iterator[Claim]:
    """Give what is true of the keys that a query may not see, in a square of shares."""
    size = seen.expected.shape[-1]
    if not seen.square or size < 2:
        return
    later = np.triu(np.ones((size, size), bool), k=1)
    here, there = (np.where(later, each, 0.0) for each in (seen.actual, seen.expected))
    if (there == 0).all() and (here[..., :-1, :] > 0).any(axis=-1).all():
        yield Claim(
            "future",
            "Each row sums to 1, but queries give shares to later keys: they see the future.",
            "Which entries of the scores belong to later keys?",
        )
    elif (here == 0).all() and (there[..., :-1, :] > 0).any(axis=-1).all():
        yield Claim(
            "no future",
            "Each row sums to 1, but later keys get no share. Here every query may see them.",
            "Where are scores forbidden?",
        )


def _some_kept(seen: Difference) -> Iterator[Claim]:
    """Claim that some shares are 0, and the others have grown by one factor in each row."""
    kept = seen.actual > 0
    left = np.where(kept, seen.expected, 0.0)
    if kept.all() or not seen.agree(seen.actual, left / left.sum(axis=-1, keepdims=True)).all():
        return
    many = int(kept.sum(axis=-1).max())
    least = np.sort(seen.expected, axis=-1)[..., -many, None]
    if (kept == (seen.expected >= least)).all() and many > 1:
        fact = (
            f"Each row sums to 1, but only the {many} largest shares of a row are left: the others "
            "are 0."
        )
    else:
        fact = (
            "Each row sums to 1, but some shares are 0 where one is expected. The others have "
            "grown by one factor in each row."
        )
    yield Claim("kept", fact, "Which line drops shares or scores?")


def _sums_of_other_rows(seen: Difference) -> Claim | None:
    """Claim that the share at (i, j) is divided by the sum of row j in place of row i."""
    size = seen.expected.shape[-1]
    if seen.expected.ndim < 2 or seen.expected.shape[-2] != size or size < 3:
        return None
    if not ((seen.actual > 0) & (seen.expected > 1e-9)).all():
        return None
    times = np.log(seen.actual / seen.expected)
    # The logarithm of row i's sum, less that of row 0's, if each is divided by another one's.
    sums = times[..., :, :1]
    wanted = seen.expected * np.exp(sums - sums.swapaxes(-2, -1))
    if not seen.agree(seen.actual, wanted).all():
        return None
    return Claim(
        "sums of other rows",
        "The shares on the diagonal are right. The others are divided by the sum of another row: "
        "the one at (i, j) by that of row j.",
        "Which axes does broadcasting pair up when you divide by the sums?",
    )


def _other_sums(seen: Difference) -> Iterator[Claim]:
    """Give over which axes the shares sum to 1, where it is not over each row."""
    count = seen.expected.ndim
    if count > MOST_AXES or (seen.actual < 0).any():
        return
    for many in range(1, count + 1):
        for axes in combinations(range(count), many):
            entries = int(np.prod([seen.expected.shape[axis] for axis in axes]))
            if entries > 1 and seen.actual.size >= 3 and sums_to_one(seen, axes):
                yield _summed_over(seen, axes)
                return


def _summed_over(seen: Difference, axes: tuple[int, ...]) -> Claim:
    names = [seen.axis(axis) for axis in axes]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    together = " together" if len(names) > 1 else ""
    last = seen.axis(seen.expected.ndim - 1)
    return Claim(
        f"sums over {axes}",
        f"The shares sum to 1 along {listed}{together}. They are expected to sum to 1 along {last} "
        "alone.",
        "Along which axis do the keys of one query lie?",
    )


def sums_to_one(seen: Difference, axes: tuple[int, ...]) -> bool:
    sums = np.asarray(seen.actual.sum(axis=axes))
    return bool(seen.agree(sums, np.ones_like(sums)).all())


# Claims about what large scores do to shares: rows that are lost, scores that are cut off.

# Of a larger number, the exponential is infinite in this precision.
_EXPONENT = {"float32": 88.0, "float64": 709.0}
_BOUNDS = tuple(2.0**power for power in range(1, 14))  # that scores may be cut off at


def about_scores(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of shares whose scores are the arguments of the question."""
    if request is None or request.method is not None or not seen.shares:
        return
    if seen.actual.shape != seen.expected.shape:
        return
    arrays = [array for array in arrays_in(request.arguments) if array.dtype.kind == "f"]
    scores = given_scores(seen, request)
    if scores is not None:
        yield from _by_itself(seen, scores)
        yield from _lost_rows(seen, scores)
        if np.isfinite(seen.actual).all():
            yield from _bounded(seen, scores)
    if np.isnan(seen.actual).any():
        for words in filter(None, map(_large, arrays[:1])):
            yield Claim("large scores", f"{words} {_SHIFT}", leads=False)


def given_scores(seen: Difference, request: Request | None) -> np.ndarray | None:
    """Return the argument of a function that has the shape of the shares, as their scores have."""
    if request is None or request.method is not None:
        return None
    arrays = (array for array in arrays_in(request.arguments) if array.dtype.kind == "f")
    return next((array for array in arrays if array.shape == seen.expected.shape), None)


def _by_itself(seen: Difference, scores: np.ndarray) -> Iterator[Claim]:
    """Claim that something else than exponentials makes the shares."""
    wide = np.asarray(scores, np.float64)
    if seen.holds(wide / wide.sum(axis=-1, keepdims=True)):
        yield Claim(
            "not exponentiated",
            "Each row sums to 1, but each score is divided by the sum of its row as it is. Such "
            "shares may be negative, or larger than 1.",
            "Which function makes every number positive first?",
        )
    for words, numbers in (
        ("each score less the smallest one", wide - wide.min(axis=-1, keepdims=True)),
        ("the square of each score", wide * wide),
        ("each score without its sign", np.abs(wide)),
        ("each score, or 0 where that is negative", np.maximum(wide, 0.0)),
    ):
        if seen.holds((numbers / numbers.sum(axis=-1, keepdims=True)).astype(seen.expected.dtype)):
            yield Claim(
                "no exponential",
                "Each row sums to 1, but without an exponential. What is divided by the sum of the "
                f"row is {words}.",
                "What makes every number positive, and grows with the score?",
            )
    if seen.holds(0.5 + 0.5 * np.tanh(wide / 2)):
        yield Claim(
            "sigmoid",
            "Each number is that of a sigmoid: it lies between 0 and 1, but follows from its own "
            "score alone. So the rows do not sum to 1.",
            "Shares are parts of a whole. Which numbers of a row does a share depend on?",
        )


_SHIFT = "What is taken off each row before you exponentiate, if anything?"


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
    if not lost.any() or not seen.agree(seen.actual, seen.expected)[~lost].all():
        return
    words = _large(scores)
    below = _below(scores, lost)
    if not words and not below:
        return
    held = "0 everywhere" if empty[lost].all() else "NaN"
    held = held if empty[lost].all() or not empty.any() else "NaN, or 0 everywhere"
    count = "All rows" if lost.all() else f"{int(lost.sum())} of the {lost.size} rows"
    others = "" if lost.all() else ", and the others are right"
    fact = f"{count} hold {held}{others}. {below or words}"
    yield Claim("lost rows", fact, _SHIFT)


def _below(scores: np.ndarray, lost: np.ndarray) -> str:
    """Say how far the largest score of each lost row lies below that of the array, if so."""
    largest = scores.max(axis=-1)
    gaps = np.asarray(largest.max() - largest, np.float64)
    if lost.all() or not np.isfinite(gaps).all():
        return ""
    least = float(gaps[lost].min())
    if least <= 0 or gaps[~lost].max() >= least:
        return ""
    return (
        f"In the lost rows, even the largest score lies at least {least:.4g} below the largest "
        "one of all."
    )


def _bounded(seen: Difference, scores: np.ndarray) -> Iterator[Claim]:
    """Claim that the shares are those of scores that are cut off at a bound."""
    for bound in _BOUNDS:
        for low, high in ((-bound, bound), (-np.inf, bound), (-bound, np.inf)):
            shares = shares_of(np.clip(scores, low, high))
            if seen.agree(seen.actual, shares.astype(seen.expected.dtype)).all():
                yield Claim(
                    "bounded scores",
                    "Each row sums to 1, but scores that lie far from 0 count as equal. The shares "
                    "are those of scores that are cut off at a bound.",
                    "Which operation keeps the scores within bounds?",
                )
                return


def shares_of(scores: np.ndarray) -> np.ndarray:
    """Return the shares of scores, along the last axis."""
    scores = scores.astype(np.float64)
    # Students install this file too, so it is no step that could be handed in.
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, -1, keepdims=True)))


# Claims about a masked result: its forbidden scores and its allowed ones, each apart.

RIGHT = "The forbidden scores are right."


def forbidden_in(seen: Difference) -> np.ndarray:
    """Say per entry whether its score is forbidden, where scores are compared as such."""
    return np.asarray(seen.expected == FLOOR)  # what is lower was raised to it


def about_floor(seen: Difference) -> Iterator[Claim]:
    """Give what is true of forbidden scores, where all the others are right."""
    forbidden = forbidden_in(seen)
    if not forbidden.any() or forbidden.all():
        return
    wrong = forbidden & ~seen.agree(seen.actual, seen.expected)
    if not wrong.any() or not seen.agree(seen.actual, seen.expected)[~forbidden].all():
        return
    held = _range(seen.actual[wrong])
    part = _hidden_entries(seen, forbidden, wrong)
    if part:
        fact = (
            f"The allowed scores are right. The forbidden ones are very negative in {part}; "
            f"elsewhere they hold {held}."
        )
        yield Claim("floor in part", fact, "Which entries does your mask reach?")
        return
    every = wrong.sum() == forbidden.sum()
    count = f"{int(wrong.sum())} of the {int(forbidden.sum())} forbidden ones hold {held}"
    fact = (
        f"The allowed scores are right. {'Forbidden ones hold ' + held if every else count}, but a "
        "very negative number such as -1e9 is expected there."
    )
    if not every:
        place = place_words(wrong, seen.axes)
        fact = f"{fact} The first is {place}. The other forbidden ones are right."
    look = "What share does such a score get in the softmax?"
    yield Claim("floor", fact, look)


def _hidden_entries(seen: Difference, forbidden: np.ndarray, wrong: np.ndarray) -> str:
    """Name the entries along an axis whose forbidden scores are all right, if all others' are not.

    Nothing is named where that is so of no axis.
    """
    for axis in range(forbidden.ndim):
        others = tuple(other for other in range(forbidden.ndim) if other != axis)
        asked = np.flatnonzero(forbidden.any(axis=others))
        right = [int(entry) for entry in asked if not wrong.take(entry, axis=axis).any()]
        missed = [entry for entry in asked if int(entry) not in right]
        whole = all((wrong == forbidden).take(entry, axis=axis).all() for entry in missed)
        if right and missed and whole and len(right) <= 3:
            listed = " and ".join(map(str, right))
            entries = f"entry {listed}" if len(right) == 1 else f"the entries {listed}"
            return f"{entries} along {seen.axis(axis)} only"
    return ""


def _range(array: np.ndarray) -> str:
    if np.isnan(array).any():
        return "NaN"
    low, high = (float(end) + 0.0 for end in (array.min(), array.max()))  # 0 and not -0
    if low == high:
        return "plus infinity" if low == np.inf else f"{low:.4g}"
    return range_words(low, high)


def about_allowed(seen: Difference, request: Request | None) -> Iterator[Claim]:
    """Give what is true of the allowed scores, where all forbidden ones are right.

    Beside forbidden scores, any other number is small, so these are compared without them.
    """
    forbidden = forbidden_in(seen)
    right = seen.agree(seen.actual, seen.expected)
    if not forbidden.any() or forbidden.all() or not right[forbidden].all():
        return
    allowed = ~forbidden
    yield from _forbidden_too(seen, allowed & ~right)
    yield from _shares(seen, allowed, request)
    label = f"The allowed part{seen.of_label}"
    part = replace(
        seen,
        actual=seen.actual[allowed],
        expected=seen.expected[allowed],
        label=label,
        axes=None,
    )
    if (part.actual == FLOOR).all():
        return
    for about in (about_numbers, about_closeness):
        for claim in about(part):
            yield replace(claim, kind=f"allowed {claim.kind}", fact=f"{RIGHT} {claim.fact}")


def _forbidden_too(seen: Difference, wrong: np.ndarray) -> Iterator[Claim]:
    """Claim that some allowed scores are forbidden, where all the others are right."""
    allowed = ~forbidden_in(seen)
    count = int(wrong.sum())
    if count == allowed.sum() or (seen.actual[wrong] != FLOOR).any():
        return
    yield Claim(
        "forbidden too",
        f"{RIGHT} But {count} of the {int(allowed.sum())} allowed ones are very negative too. The "
        "others are right.",
        "What does the mask hold where these scores stand?",
    )


def _shares(seen: Difference, allowed: np.ndarray, request: Request | None) -> Iterator[Claim]:
    """Claim that the allowed scores are shares already: the softmax of an argument."""
    given = () if request is None or request.method else arrays_in(request.arguments)
    for number, scores in enumerate(given, start=1):
        if scores.shape != seen.actual.shape or scores.dtype.kind != "f":
            continue
        if seen.agree(seen.actual, shares_of(scores).astype(seen.expected.dtype))[allowed].all():
            yield Claim(
                "allowed shares",
                f"{RIGHT} But the allowed ones are no scores any more: they are shares, the "
                f"softmax of argument number {number}.",
                "Which step of the layer turns scores into shares, and what does this one return?",
            )
            return

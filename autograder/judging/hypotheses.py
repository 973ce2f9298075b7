"""Ways in which a wrong result may follow from the expected one: tables that are searched in order.

A hypothesis makes the arrays that a result would be if it held, and says so in words where the
result is one of them. `argument_hypotheses.py` holds those that start from what went in, and
`claims.py` what else is true of a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, permutations
from typing import Any

import numpy as np

from autograder.judging.compare import FLOOR, ResultSpec, agree, comparable, is_lower
from autograder.judging.value_words import axis_words, quoted
from autograder.values.request import Request
from autograder.values.verdict import Claim, Measure
from autograder.worker.wire import Value

RESULT = "The result"  # what a student calls a single array


@dataclass(frozen=True, eq=False)
class Difference:
    """The array that came back, the expected one, and what a student calls the first.

    `axes` names those of `expected`, as "B S D", or is None; `precision` says how near numbers
    have to be to count as equal; `sizes` are the sizes that the question is about, by name.
    `request` is the question, and `parts` are all arrays that are expected, by name.
    """

    actual: np.ndarray
    expected: np.ndarray
    label: str
    axes: str | None
    precision: str
    sizes: tuple[tuple[str, int], ...] = ()
    request: Request | None = None
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)

    def agree(self, actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Say per entry whether two arrays of one shape agree."""
        return agree(actual, expected, self.precision)

    def is_like(self, array: np.ndarray, wanted: np.ndarray) -> bool:
        """Say whether an array is `wanted`, within the tolerance."""
        return array.shape == wanted.shape and bool(
            self.agree(array.astype(wanted.dtype, copy=False), wanted).all()
        )

    def holds(self, wanted: np.ndarray) -> bool:
        """Say whether the result is `wanted`, which has to be told from one and the same number."""
        wanted = wanted.astype(self.expected.dtype, copy=False)
        if not self.is_like(self.actual, wanted):
            return False
        return not self.agree(np.full_like(wanted, np.median(wanted)), wanted).all()

    def factor_of(self, array: np.ndarray) -> float | None:
        """Return the number which, times an array, is the result; None if there is none."""
        if array.shape != self.actual.shape or np.count_nonzero(array) < 3:
            return None
        wide = np.asarray(array, np.float64)
        weight = float((wide * wide).sum())
        factor = float((self.actual * wide).sum()) / weight if weight else np.nan
        return factor if np.isfinite(factor) and self.holds(factor * wide) else None

    def axis(self, axis: int) -> str:
        """Name an axis of the expected array: axis 1 (S)."""
        return axis_words(axis, self.axes, self.expected.ndim)

    @property
    def of_label(self) -> str:
        """What to put behind a place: " of `keys`", or "" for the only array."""
        return f" of {self.label}" if self.label != RESULT else ""

    @property
    def inner(self) -> str:
        """The label in the middle of a sentence."""
        return self.label[0].lower() + self.label[1:]

    @property
    def arguments(self) -> tuple[Value, ...]:
        """What a function, or the method of a class, was called with."""
        if self.request is None or self.request.read:
            return ()
        return self.request.call_arguments

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The arguments of a function."""
        return () if self.request is None or self.request.method is not None else self.arguments

    @property
    def same_shape(self) -> bool:
        return self.actual.shape == self.expected.shape

    @cached_property
    def forbidden(self) -> np.ndarray:
        """Which scores are forbidden, where they are compared as such: lower ones were raised."""
        return np.asarray(self.expected == FLOOR)

    @cached_property
    def right(self) -> np.ndarray:
        """Which numbers of a result of the expected shape are right."""
        return self.agree(self.actual, self.expected)

    @property
    def square(self) -> bool:
        """Whether the last two axes are the same one twice, such as S S."""
        letters = (self.axes or "").split()[-2:]
        return self.expected.ndim > 1 and len(letters) == 2 and letters[0] == letters[1]

    @cached_property
    def shares(self) -> bool:
        """Whether the expected rows are shares: not negative, and each sums to 1."""
        rows = self.expected
        if rows.ndim == 0 or rows.shape[-1] < 2 or (rows < 0).any():
            return False
        return bool(self.agree(rows.sum(axis=-1), np.ones(rows.shape[:-1], rows.dtype)).all())

    @cached_property
    def rows_sum_to_one(self) -> bool:
        """Whether each row of a result of the expected shape sums to 1."""
        return self.sums_to_one((self.expected.ndim - 1,))

    def sums_to_one(self, axes: tuple[int, ...]) -> bool:
        sums = np.asarray(self.actual.sum(axis=axes))
        return bool(self.agree(sums, np.ones_like(sums)).all())

    @cached_property
    def rearranged(self) -> bool:
        """Whether the result has the expected numbers, wherever they stand."""
        ours, theirs = (np.sort(each, axis=None) for each in (self.actual, self.expected))
        return replace(self, actual=ours).holds(theirs)

    @cached_property
    def varied(self) -> bool:
        """Whether so many different numbers are expected that their order can be seen."""
        size = self.expected.size
        return size > 5 and np.unique(self.expected).size > min(size // 2, _MOST_DIFFERENT)


def numbers(array: np.ndarray, form: ResultSpec) -> np.ndarray:
    """Return an array in floating point, since booleans cannot be subtracted and integers wrap."""
    array = comparable(array, form.compare)
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def near(array: np.ndarray, form: ResultSpec) -> str:
    """Return the precision in which to compare an array: its own, where that is lower."""
    return array.dtype.name if is_lower(array, form.precision) else form.precision


# An array that a result may be, and what to put into the words for it.
Guess = tuple[np.ndarray, *tuple[Any, ...]]
About = Callable[[Difference], Iterator[Claim]]
_BESIDES = "Besides, it is {:.4g} times what that gives."


@dataclass(frozen=True)
class Hypothesis:
    """A way in which a result may have come about.

    `make` gives arrays that the result would be, and what fills the places {0}, {1} .. of `kind`,
    `phrase` and `question` for each. `scaled` is the phrase where the result is a number times
    such an array; that is not looked for where it is None. The first word of one that is `measured`
    is a number that may follow from a size.
    """

    kind: str
    make: Callable[[Difference], Iterable[Guess]]
    phrase: str
    question: str = ""
    scaled: str | None = "{phrase} {besides}"
    measured: bool = False

    def __call__(self, seen: Difference) -> Iterator[Claim]:
        """Claim what the result is, if it is one of the arrays."""
        for array, *words in self.make(seen):
            if seen.holds(array):
                yield self._claim(seen, words)
                if "{" not in self.kind:
                    return

    def times_a_number(self, seen: Difference) -> Iterator[Claim]:
        """Claim that the result is one of the arrays times a number."""
        for array, *words in self.make(seen) if self.scaled is not None else ():
            factor = seen.factor_of(array)
            if factor is None or abs(factor - 1) <= _NEARLY:
                continue
            if not seen.is_like(array, seen.expected):  # the factor says it all
                yield self._claim(seen, words, factor)
                if "{" not in self.kind:
                    return

    def _claim(self, seen: Difference, words: list[Any], factor: float | None = None) -> Claim:
        names = {"label": seen.label, "inner": seen.inner, "of": seen.of_label}
        kind, fact = self.kind.format(*words), self.phrase.format(*words, **names)
        number = words[0] if self.measured else None
        if factor is not None and self.scaled is not None:
            names |= {"phrase": fact, "besides": _BESIDES.format(factor)}
            kind, number = f"{kind} and a factor", factor
            fact = self.scaled.format(*words, factor=factor, **names)
        measure = None if number is None else Measure(number, seen.sizes)
        return claim_of(seen, kind, fact, self.question.format(*words), measure)


def claim_of(
    seen: Difference, kind: str, fact: str, look: str = "", measure: Measure | None = None
) -> Claim:
    """Return a claim that leads, unless the shape is another one: that is told first, then."""
    if seen.same_shape:
        return Claim(kind, fact, look, measure)
    return Claim(kind, f"{fact} {look}".strip(), leads=False)


def once(*abouts: About) -> About:
    """Return one description in place of several: the first of them that says anything."""

    def about(seen: Difference) -> Iterator[Claim]:
        yield from next(filter(None, (list(each(seen)) for each in abouts)), ())

    return about


# Where the right numbers stand: axes and entries in another order.

MOST_ENTRIES = 64  # along an axis, in whose order is looked for
MOST_AXES = 4
_MOST_DIFFERENT = 16  # numbers that have to be different, in a large array of few digits


def _axes_moved(seen: Difference) -> Iterator[Guess]:
    count = seen.expected.ndim
    if not 1 < count <= MOST_AXES or not seen.rearranged:
        return
    orders = sorted(
        permutations(range(count)), key=lambda order: sum(map(int.__ne__, order, range(count)))
    )
    named = len((seen.axes or "").split()) == count
    for order in orders[1:]:
        wrong = [axis for axis, place in enumerate(order) if axis != place]
        words = "its axes in another order"
        if len(wrong) == 2 and named:
            words = f"two axes swapped: {seen.axis(wrong[0])} and {seen.axis(wrong[1])}"
        elif len(wrong) == 2:
            words = f"axes {wrong[0]} and {wrong[1]} swapped"
        yield seen.expected.transpose(np.argsort(order)), words


def _along_an_axis(seen: Difference) -> Iterator[Guess]:
    for axis, size in enumerate(seen.expected.shape):
        order = _order(seen, axis) if 1 < size <= MOST_ENTRIES else None
        if order is not None:
            along = f"{seen.axis(axis)}{seen.of_label}"
            yield seen.expected.take(order, axis), along, *_order_words(order)


def _order(seen: Difference, axis: int) -> list[int] | None:
    """Return which expected entry stands at each place along an axis; None if one is missing."""
    actual, expected = (np.moveaxis(each, axis, 0) for each in (seen.actual, seen.expected))
    left = list(range(len(expected)))
    order = []
    for entry in actual:
        fits = (place for place in left if seen.agree(entry, expected[place]).all())
        place = next(fits, None)
        if place is None:
            return None
        left.remove(place)
        order.append(place)
    # Entries that are all alike would fit in any order.
    alike = seen.agree(expected[:1], expected).all()
    return None if alike or order == sorted(order) else order


def _order_words(order: list[int]) -> tuple[str, str, str]:
    """Return the kind of an order, words for it, and a question."""
    size, places = len(order), np.arange(len(order))
    if order == places[::-1].tolist():
        return "reversed", "the right entries stand in reverse order", ""
    parts = [part for part in range(2, size // 2 + 1) if size % part == 0]
    for part in parts:
        if order == places.reshape(-1, part)[::-1].ravel().tolist():
            which = f"{size // part} parts are in reverse order"
            which = which if size > 2 * part else "two halves have changed places"
            words = f"the {which}, of {part} entries each. Inside each of them, the order is right"
            return "parts", words, "In which order do the parts come together?"
    shift = order.index(0)
    if order == np.roll(places, shift).tolist():
        count, way = min((shift, "late"), (size - shift, "early"))
        words = f"the right entries stand {count} {'place' if count == 1 else 'places'} too {way}"
        return "rolled", f"{words}, and those that fall off one end come in at the other", ""
    for groups in parts:
        if order == places.reshape(groups, -1).T.ravel().tolist():
            words = f"the right entries are interleaved: those of {groups} groups alternate"
            words = f"{words}, but each group is expected in one piece"
            return "interleaved", words, "Two axes became one here. Which of the two comes first?"
    return "order", "the right entries stand in another order", ""


def _moved_on(seen: Difference) -> Iterator[Guess]:
    for axis, size in enumerate(seen.expected.shape):
        if size < 3:
            continue
        actual, expected = seen.actual, seen.expected
        before, after = expected.take(range(size - 1), axis), expected.take(range(1, size), axis)
        for way, some, whole in (
            ("late", before, (actual.take([0], axis), before)),
            ("early", after, (after, actual.take([-1], axis))),
        ):
            if not seen.agree(np.broadcast_to(some.take([0], axis), some.shape), some).all():
                yield np.concatenate(whole, axis), seen.axis(axis), way


def _reshaped(seen: Difference) -> Iterator[Guess]:
    """Give what a reshape makes in the place of axes that change places."""
    shape = seen.expected.shape
    if len(shape) > MOST_AXES or not seen.varied or not seen.rearranged:
        return
    for cut in (shape, *islice(_cut(shape), 24)):
        for order in permutations(range(len(cut))):
            yield (seen.expected.reshape(cut).transpose(order).reshape(shape),)
            back = seen.expected.reshape([cut[axis] for axis in order])
            yield (back.transpose(np.argsort(order)).reshape(shape),)


def _cut(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Give `shape` with an axis cut into two factors, where that makes four axes at most."""
    if len(shape) >= MOST_AXES:
        return
    for axis, size in enumerate(shape):
        for part in range(2, min(size, MOST_ENTRIES) // 2 + 1):
            if size % part == 0:
                yield (*shape[:axis], part, size // part, *shape[axis + 1 :])


def _scattered(seen: Difference) -> Iterator[Claim]:
    if seen.varied and seen.rearranged:
        fact = f"{seen.label} has all the expected numbers, but in other places."
        yield Claim("scattered", fact)


AXES = once(Hypothesis("axes", _axes_moved, "{label} would be right with {0}."))
_MOVED_ON = Hypothesis(
    "moved on", _moved_on, "Along {0}{of}, each entry stands one place too {1}.", scaled=None
)
_RESHAPED = Hypothesis(
    "reshaped",
    _reshaped,
    "{label} has all the expected numbers, but in other places. It looks as if the axes stood in "
    "another order before a reshape than it needs.",
    "In which order do the axes stand before your reshape, and which ones become one?",
)
_ALONG = Hypothesis("{1}", _along_an_axis, "Along {0}, {2}.", "{3}")
ORDER = once(_ALONG, _MOVED_ON, _RESHAPED, _scattered)


def order_and_factor(seen: Difference) -> Iterator[Claim]:
    """Claim that the result is a number times the expected numbers, in another order."""
    ours, theirs = (float(np.sqrt((each * each).sum())) for each in (seen.actual, seen.expected))
    if not (seen.varied and 0 < theirs < np.inf and 0 < ours < np.inf):
        return
    for factor in (ours / theirs, -ours / theirs):
        if abs(factor - 1) > _NEARLY:
            alone = replace(seen, actual=(seen.actual / factor).astype(seen.actual.dtype))
            abouts = (AXES, _ALONG, _RESHAPED) if seen.same_shape else (AXES,)
            moved = alone.rearranged and not alone.is_like(alone.actual, alone.expected)
            for claim in once(*abouts)(alone) if moved else ():
                kind, fact = f"{claim.kind} and a factor", f"{claim.fact} {_BESIDES.format(factor)}"
                yield replace(claim, kind=kind, fact=fact, measure=Measure(factor, seen.sizes))
                return


# What became of every number.

_NEARLY = 2e-3  # how far from 1 a factor is that is told as one near it


def _factor(seen: Difference) -> Iterator[Guess]:
    factor = seen.factor_of(seen.expected)
    if factor is not None and abs(factor - 1) < _NEARLY:
        question = "that you multiply or divide by has too few digits, or a small one added to it"
        # Told with more digits. With factors at other sizes, it is one kind of mistake.
        yield seen.expected * factor, factor, f"{factor:.7g}", " That is nearly 1.", question
    elif factor is not None:
        yield (
            seen.expected * factor,
            factor,
            f"{factor:.4g}",
            "",
            "do you multiply or divide by too much, or not at all",
        )


def _offset(seen: Difference) -> Iterator[Guess]:
    middle = float(np.median(seen.actual - seen.expected)) if seen.actual.size > 2 else 0.0
    yield seen.expected + middle, middle


_POSITIVE = "Which operation makes a negative number positive?"
_WHOLE = "Which operation keeps whole numbers only? `//` is one."
_FUNCTIONS: tuple[tuple[str, str, str, Callable[[np.ndarray], np.ndarray]], ...] = (
    ("absolute", "the expected one, but each negative one has lost its sign", _POSITIVE, np.abs),
    ("power", "the square of the expected one", "", np.square),
    ("power", "the cube of the expected one", "", lambda each: each**3),
    ("power", "the square root of the expected one", "", np.sqrt),
    ("power", "1 divided by the expected one", "", np.reciprocal),
    ("whole", "the expected one, rounded down to a whole number", _WHOLE, np.floor),
    ("logarithm", "the logarithm of the expected one", "", np.log),
    ("exponential", "the exponential of the expected one", "", np.exp),
)


def _functions(seen: Difference) -> Iterator[Guess]:
    if np.unique(seen.expected).size > 3:  # on 0 and 1, most powers are the same
        for kind, words, question, function in _FUNCTIONS:
            yield function(seen.expected), kind, words, question


def _dropped(seen: Difference) -> Iterator[Guess]:
    actual, expected = seen.actual, seen.expected
    zero, kept = actual == 0, (actual != 0) & (expected != 0)
    if kept.sum() < 3 or not (zero & (expected != 0)).any() or ((~zero) & (expected == 0)).any():
        return
    times = float(np.median(actual[kept] / expected[kept]))
    if times >= 1 + _NEARLY:
        how, kind, question = "", "zeros and factor", "Which line leaves numbers out?"
        if not _in_a_pattern(zero):
            how = f", the way a dropout of {1 - 1 / times:.2g} leaves them"
            kind, question = "dropout", "Which line draws at random which numbers stay?"
        yield np.where(zero, 0, expected * times), kind, int(zero.sum()), times, how, question


def _in_a_pattern(zero: np.ndarray) -> bool:
    """Say whether zeros fill whole entries along an axis, or one side of a square's diagonal."""
    for axis in range(zero.ndim):
        others = tuple(other for other in range(zero.ndim) if other != axis)
        if zero.ndim > 1 and (zero == zero.all(axis=others, keepdims=True)).all():
            return True
    if zero.ndim < 2 or zero.shape[-1] != zero.shape[-2]:
        return False
    above = np.triu(np.ones(zero.shape[-2:], bool), k=1)
    return any((zero == side).all() for side in (above, above.T, above | above.T))


def _exchanged(seen: Difference) -> Iterator[Guess]:
    """Give one number wherever a certain other one is expected."""
    wrong = ~seen.right
    if wrong.sum() < 3 or wrong.all() or np.ptp(seen.expected[wrong]) or np.ptp(seen.actual[wrong]):
        return
    wanted, given = float(seen.expected[wrong][0]), float(seen.actual[wrong][0])
    yield np.where(seen.expected == wanted, given, seen.expected), wanted, given


def _clipped(seen: Difference) -> Iterator[Guess]:
    low, high = float(seen.actual.min()), float(seen.actual.max())
    wrong = ~seen.right  # a last digit is no bound
    sides = [wrong & (seen.expected < low), wrong & (seen.expected > high)]
    cut = [int(side.sum()) for side in sides]
    # The least or the largest number of any array bounds it: one that is cut proves nothing. And
    # one number that stands in the place of another is no bound.
    if not 3 <= sum(cut) <= seen.expected.size - 3 or {1, 2} & set(cut):
        return
    if all(np.ptp(seen.expected[side]) for side in sides if side.any()):
        words = (f"below {low:.4g}", f"above {high:.4g}")
        bounds = [f"no number is {each}" for each, count in zip(words, cut) if count]
        yield np.clip(seen.expected, low, high), " and ".join(bounds)


def _cut_at_zero(seen: Difference) -> Iterator[Guess]:
    below = int((seen.expected < 0).sum())
    if below > 1:
        yield np.maximum(seen.expected, 0), below, seen.expected.size


NUMBERS: tuple[Hypothesis, ...] = (
    Hypothesis(
        "another number",
        _exchanged,
        "Where {0:.4g} is expected, {inner} holds {1:.4g}. Its other numbers are right.",
        "Which line decides what stands in these places?",
        scaled=None,
    ),
    Hypothesis(
        "sign",
        lambda seen: [(-seen.expected,)],
        "{label} is -1 times what is expected: the size of each number is right, but its sign is "
        "the opposite.",
        "Where does a sign change, or where do two terms of a difference change places?",
        scaled=None,
    ),
    Hypothesis(
        "factor",
        _factor,
        "{label} is {1} times what is expected, everywhere.{2}",
        "Which number {3}?",
        scaled=None,
        measured=True,
    ),
    Hypothesis(
        "complement",
        lambda seen: [(1 - seen.expected,)] if np.isin(seen.expected, (0, 1)).all() else (),
        "{label} has 0 wherever 1 is expected, and 1 wherever 0 is expected.",
        "What does a 1 stand for?",
        scaled=None,
    ),
    Hypothesis(
        "offset",
        _offset,
        "{label} is what is expected plus {0:.4g}, everywhere.",
        "Where is a constant added?",
        scaled=None,
    ),
    Hypothesis("{0}", _functions, "Each number of {inner} is {1}.", "{2}"),
    Hypothesis(
        "{0}",
        _dropped,
        "{label} has {1} zeros, and its other numbers are {2:.4g} times what is expected{3}.",
        "{4}",
        scaled=None,
    ),
    Hypothesis(
        "clipped",
        _clipped,
        "{label} is right apart from numbers that are cut off: {0}.",
        "Which operation puts a bound on the numbers?",
        scaled=None,
    ),
)
CUT_AT_ZERO = Hypothesis(
    "cut at zero",
    _cut_at_zero,
    "{0} of the {1} numbers{of} are 0 where negative ones are expected, and all the others are "
    "right.",
    "Which line cuts off what is below 0?",
)


# What became of shares, whose rows sum to 1.


def shares_of(scores: np.ndarray) -> np.ndarray:
    """Return the shares of scores, along the last axis."""
    scores = scores.astype(np.float64)
    # Students install this file too, so it is no step that could be handed in.
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, -1, keepdims=True)))


def _wide(seen: Difference) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(seen.expected, np.float64), np.asarray(seen.actual, np.float64)


def _temperature(seen: Difference) -> Iterator[Guess]:
    """Give the rows of the right scores times a number."""
    expected, actual = _wide(seen)
    told = (expected > 1e-6) & (actual > 1e-12)
    ours, theirs = (_apart(each, told) for each in (expected, actual))
    spread = float((ours * ours).sum())
    times = float((ours * theirs).sum()) / spread if spread >= 1e-6 else 0.0
    if abs(times) < 1e-3 or (times < 0 and not (expected > 0).all()):
        return
    powers = np.where(expected > 0, expected, 0.0) ** times
    way = ("sharp", "too large") if times > 1 else ("flat", "too small")
    words = ["temperature", f"is too {way[0]}: its largest share is {way[1]}"]
    question = (
        "What are the scores multiplied or divided by before the softmax? Or is another number "
        "than e raised to them?"
    )
    if times < 0:
        words = ["turned round", "the larger a score is, the smaller is its share"]
        question = "Where do the scores change their sign, or the sides of a difference places?"
    yield powers / powers.sum(axis=-1, keepdims=True), times, *words, question


def _apart(shares: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Return the logarithms of the shares that are `told`, less their mean in each row; else 0."""
    logarithms = np.where(told, np.log(np.where(told, shares, 1.0)), 0.0)
    count = np.maximum(told.sum(axis=-1, keepdims=True), 1)
    return np.where(told, logarithms - logarithms.sum(axis=-1, keepdims=True) / count, 0.0)


def _shifted(seen: Difference) -> Iterator[Guess]:
    """Give the shares of rows whose scores are not all shifted by one number."""
    expected, actual = _wide(seen)
    told = (expected > 1e-12) & (actual > 1e-12)
    if not told.all():
        return
    shift = _apart(actual, told) - _apart(expected, told)
    for axis in range(shift.ndim - 1):
        if shift.shape[axis] < 2 or shift.size // shift.shape[axis] < 3 or np.ptp(shift) < 1e-2:
            continue
        wanted = expected * np.exp(shift.mean(axis=axis, keepdims=True))
        yield wanted / wanted.sum(axis=-1, keepdims=True), seen.axis(axis)


def _some_kept(seen: Difference) -> Iterator[Guess]:
    """Give shares of which some are 0, and the others have grown by one factor in each row."""
    kept = seen.actual > 0
    if kept.all():
        return
    left, many = np.where(kept, seen.expected, 0.0), int(kept.sum(axis=-1).max())
    least = np.sort(seen.expected, axis=-1)[..., -many, None]
    words = (
        "some shares are 0 where one is expected. The others have grown by one factor in each row"
    )
    if (kept == (seen.expected >= least)).all() and many > 1:
        words = f"only the {many} largest shares of a row are left: the others are 0"
    yield left / left.sum(axis=-1, keepdims=True), words


def _sums_of_other_rows(seen: Difference) -> Iterator[Guess]:
    """Give shares of which that at (i, j) is divided by the sum of row j in place of row i."""
    size = seen.expected.shape[-1]
    if seen.expected.ndim < 2 or seen.expected.shape[-2] != size or size < 3:
        return
    if ((seen.actual > 0) & (seen.expected > 1e-9)).all():
        # The logarithm of row i's sum, less that of row 0's, if each is divided by another one's.
        sums = np.log(seen.actual / seen.expected)[..., :, :1]
        yield (seen.expected * np.exp(sums - sums.swapaxes(-2, -1)),)


TEMPERATURE = Hypothesis(
    "{1}",
    _temperature,
    "Each row sums to 1, but {2}. It is the softmax of {0:.4g} times the right scores.",
    "{3}",
    measured=True,
)
SHIFTED = Hypothesis(
    "shifted",
    _shifted,
    "Each row sums to 1, but the scores of a row are shifted by different numbers: by the same one "
    "everywhere along {0}.",
    "A row keeps its shares only if it is shifted as a whole. Along which axis is what you take "
    "off computed?",
)
KEPT = Hypothesis(
    "kept", _some_kept, "Each row sums to 1, but {0}.", "Which line drops shares or scores?"
)
OTHER_ROWS = Hypothesis(
    "sums of other rows",
    _sums_of_other_rows,
    "The shares on the diagonal are right. The others are divided by the sum of another row: the "
    "one at (i, j) by that of row j.",
    "Which axes does broadcasting pair up when you divide by the sums?",
)


# What became of whole rows along an axis.


def _row_by_row(seen: Difference) -> Iterator[Guess]:
    """Give each row along an axis times a number of its own, or plus one."""
    expected, actual = _wide(seen)
    for axis in reversed([axis for axis, size in enumerate(expected.shape) if size > 1]):
        weight = (expected * expected).sum(axis=axis, keepdims=True)
        factors = (actual * expected).sum(axis=axis, keepdims=True) / weight
        if (np.abs(factors) >= 1e-3).all() and np.ptp(factors) >= 1e-3:
            does, question = "multiplied by", "Which sum or size do you divide by?"
            yield expected * factors, "row factor", *_row_words(seen, axis, factors, does), question
        off = np.median(actual - expected, axis=axis, keepdims=True)
        if np.ptp(off) >= 1e-3:
            where, words = _row_words(seen, axis, off, "off by")
            question = "What is added to these numbers, or taken away?"
            yield expected + off, "row offset", where, words, question


def _row_words(seen: Difference, axis: int, numbers: np.ndarray, does: str) -> tuple[str, str]:
    """Say along which axis which entries have a number of their own."""
    sizes = enumerate(numbers.shape)
    differ = [axis for axis, size in sizes if size > 1 and np.ptp(numbers, axis=axis).max() > 1e-3]
    rows = axis == seen.expected.ndim - 1
    own = f"is {does} a number of its own, from {numbers.min():.4g} to {numbers.max():.4g}"
    if seen.shares and rows and does != "off by":
        return seen.axis(axis), f"each row {own}. So the sums of the rows differ from 1"
    if len(differ) == 1:
        return seen.axis(differ[0]), f"each entry {own}, whatever its place on the other axes"
    return seen.axis(axis), f"each {'row' if rows else 'line'} as a whole {own}"


ROW_BY_ROW = Hypothesis("{0}", _row_by_row, "Along {1}{of}, {2}.", "{3}")


# What became of an array that has another shape than the expected one.

_REDUCED: dict[str, Callable[..., np.ndarray]] = {
    "the sum": np.sum,
    "the mean": np.mean,
    "the largest": np.max,
}


def _squeezed(seen: Difference, array: np.ndarray, *words: str) -> Iterator[Guess]:
    """Give an array in the shape of the result, if only axes of size 1 are between the two."""
    if np.squeeze(array).shape == np.squeeze(seen.actual).shape:
        yield array.reshape(seen.actual.shape), *words


def _reduced(seen: Difference) -> Iterator[Guess]:
    for axis, size in enumerate(seen.expected.shape):
        for words, reduced in _REDUCED.items() if size > 1 else ():
            yield from _squeezed(seen, reduced(seen.expected, axis=axis), words, seen.axis(axis))


def _one_entry(seen: Difference) -> Iterator[Guess]:
    for axis, size in enumerate(seen.expected.shape):
        for entry in range(min(size, MOST_ENTRIES) if size > 1 else 0):
            part = seen.expected.take(entry, axis=axis)
            yield from _squeezed(seen, part, str(entry), seen.axis(axis))


def _some_entries(seen: Difference) -> Iterator[Guess]:
    for axis, size in enumerate(seen.expected.shape):
        given = seen.actual.shape[axis] if seen.actual.ndim == seen.expected.ndim else size
        for start in (0, size - given) if 1 < given < size else ():
            part = seen.expected.take(range(start, start + given), axis=axis)
            yield part, start, start + given - 1, seen.axis(axis)


def _joined(seen: Difference) -> Iterator[Guess]:
    """Give all results in one array, one after the other or side by side, or a part of that."""
    parts, dims = list(seen.parts.values()), seen.expected.ndim
    if len(parts) < 2 or any(part.shape != seen.expected.shape for part in parts):
        return
    names, look = quoted(seen.parts), "Where does it come apart into these?"
    for axis in range(dims + 1):
        yield np.stack(parts, axis), f"{names} along axis {axis}", look
    for axis in reversed(range(dims if seen.actual.ndim == dims else 0)):
        whole = np.concatenate(parts, axis)
        words = f"{names}, side by side along {seen.axis(axis)}"
        yield whole, words, look
        differ = [n for n, size in enumerate(whole.shape) if seen.actual.shape[n] != size]
        if len(differ) == 1 and axis not in differ:
            count = min(seen.actual.shape[differ[0]], whole.shape[differ[0]])
            entries = "entry 0" if count == 1 else f"the entries 0 to {count - 1}"
            words = f"{words}. But it has only {entries} along {seen.axis(differ[0])}"
            cut = whole.take(range(count), axis=differ[0])
            yield cut, words, "Along which axis should they come apart?"


JOINED = Hypothesis("joined", _joined, "{label} holds what is expected for {0}.", "{1}")
SHAPES: tuple[Hypothesis, ...] = (
    JOINED,
    Hypothesis(
        "shape only",
        lambda seen: (
            [(seen.expected.reshape(seen.actual.shape),)]
            if seen.actual.size == seen.expected.size
            else ()
        ),
        "All numbers{of} are right and in the right order: only the shape differs.",
        "Which axes should be one, or apart?",
        scaled="All numbers{of} stand in the right order, but the shape differs. {besides}",
    ),
    Hypothesis(
        "reduced by {0}",
        _reduced,
        "{label} is {0} of what is expected along {1}: that axis is lost.",
        "Over which axis does your code sum, average or choose?",
    ),
    Hypothesis(
        "one entry",
        _one_entry,
        "{label} holds what is expected for entry {0} along {1}, but the other entries are "
        "missing.",
        "Where do the other entries get lost?",
    ),
    Hypothesis(
        "some entries",
        _some_entries,
        "{label} holds what is expected for the entries {0} to {1} along {2}, but the others are "
        "missing.",
        "Is a fixed number written where a size belongs, or does a loop or a slice leave entries "
        "out?",
    ),
)

"""Is every array a normal draw of its own? Judged by its statistics, never by its values.

The bounds follow from the number of values: they are six standard errors wide, and twelve above
for the tails, whose estimate is skewed. A right draw is refused less often than once in 10⁶ times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from autograder.judging.compare import (
    LOWER,
    ResultSpec,
    arrays_of,
    compare_form,
    decimals_of,
    few_decimals_words,
)
from autograder.judging.diagnosis import Candidate, diagnose, named_by
from autograder.values.request import Failed, Reply, Request, Returned
from autograder.values.verdict import Evidence, Finding, Outcome
from autograder.worker.wire import SEEDS, Value

# What leads on from a draw whose spread, mean or shape is wrong: a fact about its numbers.

_FEWEST = 32  # numbers of which a pattern is told
_MOST_FEW = 16  # different numbers, which no normal draw repeats
_BOUNDED = 3  # numbers at each end, of which a draw has one


def draw_words(array: np.ndarray, mean: float, told: str = "") -> str:
    """Return a fact about the numbers of a wrong draw with a question, or "".

    `mean` is the one that is asked for; `told` is what is said already to be wrong.
    """
    if array.size < _FEWEST or not np.isfinite(array).all():
        return ""
    return (
        _constant(array)
        or _repeated(array)
        or _few(array)
        or _zeros(array)
        or _one_sided(array, mean)
        or _bounded(array)
        or _even(array)
        or _off_centre(array, mean, told)
        or _of_tails(array)
    )


def _constant(array: np.ndarray) -> str:
    if np.ptp(array):
        return ""
    return (
        f"All its numbers are {float(array.flat[0]):.3g}. Which number of your call is the mean, "
        "and which one the standard deviation?"
    )


def _repeated(array: np.ndarray) -> str:
    for axis in range(array.ndim):
        if array.shape[axis] > 2 and not np.ptp(array, axis=axis).any():
            return (
                f"Along its axis {axis}, all numbers are equal. How many numbers does your call "
                "draw?"
            )
    return ""


def _few(array: np.ndarray) -> str:
    count = np.unique(array).size
    if count > min(_MOST_FEW, array.size // 4):
        return ""
    return f"It holds only {count} different numbers. Which distribution does your call draw from?"


def _zeros(array: np.ndarray) -> str:
    zero = array == 0
    if array.ndim == 2:
        above = np.triu(np.ones(array.shape, bool), k=1)
        below = np.tril(np.ones(array.shape, bool), k=-1)
        apart = {"above": above, "below": below, "above and below": above | below}
        for words, side in apart.items():
            if side.any() and np.array_equal(zero, side):
                return (
                    f"All its numbers {words} the diagonal are 0, and no others. Which line puts "
                    "them there?"
                )
    if zero.sum() < max(_BOUNDED, array.size // 16):
        return ""
    return f"{int(zero.sum())} of its {array.size} numbers are 0. Which line puts them there?"


def _one_sided(array: np.ndarray, mean: float) -> str:
    above = bool(array.min() >= mean)
    end = array.min() if above else array.max()
    # Numbers that are all far from the mean are drawn around another one.
    if not (above or end <= mean) or abs(end - mean) > array.std() / 4:
        return ""
    side = ("less than" if above else "greater than") + f" {mean:g}"
    if mean == 0:
        side = "negative" if above else "positive"
    return f"None of its numbers is {side}. What keeps them on one side of the mean?"


def _bounded(array: np.ndarray) -> str:
    low, high = float(array.min()), float(array.max())
    at_low, at_high = int((array == low).sum()), int((array == high).sum())
    ends = [(at_low, low), (at_high, high)]
    held = [f"{count} are exactly {end:.3g}" for count, end in ends if count >= _BOUNDED]
    if not held or np.unique(array).size < array.size // 4:
        return ""
    return (
        f"Of its numbers, {' and '.join(held)}, and none lies beyond. Which operation puts a "
        "bound on them?"
    )


def _even(array: np.ndarray) -> str:
    """Say that each tenth of the range holds as many numbers, where it does."""
    low, high = float(array.min()), float(array.max())
    counts = np.histogram(array, bins=10, range=(low, high))[0]
    if array.size < 200 or np.abs(counts - array.size / 10).max() > 5 * np.sqrt(array.size / 10):
        return ""
    return (
        f"They lie between {low:.3g} and {high:.3g}, as many near the ends as in the middle. Which "
        "distribution does your call draw from?"
    )


def _off_centre(array: np.ndarray, mean: float, told: str) -> str:
    centre = float(array.mean())
    if abs(centre - mean) < 6 * float(array.std()) / np.sqrt(array.size):
        return ""
    fact = "" if told == "mean" else f"Their mean is {centre:.3g}, and not {mean:g}. "
    return f"{fact}Around which number does your call draw?"


def _of_tails(array: np.ndarray) -> str:
    """Compare how many numbers lie far from the mean with a normal draw of the same spread."""
    off = _tails(array) - 3
    if abs(off) < 6 * np.sqrt(24 / array.size):
        return "Which number of your code sets how far from the mean they spread?"
    more = "More" if off > 0 else "Fewer"
    return (
        f"{more} of them lie far from the mean than in a normal draw of this spread. Which "
        "operation makes them so?"
    )


# Which numbers stand in two arrays that are drawn apart: copies of a part are no new draw.

# Of separate float32 draws, fewer than one number in a thousand agrees by chance.
_SHARE, _FEWEST_SHARED = 0.05, 8


def repetitions(ordered: np.ndarray) -> int:
    """Return how many numbers of an array that is in order equal one before them."""
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def sharing(arrays: Mapping[str, np.ndarray]) -> tuple[str, str] | None:
    """Return the names of the first two arrays of which one holds many numbers of the other."""
    if (
        repetitions(np.sort(np.concatenate([each.ravel() for each in arrays.values()])))
        < _FEWEST_SHARED
    ):
        return None  # as nearly always, and soon seen
    names = list(arrays)
    for place, second in enumerate(names):
        for first in names[:place]:
            shared = int(np.isin(arrays[second], arrays[first]).sum())
            smaller = min(arrays[first].size, arrays[second].size)
            if shared >= max(_FEWEST_SHARED, _SHARE * smaller):
                return first, second
    return None


def with_seed(finding: Finding, request: Request, ask: Callable[[Request], Reply]) -> Finding:
    """Return the finding on draws that are not separate, with the seed that the code sets.

    That is seen when the same is asked twice in a row. No known mistake is named then, since none
    sets one.
    """
    bare = finding.evidence.bare if finding.evidence else finding
    if not bare.cause or finding.outcome is not Outcome.WRONG_VALUES:
        return finding
    _, again = ask(request), ask(request)
    seen = again.observations if isinstance(again, Returned) else ()
    seed = next((name for name in SEEDS if name in seen), "")
    if not seed:
        return finding
    look = (
        f"Your code also sets a seed (`{seed}`): whatever is drawn after that is the same every "
        "time. Is it set again before each draw?"
    )
    told = replace(bare, look=look)
    return replace(told, evidence=Evidence(told, ()))


ERRORS, UPPER_TAIL_ERRORS = 6, 12
_OF_SEVERAL = ("independence", "order", "shared")  # kinds of faults of draws that are not apart
_FEWEST_ROWS = 16  # of which products are looked at


@dataclass(frozen=True)
class Distributed:
    """Every array is a normal draw of its own with this mean and standard deviation.

    `expected` gives the shapes only; its numbers are another draw.
    """

    expected: Value
    form: ResultSpec
    mean: float
    deviation: float


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a set of draws: what kind of fault, in which arrays, and how far off.

    `sample` is of the numbers whose spread is wrong, which other draws may have for other reasons:
    how many there are, their mean, spread and tails. `look` says what else is true of them.
    """

    kind: str
    arrays: str
    measure: float
    sentence: str = ""
    sample: tuple[float, ...] = ()
    look: str = ""


def judge_distribution(
    expectation: Distributed, reply: Reply, candidates: Iterable[Candidate]
) -> Finding | None:
    """Return what is not as expected about a draw, or None."""
    if isinstance(reply, Failed):
        return diagnose(reply, expectation.expected, expectation.form, candidates)
    finding = compare_form(reply.value, expectation.expected, expectation.form)
    if finding:
        return finding
    fault = _fault(expectation, reply.value)
    if fault is None:
        return None
    finding = Finding(
        Outcome.WRONG_VALUES,
        fault.sentence,
        right="The arrays and their shapes are right.",
        look=fault.look,
        cause=fault.kind in _OF_SEVERAL,
    )
    known = list(candidates)

    # The worked examples of earlier versions hold no mistakes in a draw.
    return named_by(
        finding,
        known,
        lambda other: _alike(fault, _known_fault(expectation, other.value)),
        binding=bool(known),
    )


def fault_in_draw(expectation: Distributed, reply: Reply) -> Reply | None:
    """Return in place of a wrong draw, which is long, what is wrong with it; None if misshapen."""
    if isinstance(reply, Failed):
        return reply
    fault = _known_fault(expectation, reply.value)
    numbers = np.array([fault.measure, *fault.sample]) if fault else None
    return Returned((fault.kind, fault.arrays, numbers)) if fault else None


def _known_fault(expectation: Distributed, value: Value) -> _Fault | None:
    """Return what is wrong with the draw of a known mistake, or what was written down of it."""
    if isinstance(value, tuple) and isinstance(value[0], str):
        kind, arrays, (measure, *sample) = value
        return _Fault(kind, arrays, float(measure), sample=tuple(map(float, sample)))
    misshapen = compare_form(value, expectation.expected, expectation.form)
    return None if misshapen else _fault(expectation, value)


def _alike(actual: _Fault, known: _Fault | None) -> bool:
    if known is None or (actual.kind, actual.arrays) != (known.kind, known.arrays):
        return False
    if actual.sample and known.sample:
        return _one_distribution(actual.sample, known.sample)
    return bool(np.isclose(actual.measure, known.measure, rtol=0.2, atol=1e-3))


def _sample(array: np.ndarray) -> tuple[float, ...]:
    spread = float(array.std())
    return array.size, float(array.mean()), spread, _tails(array) if spread else 0.0


def _one_distribution(sample: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Say whether two samples may be of one distribution: by their mean, spread and tails."""
    (size, *own), (_, *theirs) = sample, other
    (mean, spread, tails), (known_mean, known_spread, known_tails) = own, theirs
    if not (spread and known_spread):
        return np.allclose(own, theirs, rtol=1e-6, atol=0)
    bound = ERRORS * np.sqrt(2 / size)  # of a difference of two estimates
    closest = [
        abs(np.log(spread / known_spread)) < bound / np.sqrt(2),
        abs(mean - known_mean) < bound * max(spread, known_spread),
        abs(tails - known_tails) < bound * np.sqrt(24),
    ]
    return all(closest)


def _tails(array: np.ndarray) -> float:
    """Return the kurtosis: 3 of a normal draw, 1.8 of a uniform one."""
    return float((((array - array.mean()) / array.std()) ** 4).mean())


def _fault(expectation: Distributed, value: Value) -> _Fault | None:
    form, mean, deviation = expectation.form, expectation.mean, expectation.deviation
    arrays = dict(zip(form.names, arrays_of(value, form)))
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            return _Fault("finite", name, 0.0, f"`{name}` holds numbers that are not finite.")
        if array.dtype.name in LOWER:
            kind = LOWER[array.dtype.name]
            sentence = f"`{name}` holds {kind} numbers, but at least float32 is expected."
            return _Fault("precision", name, 0.0, sentence)
        if array.any() and _is_normalized(array, mean, deviation):
            sentence = (
                f"The mean or the standard deviation of `{name}` is exactly what is asked of the "
                "distribution. That of a draw is only near it."
            )
            return _Fault("normalized", name, 0.0, sentence)
        spread = float(array.std())
        if not abs(spread / deviation - 1) < ERRORS / np.sqrt(2 * array.size):
            sentence = (
                f"The standard deviation of `{name}` is {spread:.3g}, but {deviation} is expected."
            )
            look = draw_words(array, mean)
            return _Fault("spread", name, spread / deviation, sentence, _sample(array), look)
        if abs(array.mean() - mean) > ERRORS * deviation / np.sqrt(array.size):
            sentence = f"The mean of `{name}` is {array.mean():.3g}, but {mean} is expected."
            off = float(array.mean()) / deviation
            return _Fault("mean", name, off, sentence, look=draw_words(array, mean, "mean"))
    if len(arrays) > 1 and (together := _spread_together(arrays, deviation)):
        return together
    tied = _tied(arrays)
    if tied is not None:
        return tied
    # Whatever looks for equal numbers needs them in order, and sorting takes longest.
    magnitudes = {name: np.sort(np.abs(array), axis=None) for name, array in arrays.items()}
    for first, second in combinations(arrays, 2):
        if np.array_equal(magnitudes[first], magnitudes[second]):
            sentence = f"`{first}` and `{second}` hold the same numbers in another order."
            return _Fault("order", second, 0.0, sentence)
    merged = np.sort(np.concatenate([*magnitudes.values()]), kind="stable")  # quick on such runs
    shared = sharing(arrays) if repetitions(merged) else None
    repeated = [n for n, each in arrays.items() if repetitions(magnitudes[n]) > 0.1 * each.size]
    # Of rounded numbers, many are equal by chance.
    for name in {name: None for name in (*(shared or ()), *repeated)}:
        digits = decimals_of(arrays[name])
        if digits is not None:
            sentence = (
                f"The numbers of `{name}` {few_decimals_words(digits)}, so that many are equal. "
                "A draw keeps all of its digits."
            )
            return _Fault("rounded", name, digits, sentence)
    if shared:
        sentence = (
            f"`{shared[0]}` and `{shared[1]}` are not separate draws: they share many numbers."
        )
        return _Fault("shared", shared[1], 0.0, sentence)
    for name, array in arrays.items():
        if name in repeated:
            sentence = f"The numbers of `{name}` repeat: in a draw, hardly any two are equal."
            return _Fault("repeated", name, 0.0, sentence)
        if _is_orthogonal(array):
            sentence = f"The rows of `{name}` are perpendicular: its numbers are not drawn apart."
            return _Fault("orthogonal", name, 0.0, sentence)
        tails = _tails(array)
        error = np.sqrt(24 / array.size)
        if not 3 - ERRORS * error < tails < 3 + UPPER_TAIL_ERRORS * error:
            sentence = f"The numbers of `{name}` do not follow a normal distribution."
            return _Fault("normal", name, tails, sentence, look=draw_words(array, mean))
    return None


def _spread_together(arrays: Mapping[str, np.ndarray], deviation: float) -> _Fault | None:
    """Return the fault of a spread that only shows in all arrays together."""
    numbers = np.concatenate([array.ravel() for array in arrays.values()])
    spread = float(numbers.std())
    if abs(spread / deviation - 1) < ERRORS / np.sqrt(2 * numbers.size):
        return None
    sentence = (
        f"The standard deviation of all {numbers.size} numbers together is {spread:.3g}, but "
        f"{deviation} is expected."
    )
    return _Fault("spread of all", "all", spread / deviation, sentence, _sample(numbers))


def _is_normalized(array: np.ndarray, mean: float, deviation: float) -> bool:
    """Say whether a sample has the very statistics of its distribution, up to rounding."""
    if array.dtype != np.float64 or array.size < 2:
        return False
    exact = 1e-12 * deviation
    return bool(abs(array.mean() - mean) < exact or abs(array.std() - deviation) < exact)


def _is_orthogonal(array: np.ndarray) -> bool:
    """Say whether the rows of a matrix have much smaller products than those of separate draws."""
    if array.ndim != 2 or not _FEWEST_ROWS <= array.shape[0] <= array.shape[1]:
        return False
    products = np.corrcoef(array)[np.triu_indices(array.shape[0], 1)] ** 2
    # Times the length of a row, each is a square of a normal number: 1 on average.
    return bool(products.mean() * array.shape[1] < 1 - ERRORS * np.sqrt(2 / products.size))


def _tied(arrays: Mapping[str, np.ndarray]) -> _Fault | None:
    """Return the fault of arrays whose numbers go together, two by two."""
    ties = {}
    correlations = np.corrcoef([array.ravel() for array in arrays.values()])
    for (row, first), (column, second) in combinations(enumerate(arrays), 2):
        correlation = float(correlations[row, column])
        if abs(correlation) > ERRORS / np.sqrt(arrays[second].size):
            ties[first, second] = correlation
    if not ties:
        return None
    (first, second), correlation = next(iter(ties.items()))
    words, look = "their numbers go together", ""
    if np.array_equal(arrays[first], arrays[second]):
        words = "they hold the same numbers"
        look = "Are they one array or copies of one, or does a generator begin with one seed again?"
    sentence = f"`{first}` and `{second}` are not separate draws: {words}."
    return _Fault("independence", repr(sorted(ties)), correlation, sentence, look=look)

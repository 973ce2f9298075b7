"""Is every array a normal draw of its own? Judged by its statistics, never by its values.

The bounds follow from the number of values: they are six standard errors wide, and twelve above
for the tails, whose estimate is skewed. A right draw is refused less often than once in 10⁶ times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from autograder.judging.compare import ResultSpec, arrays_of, compare_form
from autograder.judging.diagnosis import Candidate, diagnose, named
from autograder.judging.draw_words import draw_words
from autograder.judging.precision import LOWER, decimals_of, few_decimals_words
from autograder.judging.shared_numbers import repetitions, sharing
from autograder.model.request import Failed, Reply, Returned
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.wire import Value

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

    `array` is the one whose spread is wrong, which other draws may have for other reasons. `look`
    says what else is true of it.
    """

    kind: str
    arrays: str
    measure: float
    sentence: str
    array: np.ndarray | None = None
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
    return named(
        finding,
        [
            candidate
            for candidate in known
            if isinstance(candidate.reply, Returned)
            and _alike(fault, _candidate_fault(expectation, candidate.reply.value))
        ],
        binding=bool(known),  # a worked example of a draw holds no mistakes
    )


def _candidate_fault(expectation: Distributed, value: Value) -> _Fault | None:
    if compare_form(value, expectation.expected, expectation.form):
        return None
    return _fault(expectation, value)


def _alike(actual: _Fault, known: _Fault | None) -> bool:
    if known is None or (actual.kind, actual.arrays) != (known.kind, known.arrays):
        return False
    if actual.array is not None and known.array is not None:
        return _one_distribution(actual.array, known.array)
    return bool(np.isclose(actual.measure, known.measure, rtol=0.2, atol=1e-3))


def _one_distribution(array: np.ndarray, other: np.ndarray) -> bool:
    """Say whether two samples may be of one distribution: by their mean, spread and tails."""
    spreads = array.std(), other.std()
    if not all(spreads):
        return bool((array == other).all())
    bound = ERRORS * np.sqrt(2 / array.size)  # of a difference of two estimates
    closest = [
        abs(np.log(spreads[0] / spreads[1])) < bound / np.sqrt(2),
        abs(array.mean() - other.mean()) < bound * max(spreads),
        abs(_tails(array) - _tails(other)) < bound * np.sqrt(24),
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
            return _Fault("spread", name, spread / deviation, sentence, array, look)
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
    return _Fault("spread of all", "all", spread / deviation, sentence, numbers)


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

"""Is a returned value the expected one? Type, dtype, shape, finiteness, and only then values.

The order matters: `allclose` on unchecked shapes broadcasts, so a wrong answer of shape (1,)
would pass. Nothing here knows what attention is; messages name axes by the letters of the
reference's signature, such as B S D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.judging.library_words import layer_made
from autograder.judging.value_words import (
    Tokens,
    axis_words,
    first_place,
    place_words,
    shape_words,
    type_words,
    with_article,
)
from autograder.values.request import Request
from autograder.values.verdict import Finding, Outcome
from autograder.worker.wire import Linear, Opaque, Value, arrays_in

# Which precision was asked for, which one came back, and how near is near enough.
#
# What is asked for is the dtype of the inputs, which is also that of the reference's result,
# unless a check names another. The dtype that comes back widens the tolerance by one step at
# most: float64 in allows float32 back, and nothing less.

# Relative and absolute tolerance by the dtype that was asked for. Known mistakes move results
# by 100 times those of float32 and float64. In half precision, large scores lose their last digits
# before the softmax, so two right layers may differ by this much once in a million draws.
TOLERANCES = {
    "bfloat16": (5e-2, 2e-1),
    "float16": (2e-2, 4e-2),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-6),
}
# The precisions lower than any that an exercise asks for by default, and what students call them.
LOWER = {"float16": "float16 (half precision)", "bfloat16": "bfloat16"}
# How many decimal digits they keep, and how far rounding to them moves a number.
DIGITS = {"float16": 3, "bfloat16": 2}
_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
# NumPy makes up the name of a dtype each time that it is asked for it.
_NAMES = {np.dtype(name).char: name for name in ("float16", "float32", "float64")}
# A result is rounded a few times on its way; being off by more than this is an error.
_ROUNDINGS = 8
_NEAR = 1e-3  # of the largest number
_MOST_DECIMALS = 4  # that somebody rounds to


def asked_precision(expected: np.ndarray, precision: str = "") -> str:
    """Return the name of the dtype that was asked for: `precision`, else the expected array's."""
    return precision or _NAMES.get(expected.dtype.char) or expected.dtype.name


def tolerance(
    returned: np.ndarray, expected: np.ndarray, precision: str = ""
) -> tuple[float, float]:
    """Return the (relative, absolute) tolerance for a result of what was asked.

    A result in float32, or less, where float64 was asked is judged as float32.
    """
    asked = asked_precision(expected, precision)
    if asked == "float64" and returned.dtype.kind == "f" and returned.dtype.itemsize < 8:
        asked = "float32"
    return TOLERANCES.get(asked, TOLERANCES["float64"])


def is_lower(array: np.ndarray, asked: str) -> bool:
    """Say whether an array's own dtype has less precision than `asked` allows."""
    return asked not in LOWER and array.dtype.name in LOWER


def rounded_to(returned: np.ndarray, expected: np.ndarray, precision: str = "") -> str:
    """Name the lower precision that alone explains a difference, or return "".

    returned, expected: the numbers that differ, of one shape. Each must be a number of that
    precision, whatever dtype holds it (bfloat16 crosses the wire as float32). It must also be as
    near to the expected one as a few roundings leave it.
    """
    finite = np.isfinite(returned).all() and np.isfinite(expected).all()
    if asked_precision(expected, precision) in LOWER or not finite or not returned.size:
        return ""
    with np.errstate(all="ignore"):
        off = np.abs(returned.astype(np.float64) - expected).max()
        size = np.abs(expected).max()
    # Most numbers that bfloat16 holds fit into float16 too; an array's own dtype leaves no doubt.
    own = returned.dtype.name
    for name in (own,) if own in LOWER else ("bfloat16", "float16"):
        if off <= _ROUNDINGS * _ROUNDING[name] * size and _is_of(returned, name):
            return name
    return ""


def _is_of(array: np.ndarray, name: str) -> bool:
    """Say whether a precision holds every number of a finite array exactly."""
    with np.errstate(all="ignore"):
        single = array.astype(np.float32)
        if name == "float16":
            return bool((array.astype(np.float16) == array).all())
        # bfloat16 is float32 without the lower half of its bits.
        return bool((single == array).all() and not (single.view(np.uint32) & 0xFFFF).any())


def decimals_of(array: np.ndarray) -> int | None:
    """Return to how many decimals all numbers of an array are rounded, None if they have more."""
    eps = np.finfo(array.dtype).eps if array.dtype.kind == "f" else 0.0
    numbers = np.asarray(array, np.float64)
    if not np.isfinite(numbers).all():
        return None
    for digits in range(_MOST_DECIMALS + 1):
        units = numbers * 10**digits  # of the last decimal
        close = np.minimum(4 * eps * np.maximum(np.abs(units), 1), 1e-2)
        if (np.abs(units - np.rint(units)) <= close).all():
            return digits
    return None


def decimals_words(digits: int) -> str:
    """Say what numbers are that are rounded to so many decimals."""
    return {0: "whole numbers", 1: "1 decimal"}.get(digits, f"{digits} decimals")


def few_decimals_words(digits: int) -> str:
    """Say of numbers that they have no more decimals."""
    return f"have no more than {decimals_words(digits)}" if digits else "are whole numbers"


def apart(given: Value, expected: Value) -> tuple[float, float]:
    """Return the largest number that is expected, and the largest difference from what is given."""
    pairs = [
        (own, right)
        for own, right in zip(arrays_in(given), arrays_in(expected), strict=False)
        if own.shape == right.shape and own.size and own.dtype.kind == right.dtype.kind == "f"
    ]
    with np.errstate(all="ignore"):
        largest = max((float(np.abs(right).max()) for _, right in pairs), default=0.0)
        difference = max((float(np.abs(own - right).max()) for own, right in pairs), default=0.0)
    return largest, difference


def is_near(given: Value, expected: Value) -> bool:
    """Say whether numbers are off by so little that a small error may have grown to that."""
    largest, difference = apart(given, expected)
    return 0 < difference <= _NEAR * largest


def with_arrays(value: Value, change: Callable[[np.ndarray], np.ndarray]) -> Value:
    """Return a value with other arrays: what `change` makes of each that it holds."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        return tuple(with_arrays(part, change) for part in value)
    if isinstance(value, Linear):
        weight, bias = (with_arrays(part, change) for part in (value.weight, value.bias))
        return Linear(weight, bias, value.trainable)
    return value


# One number, however it is held: by itself, or by an array without axes, as `np.prod` gives it.

# Numbers of these types have to be the expected ones, to the digit.
EXACT = (int, bool)


def whole_number(value: Value) -> Value:
    """Return the number in an array without axes that holds a whole number or a truth value.

    Every other value comes back as it is.
    """
    whole = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biu"
    return value.item() if whole else value


def scalar(value: Value) -> Value:
    """Return a number as an array without axes, for where such an array of floats is expected.

    Every other value comes back as it is.
    """
    number = whole_number(value)
    return np.asarray(float(number)) if type(number) in (int, float) else value


# Scores at or below this are forbidden: their share after a softmax is 0 beside every score that a
# check asks with. Those get below -1e5 (see `properties.LARGE_INPUTS`), which therefore is no mask.
FLOOR = -1e6
GRADIENT = ".grad"  # ends the name of what a backward pass leaves at a parameter
# Layers without weights, which are made where what they compute is meant.
_LAYERS = ("Softmax", "LogSoftmax", "Dropout", "ReLU", "GELU", "Tanh", "Sigmoid")
_DIGITS = (4, 6, 8, 10)  # of a number that is quoted

CompareOne = Callable[[Value, np.ndarray, str, "str | None", "ResultSpec"], "Finding | None"]


@dataclass(frozen=True)
class ResultSpec:
    """What a result is made of: a name and the axes of each array, as "B S S" or None.

    `compare` is the step's way of making results comparable (see `exercise.Step`).
    A single array has one name and no tuple around it. `noun` is what a student calls one
    ("array" or "tensor"); `precision` is the dtype that was asked for, "" for the expected array's.
    `size` is how large the numbers are that these were added up from, if above 1. `tokens` names
    the tokens of an example that a text works by hand.
    """

    names: tuple[str, ...]
    axes: tuple[str | None, ...]
    compare: str = "values"
    noun: str = "array"
    precision: str = ""
    size: float = 1.0
    tokens: Tokens | None = None


def arrays_of(value: Value, form: ResultSpec, expected: Value | None = None) -> tuple[Value, ...]:
    """Return the parts of a value: itself when one array is expected, else its items.

    An array whose first axis counts the names unpacks to its parts, as in Python. Its batch may
    count the names by chance, so one with the axes of a part stays whole, and one whose parts would
    not have the shapes of the `expected` ones, if those are given.
    """
    if len(form.names) == 1:
        return (value,)
    if isinstance(value, np.ndarray):
        is_a_part = any(axes and value.ndim == len(axes.split()) for axes in form.axes)
        stacked = value.shape[:1] == (len(form.names),) and not is_a_part
        if stacked and expected is not None:
            stacked = {np.shape(part) for part in arrays_of(expected, form)} == {value.shape[1:]}
        return tuple(np.asarray(part) for part in value) if stacked else (value,)
    return value if isinstance(value, tuple) else (value,)


def compare(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Return the first thing that is not as expected, or None when all is."""
    finding = compare_form(returned, expected, form)
    if finding:
        return finding
    wrong = _each(_values, returned, expected, form)
    return wrong and (coarse(returned, expected, form) or wrong)


def compare_form(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Compare number, type, dtype and shape of the arrays, but not their values."""
    wanted, names = arrays_of(expected, form), ", ".join(form.names)
    parts = arrays_of(returned, form, expected)
    if len(parts) != len(wanted):
        several = isinstance(returned, tuple)
        given = f"{len(parts)} values" if several else type_words(returned, form.noun)
        asked = f"{len(wanted)}" if several else f"{len(wanted)} {form.noun}s"
        fact = f"It returns {given}, but {asked} are expected: {names}."
        return Finding(Outcome.WRONG_TYPE, fact, look=_come_apart(parts, wanted, form))
    return (
        _without_gradient(parts, form)
        or _number(returned, expected, form)
        or _each(_type, returned, expected, form)
        or _each(_shape, returned, expected, form)
    )


def _come_apart(parts: tuple[Value, ...], wanted: tuple[Value, ...], form: ResultSpec) -> str:
    """Return a question about the axis that has as many entries as there are parts, or nothing.

    It is one of the expected axes that none of the parts has.
    """
    count, shapes = len(parts), [np.shape(part) for part in parts if isinstance(part, np.ndarray)]
    axes = dict(zip((form.axes[0] or "").split(), np.shape(wanted[0])))
    long = [axis for axis, size in axes.items() if size == count]
    if len(shapes) != count or len(long) != 1 or any(count in shape for shape in shapes):
        return ""
    return (
        f"There are as many as the axis {long[0]} has entries. Along which axis should the "
        f"{form.noun} come apart?"
    )


def _without_gradient(parts: tuple[Value, ...], form: ResultSpec) -> Finding | None:
    """Return the finding on parameters that no gradient has reached, if these are looked at."""
    gradients = [(name, part) for name, part in zip(form.names, parts) if name.endswith(GRADIENT)]
    missing = [f"`{name.removesuffix(GRADIENT)}`" for name, part in gradients if part is None]
    if not missing:
        return None
    if len(missing) == len(form.names) > 1:
        fact = "After a backward pass, no parameter has a gradient."
    else:
        has = "has" if len(missing) == 1 else "have"
        fact = f"After a backward pass, {' and '.join(missing)} {has} no gradient."
    look = (
        "Is it cut off on the way from there to the result, as by `detach` or `no_grad`, or does "
        "your layer compute with a copy?"
    )
    return Finding(Outcome.WRONG_VALUES, fact, look=look)


def _number(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Compare the parts that should be whole numbers, or True or False."""
    parts = zip(form.names, arrays_of(returned, form, expected), arrays_of(expected, form))
    for name, given, wanted in parts:
        if type(wanted) not in EXACT:
            continue
        number = whole_number(given)
        if type(number) is not type(wanted) or number != wanted:
            value = str(number) if type(number) in (*EXACT, float) else type_words(number)
            return Finding(Outcome.WRONG_VALUES, f"`{name}` is {value}, but {wanted} is expected.")
    return None


def _each(
    compare_one: CompareOne, returned: Value, expected: Value, form: ResultSpec
) -> Finding | None:
    for name, axes, given, wanted in _arrays(returned, expected, form):
        finding = compare_one(given, wanted, name, axes, form)
        if finding:
            return finding
    return None


def _arrays(
    returned: Value, expected: Value, form: ResultSpec
) -> Iterator[tuple[str, str | None, Value, np.ndarray]]:
    """Give (label, axes, returned, expected) of every array; the label is "" for the only one."""
    parts = arrays_of(expected, form)
    given_parts = arrays_of(returned, form, expected)
    for name, axes, given, wanted in zip(form.names, form.axes, given_parts, parts):
        if type(wanted) not in EXACT:
            array = np.asarray(wanted)
            given = given if array.ndim else scalar(given)
            yield name if len(parts) > 1 else "", axes, given, array


def agree(
    returned: np.ndarray, expected: np.ndarray, precision: str = "", size: float = 1.0
) -> np.ndarray:
    """Say per entry whether two arrays of one shape agree, within the tolerance of what was asked.

    What was asked for is the dtype of `expected`, or `precision` where one is named. `size`: see
    `ResultSpec`; a sum in which large numbers cancel keeps their rounding errors.
    """
    relative, absolute = tolerance(returned, expected, precision)
    with np.errstate(all="ignore"):
        # As np.isclose, in a fraction of its time; NaN and infinity agree with nothing.
        near = np.abs(returned - expected) <= absolute * size + relative * np.abs(expected)
        # A tolerance may itself overflow, and then infinity would be near to everything.
        return np.asarray(near & np.isfinite(expected) & np.isfinite(returned))


def coarse(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Return the finding when all that differs does so by rounding to a lower precision.

    The form must be right. None when nothing differs, or when anything differs by more.
    """
    found: list[Finding] = []
    for name, axes, given, wanted in _arrays(returned, expected, form):
        dtype = given.dtype.name
        given, wanted = comparable(given, form.compare), comparable(wanted, form.compare)
        wrong = ~agree(given, wanted, form.precision, form.size)
        if not wrong.any():
            continue
        lower = rounded_to(given[wrong], wanted[wrong], form.precision)
        if not lower:
            return None
        asked = asked_precision(wanted, form.precision)
        own = dtype == lower
        found.append(_coarse(lower, asked, name, wanted.shape, axes, own))
    return found[0] if found else None


def _coarse(
    lower: str, asked: str, label: str, shape: tuple[int, ...], axes: str | None, own: bool
) -> Finding:
    """The finding on numbers rounded to `lower`, which is the array's `own` dtype if so."""
    subject = f"The numbers of `{label}`" if label else "Your numbers"
    back = "float32" if asked == "float32" else "at least float32"
    # bfloat16 crosses the wire as float32, and a result may have been turned back into it.
    held = "are" if own else "have the digits of"
    return Finding(
        Outcome.WRONG_VALUES,
        f"{subject} agree with the expected ones only to about {DIGITS[lower]} digits: they {held} "
        f"{LOWER[lower]}.",
        right=_right_shape(label, shape, axes),
        look=f"The inputs are {asked}, so {back} is expected in return. "
        "Where is the precision lost?",
    )


def comparable(array: np.ndarray, mode: str) -> np.ndarray:
    """Return the array in the form in which a step's results are compared."""
    if mode in ("numbers", "booleans") and array.dtype.kind in "bui":
        return array.astype(np.float64)
    if mode == "floor" and array.dtype.kind == "f":
        wide = array.astype(np.float32) if array.dtype == np.float16 else array
        return np.asarray(np.maximum(wide, FLOOR))
    return array


def _type(
    actual: Value, expected: np.ndarray, label: str, axes: str | None, form: ResultSpec
) -> Finding | None:
    subject = f"`{label}`" if label else "It"
    if not isinstance(actual, np.ndarray):
        verb = "is" if label else "returns"
        look = "Is there a `return` at the end?" if actual is None and not label else ""
        if isinstance(actual, Opaque) and actual.type_name in _LAYERS:
            look = layer_made(actual.type_name)
        wanted = f"{with_article(form.noun)} of shape {shape_words(expected.shape, axes)}"
        given = type_words(actual, form.noun)
        return Finding(
            Outcome.WRONG_TYPE, f"{subject} {verb} {given}, but {wanted} is expected.", look=look
        )
    if form.compare == "booleans" and actual.dtype.kind != "b":
        return _no_booleans(actual, label, form)
    numbers = "fbui" if form.compare in ("numbers", "booleans") else "f"
    if actual.dtype.kind not in numbers:
        has = "has" if label else "returns"
        return Finding(
            Outcome.WRONG_TYPE,
            f"{subject} {has} numbers of type {actual.dtype}, but floating-point numbers are "
            "expected.",
            look=_whole_numbers(actual, expected),
        )
    return None


def _whole_numbers(actual: np.ndarray, expected: np.ndarray) -> str:
    """Return where to look for numbers of another type: where fractions get lost, if they do."""
    if actual.dtype.kind in "iu" and actual.shape == expected.shape:
        fits = (np.trunc(expected), np.floor(expected), np.round(expected))
        if any(np.array_equal(actual, whole) for whole in fits):
            return "The fractions get lost somewhere on the way."
    return "Which of your operations makes numbers of that type?"


def _no_booleans(actual: np.ndarray, label: str, form: ResultSpec) -> Finding:
    has = f"`{label}` has" if label else "It returns"
    right = "All of its numbers are 1 or 0."
    return Finding(
        Outcome.WRONG_TYPE,
        f"{has} numbers of type {actual.dtype}, but True and False are expected.",
        right=right if np.isin(actual, (0, 1)).all() else "",
        look="Later steps may turn a mask over with `~`, which needs True and False. Which of your "
        "operations makes numbers?",
    )


def _shape(
    actual: Value, expected: np.ndarray, label: str, axes: str | None, form: ResultSpec
) -> Finding | None:
    if actual.shape == expected.shape:
        return None
    subject = f"The shape of `{label}`" if label else "The shape of the result"
    return Finding(
        Outcome.WRONG_SHAPE,
        f"{subject} is {actual.shape}, but {shape_words(expected.shape, axes)} is expected.",
    )


def _values(
    actual: Value, expected: np.ndarray, label: str, axes: str | None, form: ResultSpec
) -> Finding | None:
    lower = _lower_words(actual, expected, form)
    actual, expected = comparable(actual, form.compare), comparable(expected, form.compare)
    wrong = ~agree(actual, expected, form.precision, form.size)
    if not wrong.any():
        return None
    right = _right_shape(label, expected.shape, axes)
    broken = ~np.isfinite(actual) & np.isfinite(expected)
    if broken.any():
        kinds = "NaN" if np.isnan(actual[broken]).all() else "NaN or infinite"
        count = "All of" if broken.all() else f"{int(broken.sum())} of"
        return Finding(
            Outcome.WRONG_VALUES,
            f"{count} its {broken.size} numbers are {kinds}.",
            right=right,
            look=f"The first is {place_words(broken, axes)}.",
        )
    count = f"{int(wrong.sum())} of its {wrong.size} numbers are not"
    place = first_place(wrong)
    given, wanted = _number_words(actual[place], expected[place], form)
    told = form.tokens.compared(actual, expected, wrong, axes) if form.tokens else ""
    told = told or f"{place_words(wrong, axes)} it is {given}, but {wanted} is expected."
    return Finding(
        Outcome.WRONG_VALUES,
        f"{'None of its numbers is' if wrong.all() else count} as expected.{lower}",
        right=right,
        look=f"For example, {told}",
        vague=True,
    )


def _number_words(given: float, wanted: float, form: ResultSpec) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart.

    One that is a forbidden score has lost its own digits by now.
    """
    digits = next((each for each in _DIGITS if f"{given:.{each}g}" != f"{wanted:.{each}g}"), 17)
    forbidden = form.compare == "floor"
    first, second = (
        "a very negative number" if forbidden and number <= FLOOR else f"{number:.{digits}g}"
        for number in (given, wanted)
    )
    return first, second


def _right_shape(label: str, shape: tuple[int, ...], axes: str | None) -> str:
    subject = f"`{label}`" if label else "the result"
    return f"The shape of {subject} is right, {shape_words(shape, axes)}."


def _lower_words(actual: np.ndarray, expected: np.ndarray, form: ResultSpec) -> str:
    """Name the precision of an array that has less than was asked for."""
    if not is_lower(actual, asked_precision(expected, form.precision)):
        return ""
    name = actual.dtype.name
    return f" They are {LOWER[name]}, which keeps about {DIGITS[name]} digits."


# The sizes that a question is about, by the names that a student can find.


def sizes_of(
    expected: Value, form: ResultSpec, request: Request | None
) -> tuple[tuple[str, int], ...]:
    """Return the sizes of whole numbers and axes that go in, and of the axes that come out."""
    found: dict[str, int] = {}
    for name, size in (*_given(request), *_axes(expected, form)):
        found.setdefault(name, size)
    return tuple(found.items())


def _given(request: Request | None) -> Iterator[tuple[str, int]]:
    """Give the whole numbers and the sizes of arrays that go in."""
    if request is None:
        return
    of = " of `__init__`" if request.method is not None else ""
    for number, value in enumerate(request.arguments, start=1):
        if type(value) is int:
            yield f"argument number {number}{of}", value
    arrays = request.call_arguments
    for number, value in enumerate(arrays, start=1):
        if isinstance(value, np.ndarray):
            for axis, size in enumerate(value.shape):
                yield f"the size of axis {axis} of argument number {number}", size


def _axes(expected: Value, form: ResultSpec) -> Iterator[tuple[str, int]]:
    for axes, array in zip(form.axes, arrays_of(expected, form)):
        if isinstance(array, np.ndarray):
            for axis, size in enumerate(array.shape):
                yield f"the size of {axis_words(axis, axes, array.ndim)}", size

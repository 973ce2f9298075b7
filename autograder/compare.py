"""Is a returned value the expected one? Type, dtype, shape, finiteness, and only then values.

The order is the requirement: `allclose` on unchecked shapes broadcasts, so a
wrong answer of shape (1,) would pass. Nothing here knows what attention is; the
words name axes by the letters of the reference's signature, such as B S D.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autograder.verdict import Finding, Outcome
from autograder.wire import Linear, Opaque, Value

# Relative and absolute tolerance by the returned dtype: an answer in float32 is right to
# float32 precision. Known mistakes move results by 100 times this.
TOLERANCES = {
    "bfloat16": (5e-2, 3e-2),
    "float16": (2e-2, 5e-3),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-6),
}

# Scores at or below this are forbidden: their share after a softmax is 0 in every precision.
FLOOR = -1e4

CompareOne = Callable[[Value, np.ndarray, str, "str | None", "Form"], "Finding | None"]


@dataclass(frozen=True)
class Form:
    """What a result is made of: a name and the axes of each array, as "B S S" or None.

    `compare` is the step's way of making results comparable (see `exercise.Step`).
    A single array has one name and no tuple around it. `noun` is what a student calls one
    ("array" or "tensor"); `precision` is the dtype whose tolerance holds, "" for the result's.
    """

    names: tuple[str, ...]
    axes: tuple[str | None, ...]
    compare: str = "values"
    noun: str = "array"
    precision: str = ""


def arrays_of(value: Value, form: Form) -> tuple[Value, ...]:
    """Return the parts of a value: itself when one array is due, else its items."""
    if len(form.names) == 1:
        return (value,)
    return value if isinstance(value, tuple) else (value,)


def shape_words(shape: tuple[int, ...], axes: str | None) -> str:
    """Write a shape with its axis letters: (B=2, S=5, S=5), or (2, 5, 5) when they are unknown."""
    letters = axes.split() if axes else []
    if len(letters) != len(shape):
        return str(tuple(shape))
    return "(" + ", ".join(f"{axis}={size}" for axis, size in zip(letters, shape)) + ")"


def compare(returned: Value, expected: Value, form: Form) -> Finding | None:
    """Return the first thing that is not as expected, or None when all is."""
    return compare_form(returned, expected, form) or _each(_values, returned, expected, form)


def compare_form(returned: Value, expected: Value, form: Form) -> Finding | None:
    """Compare number, type, dtype and shape of the arrays, but not their values."""
    wanted = arrays_of(expected, form)
    if len(wanted) > 1 and not isinstance(returned, tuple):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {type_words(returned, form.noun)}, and {len(wanted)} {form.noun}s are due: "
            f"{', '.join(form.names)}.",
        )
    given = arrays_of(returned, form)
    if len(given) != len(wanted):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {len(given)} values, and {len(wanted)} are due: {', '.join(form.names)}.",
        )
    return (
        _number(returned, expected, form)
        or _each(_type, returned, expected, form)
        or _each(_shape, returned, expected, form)
    )


def _number(returned: Value, expected: Value, form: Form) -> Finding | None:
    """Compare what is due as a whole number."""
    for name, one, due in zip(form.names, arrays_of(returned, form), arrays_of(expected, form)):
        if type(due) is int and (type(one) is not int or one != due):
            given = str(one) if type(one) is int else type_words(one)
            return Finding(Outcome.WRONG_VALUES, f"`{name}` is {given}, and {due} is due.")
    return None


def _each(compare_one: CompareOne, returned: Value, expected: Value, form: Form) -> Finding | None:
    given, wanted = arrays_of(returned, form), arrays_of(expected, form)
    for name, axes, one, due in zip(form.names, form.axes, given, wanted):
        if type(due) is int:
            continue
        label = name if len(wanted) > 1 else ""
        finding = compare_one(one, np.asarray(due), label, axes, form)
        if finding:
            return finding
    return None


def agree(returned: np.ndarray, expected: np.ndarray, precision: str = "") -> np.ndarray:
    """Say per entry whether two arrays of one shape agree, within the returned dtype's tolerance.

    With a `precision`, the tolerance of that dtype is taken instead.
    """
    relative, absolute = tolerance(returned, precision)
    with np.errstate(all="ignore"):
        # As np.isclose, in a fraction of its time; NaN and infinity agree with nothing.
        near = np.abs(returned - expected) <= absolute + relative * np.abs(expected)
        return np.asarray(near & np.isfinite(expected))


def tolerance(array: np.ndarray, precision: str = "") -> tuple[float, float]:
    """Return the (relative, absolute) tolerance that belongs to an array's dtype."""
    return TOLERANCES.get(precision or array.dtype.name, TOLERANCES["float64"])


def comparable(array: np.ndarray, mode: str) -> np.ndarray:
    """Return the array in the form in which a step's results are compared."""
    if mode == "numbers" and array.dtype.kind in "bui":
        return array.astype(np.float64)
    if mode == "floor" and array.dtype.kind == "f":
        return np.asarray(np.maximum(array, FLOOR))
    return array


def type_words(value: Value, noun: str = "array") -> str:
    """Name a value's type as a student would."""
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"{_a(noun)} of shape {value.shape}"
    if isinstance(value, Linear):
        return "a linear layer"
    if isinstance(value, tuple):
        return f"a list or tuple of {len(value)}"
    if isinstance(value, Opaque):
        return f"an object of type {value.type_name}"
    return f"a single value of type {type(value).__name__}"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _type(one: Value, due: np.ndarray, label: str, axes: str | None, form: Form) -> Finding | None:
    subject = f"`{label}`" if label else "It"
    if not isinstance(one, np.ndarray):
        verb = "is" if label else "returns"
        look = "Is there a `return` at the end?" if one is None and not label else ""
        wanted = f"{_a(form.noun)} of shape {shape_words(due.shape, axes)}"
        given = type_words(one, form.noun)
        return Finding(
            Outcome.WRONG_TYPE, f"{subject} {verb} {given}, and {wanted} is due.", look=look
        )
    one = comparable(one, form.compare)
    if one.dtype.kind != "f":
        has = "has" if label else "returns"
        return Finding(
            Outcome.WRONG_TYPE,
            f"{subject} {has} numbers of type {one.dtype}, and floating-point numbers are due.",
            look="Somewhere on the way the fractions are lost.",
        )
    return None


def _shape(one: Value, due: np.ndarray, label: str, axes: str | None, form: Form) -> Finding | None:
    if one.shape == due.shape:
        return None
    subject = f"The shape of `{label}`" if label else "The shape of the result"
    return Finding(
        Outcome.WRONG_SHAPE,
        f"{subject} is {one.shape}, and {shape_words(due.shape, axes)} is due.",
        right="It returns floating-point numbers." if not label else "",
    )


def _values(
    one: Value, due: np.ndarray, label: str, axes: str | None, form: Form
) -> Finding | None:
    one, due = comparable(one, form.compare), comparable(due, form.compare)
    subject = f"`{label}`" if label else "the result"
    right = f"The shape of {subject} is right, {shape_words(due.shape, axes)}."
    broken = ~np.isfinite(one) & np.isfinite(due)
    if broken.any():
        kinds = "NaN" if np.isnan(one[broken]).all() else "NaN or infinite"
        count = "All" if broken.all() else f"{int(broken.sum())} of"
        return Finding(
            Outcome.WRONG_VALUES,
            f"{count} its {broken.size} numbers are {kinds}.",
            right=right,
            look=f"The first is {place_words(broken, axes)}.",
        )
    wrong = ~agree(one, due, form.precision)
    if not wrong.any():
        return None
    count = (
        "none of its numbers is"
        if wrong.all()
        else (f"{int(wrong.sum())} of its {wrong.size} numbers are not")
    )
    place = first_place(wrong)
    example = f"{place_words(wrong, axes)} it is {one[place]:.4g}, and {due[place]:.4g} is due"
    return Finding(
        Outcome.WRONG_VALUES,
        f"{count.capitalize()} as expected.",
        right=right,
        look=f"For example, {example}.",
    )


def first_place(marked: np.ndarray) -> tuple[int, ...]:
    """Return the index of the first entry that is marked."""
    return tuple(int(index) for index in np.argwhere(marked)[0])


def place_words(marked: np.ndarray, axes: str | None) -> str:
    """Say where the first marked entry stands: at [0, 1, 2] (axes B, S, S)."""
    index = ", ".join(str(index) for index in first_place(marked))
    letters = axes.split() if axes else []
    named = f" (axes {', '.join(letters)})" if len(letters) == marked.ndim else ""
    return f"at [{index}]{named}"

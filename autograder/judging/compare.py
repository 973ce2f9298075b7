"""Is a returned value the expected one? Type, dtype, shape, finiteness, and only then values.

The order is the requirement: `allclose` on unchecked shapes broadcasts, so a
wrong answer of shape (1,) would pass. Nothing here knows what attention is; the
words name axes by the letters of the reference's signature, such as B S D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.judging.precision import (
    DIGITS,
    LOWER,
    asked_precision,
    is_lower,
    rounded_to,
    tolerance,
)
from autograder.judging.value_words import (
    first_place,
    place_words,
    shape_words,
    type_words,
    with_article,
)
from autograder.model.verdict import Finding, Outcome
from autograder.protocol.wire import Value

# Scores at or below this are forbidden: their share after a softmax is 0 in every precision.
FLOOR = -1e4

CompareOne = Callable[[Value, np.ndarray, str, "str | None", "ResultSpec"], "Finding | None"]


@dataclass(frozen=True)
class ResultSpec:
    """What a result is made of: a name and the axes of each array, as "B S S" or None.

    `compare` is the step's way of making results comparable (see `exercise.Step`).
    A single array has one name and no tuple around it. `noun` is what a student calls one
    ("array" or "tensor"); `precision` is the dtype that was asked for, "" for the expected array's.
    """

    names: tuple[str, ...]
    axes: tuple[str | None, ...]
    compare: str = "values"
    noun: str = "array"
    precision: str = ""


def arrays_of(value: Value, form: ResultSpec) -> tuple[Value, ...]:
    """Return the parts of a value: itself when one array is expected, else its items."""
    if len(form.names) == 1:
        return (value,)
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
    wanted = arrays_of(expected, form)
    if len(wanted) > 1 and not isinstance(returned, tuple):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {type_words(returned, form.noun)}, and {len(wanted)} {form.noun}s are expected: "
            f"{', '.join(form.names)}.",
        )
    given = arrays_of(returned, form)
    if len(given) != len(wanted):
        return Finding(
            Outcome.WRONG_TYPE,
            f"It returns {len(given)} values, and {len(wanted)} are expected: {', '.join(form.names)}.",
        )
    return (
        _number(returned, expected, form)
        or _each(_type, returned, expected, form)
        or _each(_shape, returned, expected, form)
    )


def _number(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Compare what is expected as a whole number."""
    for name, one, due in zip(form.names, arrays_of(returned, form), arrays_of(expected, form)):
        if type(due) is int and (type(one) is not int or one != due):
            given = str(one) if type(one) is int else type_words(one)
            return Finding(Outcome.WRONG_VALUES, f"`{name}` is {given}, and {due} is expected.")
    return None


def _each(
    compare_one: CompareOne, returned: Value, expected: Value, form: ResultSpec
) -> Finding | None:
    for name, axes, one, due in _arrays(returned, expected, form):
        finding = compare_one(one, due, name, axes, form)
        if finding:
            return finding
    return None


def _arrays(
    returned: Value, expected: Value, form: ResultSpec
) -> Iterator[tuple[str, str | None, Value, np.ndarray]]:
    """Give (label, axes, returned, expected) of every array; the label is "" for the only one."""
    given, wanted = arrays_of(returned, form), arrays_of(expected, form)
    for name, axes, one, due in zip(form.names, form.axes, given, wanted):
        if type(due) is not int:
            yield name if len(wanted) > 1 else "", axes, one, np.asarray(due)


def agree(returned: np.ndarray, expected: np.ndarray, precision: str = "") -> np.ndarray:
    """Say per entry whether two arrays of one shape agree, within the tolerance of what was asked.

    That is a result like `expected`, or one of the dtype `precision`.
    """
    relative, absolute = tolerance(returned, expected, precision)
    with np.errstate(all="ignore"):
        # As np.isclose, in a fraction of its time; NaN and infinity agree with nothing.
        near = np.abs(returned - expected) <= absolute + relative * np.abs(expected)
        return np.asarray(near & np.isfinite(expected))


def coarse(returned: Value, expected: Value, form: ResultSpec) -> Finding | None:
    """Return the finding when all that differs does so by rounding to a lower precision.

    The form has to be right. None when nothing differs, or when anything differs by more.
    """
    found: list[Finding] = []
    for name, axes, one, due in _arrays(returned, expected, form):
        one, due = comparable(one, form.compare), comparable(due, form.compare)
        wrong = ~agree(one, due, form.precision)
        if not wrong.any():
            continue
        lower = rounded_to(one[wrong], due[wrong], form.precision)
        if not lower:
            return None
        found.append(_coarse(lower, asked_precision(due, form.precision), name, due.shape, axes))
    return found[0] if found else None


def _coarse(
    lower: str, asked: str, label: str, shape: tuple[int, ...], axes: str | None
) -> Finding:
    subject = f"The numbers of `{label}`" if label else "Your numbers"
    back = "float32" if asked == "float32" else "at least float32"
    return Finding(
        Outcome.WRONG_VALUES,
        f"{subject} agree with the expected ones to about {DIGITS[lower]} digits only: they are "
        f"{LOWER[lower]}.",
        right=_right_shape(label, shape, axes),
        look=f"The inputs are {asked}, and {back} is expected back. Where is the precision lost?",
    )


def comparable(array: np.ndarray, mode: str) -> np.ndarray:
    """Return the array in the form in which a step's results are compared."""
    if mode == "numbers" and array.dtype.kind in "bui":
        return array.astype(np.float64)
    if mode == "floor" and array.dtype.kind == "f":
        return np.asarray(np.maximum(array, FLOOR))
    return array


def _type(
    one: Value, due: np.ndarray, label: str, axes: str | None, form: ResultSpec
) -> Finding | None:
    subject = f"`{label}`" if label else "It"
    if not isinstance(one, np.ndarray):
        verb = "is" if label else "returns"
        look = "Is there a `return` at the end?" if one is None and not label else ""
        wanted = f"{with_article(form.noun)} of shape {shape_words(due.shape, axes)}"
        given = type_words(one, form.noun)
        return Finding(
            Outcome.WRONG_TYPE, f"{subject} {verb} {given}, and {wanted} is expected.", look=look
        )
    numbers = "fbui" if form.compare == "numbers" else "f"
    if one.dtype.kind not in numbers:
        has = "has" if label else "returns"
        return Finding(
            Outcome.WRONG_TYPE,
            f"{subject} {has} numbers of type {one.dtype}, and floating-point numbers are expected.",
            look="Somewhere on the way the fractions are lost.",
        )
    return None


def _shape(
    one: Value, due: np.ndarray, label: str, axes: str | None, form: ResultSpec
) -> Finding | None:
    if one.shape == due.shape:
        return None
    subject = f"The shape of `{label}`" if label else "The shape of the result"
    return Finding(
        Outcome.WRONG_SHAPE,
        f"{subject} is {one.shape}, and {shape_words(due.shape, axes)} is expected.",
        right="It returns floating-point numbers." if not label else "",
    )


def _values(
    one: Value, due: np.ndarray, label: str, axes: str | None, form: ResultSpec
) -> Finding | None:
    one, due = comparable(one, form.compare), comparable(due, form.compare)
    right = _right_shape(label, due.shape, axes)
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
    example = f"{place_words(wrong, axes)} it is {one[place]:.4g}, and {due[place]:.4g} is expected"
    return Finding(
        Outcome.WRONG_VALUES,
        f"{count.capitalize()} as expected.{_lower_words(one, due, form)}",
        right=right,
        look=f"For example, {example}.",
    )


def _right_shape(label: str, shape: tuple[int, ...], axes: str | None) -> str:
    subject = f"`{label}`" if label else "the result"
    return f"The shape of {subject} is right, {shape_words(shape, axes)}."


def _lower_words(one: np.ndarray, due: np.ndarray, form: ResultSpec) -> str:
    """Name the precision of an array that has less than was asked for."""
    if not is_lower(one, asked_precision(due, form.precision)):
        return ""
    name = one.dtype.name
    return f" They are {LOWER[name]}, which keeps about {DIGITS[name]} digits."

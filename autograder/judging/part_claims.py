"""Claims about several arrays at once: exchanged ones, and gradients that do not arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder.judging.compare import ResultSpec, agree
from autograder.model.claim import Claim
from autograder.model.request import Request
from autograder.protocol.wire import Value

_GRADIENT = ".grad"


def about_parts(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    """Give what is true of the arrays of a result together."""
    if len(given) != len(wanted):
        return
    if all(name.endswith(_GRADIENT) for name in form.names):
        yield from _untrained(given, wanted, form)
    if len(wanted) > 1:
        yield from _exchanged(given, wanted, form)


def _untrained(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    names = [name.removesuffix(_GRADIENT) for name in form.names]
    empty = [
        name
        for name, part, whole in zip(names, given, wanted)
        if (part is None or (isinstance(part, np.ndarray) and not part.any())) and whole.any()
    ]
    if not empty:
        return
    others = [name for name in names if name not in empty]
    if others:
        fact = f"No gradient reaches {_listed(empty)}, but {_listed(others)} {_gets(others)}."
    else:
        fact = "No parameter gets a gradient."
    look = "Where is the way from the result back to these parameters cut?"
    yield Claim(f"untrained {' '.join(empty)}", fact, look)


def _gets(names: Sequence[str]) -> str:
    return "gets one" if len(names) == 1 else "get one"


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _exchanged(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    what = "the gradient of " if form.names[0].endswith(_GRADIENT) else ""
    names = [name.removesuffix(_GRADIENT) for name in form.names]
    holds = {
        place: next((other for other, whole in enumerate(wanted) if _same(part, whole, form)), None)
        for place, part in enumerate(given)
        if not _same(part, wanted[place], form)
    }
    for place, other in holds.items():
        if other is None:
            continue
        kind = f"exchanged {place} {other}"
        if holds.get(other) == place:
            fact = f"{_cased(what)}`{names[place]}` and {what}`{names[other]}` have changed places."
        else:
            fact = f"{_cased(what)}`{names[place]}` holds what is expected for `{names[other]}`."
        yield Claim(kind, fact, "In which order are they made, used and returned?")
        return


def about_reshaping(
    given: Sequence[Value],
    wanted: Sequence[np.ndarray],
    form: ResultSpec,
    request: Request | None,
) -> Iterator[Claim]:
    """Claim that results hold all numbers of an argument, one after the other as they came."""
    arrays = [part for part in given if isinstance(part, np.ndarray) and part.dtype.kind == "f"]
    if request is None or request.method is not None or len(arrays) != len(form.names):
        return
    if any(each.shape != arrays[0].shape for each in arrays) or not arrays[0].size:
        return
    for number, value in enumerate(request.arguments, start=1):
        # Where what is expected has them in this order too, nothing was to change places.
        seen = isinstance(value, np.ndarray) and not _in_one_piece(wanted, value)
        if seen and _in_one_piece(arrays, value):
            yield _reshaped_only(number, value, arrays[0], wanted[0], len(arrays))
            return


def _reshaped_only(
    number: int, whole: np.ndarray, part: np.ndarray, wanted: np.ndarray, count: int
) -> Claim:
    whose = "your results together" if count > 1 else "your result"
    fact = (
        f"The numbers of argument number {number} stand in {whose} in the order in which they "
        "came: no axis has changed places with another."
    )
    if wanted.ndim < whole.ndim:
        look = "Which axes become one, and which have to change places before?"
    else:
        look = "Which axis should be cut, and which axes have to change places afterwards?"
    if part.shape != wanted.shape:
        return Claim("reshaped only", f"{fact} {look}", leads=False)
    return Claim("reshaped only", fact, look)


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


def _cased(words: str) -> str:
    return words[:1].upper() + words[1:]


def _same(part: Value, whole: np.ndarray, form: ResultSpec) -> bool:
    if not isinstance(part, np.ndarray) or part.dtype.kind != "f" or part.shape != whole.shape:
        return False
    if whole.size < 2 or np.ptp(whole) == 0:
        return False
    return bool(agree(part, whole, form.precision).all())


def about_type(value: Value, form: ResultSpec) -> Iterator[Claim]:
    """Give what is true of a result whose numbers are complex."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "c":
        return
    real = not value.imag.any()
    tail = " Their imaginary part is 0 everywhere." if real else ""
    yield Claim(
        "complex",
        f"It returns complex numbers, but real ones are expected.{tail}",
        "Which line turns real numbers into complex ones? A root of a negative number can do that.",
    )

"""Claims about several arrays at once: exchanged ones, and gradients that do not arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder.judging.compare import ResultSpec, agree
from autograder.model.claim import Claim
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

"""Claims about results that are still joined: all of them in one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder.judging.compare import ResultSpec, agree
from autograder.judging.value_words import axis_words
from autograder.model.claim import Claim
from autograder.protocol.wire import Value


def about_joined(
    given: Sequence[Value], wanted: Sequence[np.ndarray], form: ResultSpec
) -> Iterator[Claim]:
    """Claim that the first array that came back holds all results side by side, or a part of it."""
    first = given[0] if given else None
    if len(wanted) < 2 or not isinstance(first, np.ndarray) or first.dtype.kind != "f":
        return
    shape = wanted[0].shape
    alike = all(part.shape == shape for part in wanted)
    if not alike or first.shape == shape or not first.size:
        return
    subject = f"`{form.names[0]}`" if len(given) > 1 else f"Your {form.noun}"
    if len(given) == 1:
        yield from _one_after_the_other(first, wanted, subject, form)
    if first.ndim != len(shape):
        return
    for axis in reversed(range(len(shape))):
        whole = np.concatenate(wanted, axis)
        claim = _held(first, whole, axis, subject, form)
        if claim:
            yield claim
            return


def _one_after_the_other(
    array: np.ndarray, wanted: Sequence[np.ndarray], subject: str, form: ResultSpec
) -> Iterator[Claim]:
    """Claim that the entries of an array along one axis are the results."""
    for axis in range(wanted[0].ndim + 1):
        if _same(array, np.stack(wanted, axis), form):
            fact = f"{subject} holds what is expected for {_listed(form.names)} along axis {axis}."
            look = "Where does it come apart into these?"
            yield Claim("joined", f"{fact} {look}", leads=False)
            return


def _held(
    array: np.ndarray, whole: np.ndarray, axis: int, subject: str, form: ResultSpec
) -> Claim | None:
    """Claim that an array is `whole`, which is joined along an axis, or its first entries."""
    place = axis_words(axis, form.axes[0], whole.ndim)
    parts = _listed(form.names)
    fact = f"{subject} holds what is expected for {parts}, side by side along {place}"
    if _same(array, whole, form):
        look = "Where does it come apart into these?"
        return Claim("joined", f"{fact}. {look}", leads=False)
    differ = [n for n, size in enumerate(whole.shape) if array.shape[n] != size]
    if len(differ) != 1 or differ[0] == axis or array.shape[differ[0]] > whole.shape[differ[0]]:
        return None
    (cut,) = differ
    count = array.shape[cut]
    if not _same(array, whole.take(range(count), axis=cut), form):
        return None
    entries = "only entry 0" if count == 1 else f"only the entries 0 to {count - 1}"
    where = axis_words(cut, form.axes[0], whole.ndim)
    look = "Along which axis should they come apart?"
    return Claim("joined", f"{fact}. But it has {entries} along {where}. {look}", leads=False)


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _same(array: np.ndarray, whole: np.ndarray, form: ResultSpec) -> bool:
    if array.shape != whole.shape or np.ptp(whole) == 0:
        return False
    return bool(agree(array, whole, form.precision).all())

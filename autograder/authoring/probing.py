"""Probes: questions on which a mutant may differ from the reference.

They are made from what the checks of the step ask, so an exercise needs no probes of its own.
"""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

from autograder.checks.marks import Draw
from autograder.checks.properties import Sizes
from autograder.checks.reference import Reference
from autograder.checks.varied_request import UNFIT, parameters, questions_of
from autograder.judging.time_limit import limited
from autograder.values.request import Request
from autograder.worker import arrays
from autograder.worker.wire import Value

# Running code that may print, warn or switch something off for everybody, without a trace.


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Print nothing and warn of nothing."""
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def quiet_run(library: str, seconds: float = 0, seed: int = 0) -> Iterator[None]:
    """Run the body without a trace; what it draws is the same every time.

    A line in the place of another may never end: `StillRunning` is raised after `seconds`, if any.
    """
    with quiet():
        arrays.seed(seed)
        try:
            with limited(seconds, _tell) if seconds else contextlib.nullcontext():
                yield
        finally:
            enable_gradients(library)


def _tell(frame: FrameType, seconds: float) -> None:
    place = "".join(traceback.format_stack(frame)[-1:])
    print(f"still running, and catches every attempt to stop it:\n{place}", file=sys.stderr)


def defined(names: Mapping[str, Any], code: str | CodeType) -> dict[str, Any]:
    """Return a namespace of `names` in which `code` has run; raises what the code raises."""
    namespace = dict(names)
    exec(code, namespace)
    return namespace


def gradients_enabled(library: str) -> bool:
    """Say whether gradients are recorded, which code may switch off for everybody."""
    if library != "torch":
        return True
    import torch

    return torch.is_grad_enabled()


def enable_gradients(library: str) -> None:
    """Record gradients again."""
    if library == "torch":
        import torch

        torch.set_grad_enabled(True)


# What the checks of a step ask: their own requests, captured while the reference answers.


def questions(
    reference: Reference,
    checks: Iterable[pytest.Function],
    sizes: Sizes | None = None,
    seed: int | None = None,
) -> tuple[Request, ...]:
    """Return the different requests that checks make, with these sizes of the axes.

    A check that cannot be asked so, because it is made for sizes of its own, asks nothing.
    """
    found: dict[bytes, Request] = {}
    for check in checks:
        chosen = {**parameters(check).get("draw", {}), **(sizes or {})}
        draw = Draw.hidden(reference.exercise, check.name, chosen, seed)
        with quiet(), contextlib.suppress(*UNFIT):
            asked = [each for each in questions_of(check, reference, draw) if each.expectation]
            found |= {each.request.key: each.request for each in asked}
    return tuple(found.values())


def sizes_asked(reference: Reference, checks: Iterable[pytest.Function]) -> tuple[Sizes, ...]:
    """Return the sizes that the checks of a step use, and those of the exercise, first."""
    grading = reference.exercise.grading
    drawn = [{**grading.sizes, **parameters(check).get("draw", {})} for check in checks]
    return (grading.sizes, {**grading.sizes, **grading.public_sizes}, *drawn)


# Sizes of the axes that fit together, beside those that the checks use.

LARGER = (3, 7, 5, 11)
WIDE = 32


def fitting_sizes(known: Sequence[Sizes]) -> tuple[dict[str, int], ...]:
    """Return other sizes for the axes of `known`, in which the same axes are products of others.

    Each free axis is 1 once, then all of them; all are 3 and all are 4, where square sizes may
    hide a mistake; and they are larger than in the checks.
    """
    # An axis of size 0 says nothing about the others: nothing times any size is nothing.
    filled = [sizes for sizes in known if all(sizes.values())]
    base = dict((filled or known)[0])
    products = _products([sizes for sizes in filled if set(sizes) == set(base)])
    free = [axis for axis in base if axis not in products]
    chosen: list[dict[str, int]] = [{axis: 1} for axis in free]
    chosen += [dict.fromkeys(free, size) for size in (1, 3, 4)]
    chosen.append(dict(zip(free, LARGER)))
    chosen.append({free[-1]: WIDE} if free else {})
    return tuple(_completed({**base, **sizes}, products) for sizes in chosen)


def _products(known: Iterable[Sizes]) -> dict[str, tuple[tuple[str, ...], int]]:
    """Return the axes that are the product of two others, or a multiple of one, in all of `known`.

    Each has those axes and a factor, as in C = heads * head_dim, or C = 4 * head_dim.
    """
    known = list(known)
    found: dict[str, tuple[tuple[str, ...], int]] = {}
    axes = list(known[0]) if known else []
    for axis in axes:
        others = [
            other for other in axes if other != axis and axis not in found.get(other, ((),))[0]
        ]
        for parts in [*combinations(others, 2), *((each,) for each in others)]:
            factors = {sizes[axis] / prod(sizes[part] for part in parts) for sizes in known}
            factor = factors.pop()
            whole = factor == int(factor) and (factor > 1 if len(parts) == 1 else factor == 1)
            if not factors and whole and len(known) > 1:
                found[axis] = (parts, int(factor))
                break
    return found


def _completed(
    sizes: dict[str, int], products: Mapping[str, tuple[tuple[str, ...], int]]
) -> dict[str, int]:
    for axis, (parts, factor) in products.items():
        sizes[axis] = factor * prod(sizes[part] for part in parts)
    return sizes


ArrayChange = Callable[[np.ndarray], np.ndarray]
OTHER_SEED, SIZED_SEED = 7, 11
LARGE = 1e4
DTYPES = {"torch": ("float64", "bfloat16", "float16"), "numpy": ("float32",)}


@dataclass(frozen=True)
class Probe:
    """A request, how it is put, and what it looks at, in words (`aspect`, then more exactly).

    strided: arrays are not contiguous. gradient: gradients of every input and parameter are
    looked at. first: what the same function, or the same instance, is asked before. twice: two
    draws are compared.
    """

    aspect: str
    label: str
    request: Request
    strided: bool = False
    gradient: bool = False
    first: Request | None = None
    twice: bool = False


def probes_of(
    reference: Reference, checks: Iterable[pytest.Function], step: str
) -> tuple[Probe, ...]:
    """Return the probes of a step, the plainest first."""
    checks = tuple(checks)
    asked = questions(reference, checks)
    again = questions(reference, checks, seed=OTHER_SEED)
    found = [Probe("values", "inputs like those of the checks", each) for each in (*asked, *again)]
    sized: list[Request] = []
    for sizes in fitting_sizes(sizes_asked(reference, checks)):
        aspect = "axes of size 1" if 1 in sizes.values() else "other sizes"
        label = ", ".join(f"{axis}={size}" for axis, size in sizes.items())
        for request in questions(reference, checks, sizes, SIZED_SEED):
            found.append(Probe(aspect, label, request))
            sized.append(request)
    random = reference.exercise.step(step).random
    for request in _kinds(asked):
        if random or request.read:
            found.append(Probe("two draws", "one after the other", request, twice=True))
        if not request.read:
            found += _variations(request, reference.exercise.library, random, sized)
    return tuple(found)


def _kinds(requests: Iterable[Request]) -> Iterator[Request]:
    """Give the first request of each kind, apart from its numbers."""
    seen = set()
    for request in requests:
        kind = (
            request.method,
            request.calls,
            request.before,
            request.read,
            tuple(request.keywords),
            request.dtype,
            len(request.arguments),
        )
        if kind not in seen and not request.dtype:
            seen.add(kind)
            yield request


def _variations(
    request: Request, library: str, random: bool, sized: Iterable[Request]
) -> Iterator[Probe]:
    yield Probe("memory layout", "arrays that are not contiguous", request, strided=True)
    if library == "torch" and not random and request.backward is None:
        yield Probe("gradients", "of every input and parameter", request, gradient=True)
        yield Probe(
            "gradients", "of inputs 30 times as large", _changed(request, _times(30)), gradient=True
        )
    other = _changed(request, lambda array: (0.5 * array[::-1]).astype(array.dtype))
    yield Probe("calls before", "other inputs first", request, first=other)
    yield Probe("calls before", "the same inputs first", request, first=request)
    if request.method is None:
        for each in sized:
            if each.arguments and each.method is None and each.key != request.key:
                yield Probe("calls before", "another size first", request, first=each)
                break
    elif library == "torch":
        for mode in ("train", "eval"):
            yield Probe("train and eval", mode, replace(request, before=(mode,)))
    for label, change in _VALUES.items():
        yield Probe("large and small values", label, _changed(request, change))
    yield from _masks(request)
    for dtype in DTYPES[library]:
        yield Probe("dtypes", dtype, _cast(request, dtype, library))


def _times(factor: float) -> ArrayChange:
    def times(array: np.ndarray) -> np.ndarray:
        return np.asarray(factor * array, array.dtype)

    return times


def _large_within_a_row(array: np.ndarray) -> np.ndarray:
    signs = (-1.0) ** np.arange(array.shape[-1])
    return np.asarray(array + LARGE * signs, array.dtype)


def _large_row_by_row(array: np.ndarray) -> np.ndarray:
    signs = (-1.0) ** np.arange(array.shape[-2])[:, None] if array.ndim > 1 else 1.0
    return (array + LARGE * signs).astype(array.dtype)


_VALUES: dict[str, ArrayChange] = {
    "a thousandth": _times(1e-3),
    "30 times as large": _times(30),
    "all 0": _times(0),
    "all 1": lambda array: np.ones_like(array),
    "1e4 and -1e4 within each row": _large_within_a_row,
    "1e4 and -1e4 row by row": _large_row_by_row,
    "1e4 added": lambda array: (array + LARGE).astype(array.dtype),
    "1e5 taken away": lambda array: (array - 10 * LARGE).astype(array.dtype),
}


def _changed(request: Request, change: ArrayChange) -> Request:
    """Return the request with its first array changed, which is the data; parameters stay."""
    given = request.arguments if request.method is None else request.method_arguments
    first = given[0] if given else None
    if not isinstance(first, np.ndarray) or first.dtype.kind != "f" or not first.ndim:
        return request
    arguments = (change(first), *given[1:])
    if request.method is None:
        return replace(request, arguments=arguments)
    return replace(request, method_arguments=arguments)


def _masks(request: Request) -> Iterator[Probe]:
    """Probes with other masks, when the second argument is one: only 0 and 1."""
    given = request.arguments
    if request.method is not None or len(given) < 2 or not isinstance(given[1], np.ndarray):
        return
    mask = given[1]
    if not np.isin(mask, (0, 1)).all():
        return
    drawn = np.random.default_rng(3).integers(2, size=mask.shape).astype(mask.dtype)
    for label, other in {"all 1": np.ones_like(mask), "at random": drawn}.items():
        yield Probe("masks", label, replace(request, arguments=(given[0], other, *given[2:])))
    for dtype in ("bool", "int64", "float32", "int8"):
        arguments = (given[0], mask.astype(dtype), *given[2:])
        yield Probe("masks", f"of {dtype}", replace(request, arguments=arguments))


def _cast(request: Request, dtype: str, library: str) -> Request:
    if library == "torch":
        return replace(request, dtype=dtype)

    def cast(value: Value) -> Value:
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            return np.asarray(value, dtype)
        return value

    return replace(
        request,
        arguments=tuple(map(cast, request.arguments)),
        method_arguments=tuple(map(cast, request.method_arguments)),
        attributes={name: cast(value) for name, value in request.attributes.items()},
    )

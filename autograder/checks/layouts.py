"""What each step gets when the reference's own layer calls it, and how that lies in memory.

A transpose moves nothing in memory. So what a step gets in the layer may lie in another order than
its axes are counted, and code that relies on the order works alone but not in the layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.judging.inprocess import round_tripped
from autograder.model.request import Request
from autograder.protocol.wire import Value

Layouts = tuple[tuple[int, ...] | None, ...]


def layouts_in(reference: Reference, requests: Iterable[Request]) -> Mapping[str, Layouts]:
    """Return for each step the order of its arguments' axes in memory, outermost first.

    requests: calls of the layer. An argument that lies in the usual order has None, and a step
    whose arguments all do is left out.
    """
    found: dict[str, Layouts] = {}

    def note(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        layouts = tuple(map(_order, arguments))
        if any(layouts):
            found.setdefault(name, layouts)

    _watch(reference, requests, note)
    return found


def calls_in(reference: Reference, request: Request) -> tuple[Request, ...]:
    """Return the calls of steps in one call of the layer, those of a step by another among them."""
    found: list[Request] = []

    def plain(value: Any) -> Value:
        return round_tripped(value, reference.exercise.library)

    def note(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        if reference.exercise.step(name).random:
            return
        given, layouts = tuple(map(plain, arguments)), tuple(map(_order, arguments))
        named = {key: plain(value) for key, value in keywords.items()}
        used = layouts if any(layouts) else ()
        found.append(Request(name, given, named, dtype=request.dtype, layouts=used))

    _watch(reference, [request.alone], note)
    return tuple(found)


def _watch(
    reference: Reference,
    requests: Iterable[Request],
    note: Callable[[str, tuple[Any, ...], Mapping[str, Any]], None],
) -> None:
    """Have `note` see every call of a step while the reference answers `requests`."""

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **keywords: Any) -> Any:
            note(name, arguments, keywords)
            return function(*arguments, **keywords)

        return called

    noting = {name: noted(name, function) for name, function in reference.functions.items()}
    with reference.replaced(noting):
        for request in requests:
            reference.ask(request)


def _order(value: Any) -> tuple[int, ...] | None:
    """The axes of an array or tensor in the order of memory; None where that is their own."""
    if isinstance(value, np.ndarray):
        strides: tuple[int, ...] = value.strides
    elif hasattr(value, "stride"):
        strides = value.stride()
    else:
        return None
    order = tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))
    return None if 0 in strides or order == tuple(range(len(strides))) else order

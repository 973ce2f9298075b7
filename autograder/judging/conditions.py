"""The conditions under which a call is asked about: earlier calls, layout, gradients, precision.

A question is put under several conditions at once, since that takes one call. When the answer is
wrong, the same is asked under one condition at a time, to say which of them matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from autograder.judging.diagnosis import told_by_cause
from autograder.judging.expectation import Agrees, Expectation
from autograder.model.request import Request
from autograder.model.verdict import Finding
from autograder.protocol.wire import Value, arrays_in

# Begins the names of the checks that every step is held to. They are asked once the author's own
# checks of the step pass, since until then there is something more basic to look at.
STANDING = "standing_"

Judge = Callable[[Request, Expectation], Finding | None]

# The fields of a request that set a condition, as they are when they set none, in the order in
# which the conditions are tried.
_NONE = {
    "dtype": "",
    "before": (),
    "earlier": (),
    "layouts": (),
    "recording": True,
    "backward": None,
}


@dataclass(frozen=True)
class _Words:
    """What to say about a condition under which alone the answer is wrong."""

    fact: str
    look: str = ""


_WORDS = {
    "earlier": _Words(
        "Called once, your code gives what is expected; called again with other inputs, it does "
        "not.",
        "What does it keep from one call to the next, or change that the next call uses?",
    ),
    "layouts": _Words(
        "With an input whose numbers lie in another order in memory, as in the layer, the answer "
        "is not as expected.",
        "Which line relies on the order in memory?",
    ),
    "recording": _Words(
        "Where PyTorch records no gradients, as inside `torch.no_grad()`, the answer is not as "
        "expected; where it records them, it is right.",
        "Which of your lines depend on whether gradients are recorded?",
    ),
    "before": _Words(
        "After `eval()`, the layer gives other numbers than in training.",
        "Which of its lines depend on the mode? Nothing in this layer does.",
    ),
    "single": _Words(
        "Where an axis has a single entry, as here, the answer is not as expected.",
        "Which line goes another way then, or loses that axis?",
    ),
    "together": _Words(
        "Each of these is right by itself, but not all at once: a later call, another order in "
        "memory, a backward pass.",
        "What does your code keep from an earlier call?",
    ),
}


def conditions_of(request: Request) -> tuple[str, ...]:
    """Return the names of the conditions that a request sets."""
    return tuple(name for name, none in _NONE.items() if not _is_none(getattr(request, name), none))


def _is_none(setting: object, none: object) -> bool:
    return setting is none or (none is not None and setting == none)


def explained(
    finding: Finding, request: Request, expectation: Expectation, judge: Judge
) -> Finding:
    """Say which condition of a question makes its answer wrong.

    `judge` asks and judges a question. A finding that names a known mistake stays as it is, and so
    does one on a question without conditions.
    """
    names = () if request.read else conditions_of(request)
    if not names or finding.misconception or not isinstance(expectation, Agrees):
        return finding
    for name, single, expected in _one_at_a_time(request, expectation, names):
        found = judge(single, expected)
        if found:
            alone = not name and found.vague and _has_single_entries(request)
            return _worded(found, "single" if alone else name)
    return _worded(finding, "together" if len(names) > 1 else names[0])


def _one_at_a_time(
    request: Request, expectation: Agrees, names: tuple[str, ...]
) -> Iterator[tuple[str, Request, Agrees]]:
    """Give the question under no condition, then under each of several alone."""
    for name in ("", *(names if len(names) > 1 else ())):
        off = {other: none for other, none in _NONE.items() if other != name}
        single = replace(request, **off)  # type: ignore[arg-type]
        yield name, single, expectation if name == "dtype" else _uncast(expectation, request)


def _has_single_entries(request: Request) -> bool:
    given = arrays_in((*request.arguments, *request.method_arguments))
    return any(1 in array.shape for array in given)


def _uncast(expectation: Agrees, request: Request) -> Agrees:
    """Return what is expected where the inputs are not cast: their own dtype is asked for."""
    given = arrays_in((*request.arguments, *request.method_arguments))
    own = next((array.dtype for array in given if array.dtype.kind == "f"), None)
    form = replace(expectation.form, precision="")
    if own is None or not request.dtype:
        return replace(expectation, form=form)
    gradients = tuple(_cast(gradient, own) for gradient in expectation.gradients)
    return replace(
        expectation, expected=_cast(expectation.expected, own), form=form, gradients=gradients
    )


def _cast(value: Value, dtype: np.dtype) -> Value:
    if isinstance(value, tuple):
        return tuple(_cast(part, dtype) for part in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(dtype)
    return value


def _worded(finding: Finding, name: str) -> Finding:
    words = _WORDS.get(name)
    if words is None or finding.misconception:
        return finding
    return told_by_cause(finding, words.fact, words.look)

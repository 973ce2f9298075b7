"""A mask of 1 and 0 that a step gets which takes only booleans."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.judging.layer_calls import LayerCall
from autograder.judging.value_origin import gives
from autograder.protocol.wire import Value

INVERT = {
    "i": "`~` is no “not” for whole numbers: it makes -2 of 1, and -1 of 0.",
    "u": "`~` is no “not” for whole numbers: it turns every bit over.",
    "f": "`~` is not defined for floats.",
}


def with_booleans(function: Callable[..., Any], *given: Any) -> Any:
    """Call a step with booleans in place of masks of numbers."""
    return function(*(_as_boolean(each) if _is_mask(each) else each for each in given))


def mask_words(own: LayerCall, calls: Sequence[LayerCall], function: Any) -> tuple[str, str] | None:
    """Return the words for a call that is right as soon as its mask is of booleans.

    `calls` are all of the layer's, `function` is the step. None where no mask of numbers is given.
    """
    masks = ((each, name) for each, name in zip(own.arguments, own.names) if is_number_mask(each))
    mask, name = next(masks, (None, ""))
    if not isinstance(mask, np.ndarray):
        return None
    maker = next((call.step for call in calls if gives(call, mask)), "")
    from_maker = f", which your `{maker}` makes" if maker else ""
    fact = (
        f"In line {own.line}, `{own.step}` gets a `{name}` of {mask.dtype.name}{from_maker}. With "
        "one of bool, your layer gives what is expected."
    )
    inverts = INVERT.get(mask.dtype.kind, "") if _inverts(function) else ""
    return fact, inverts or f"What does `{own.step}` do with a mask of 1 and 0?"


def is_number_mask(value: Value) -> bool:
    """Say whether a value is an array that holds only 0 and 1, as numbers."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or not value.ndim:
        return False
    return bool(((value == 0) | (value == 1)).all())


def _is_mask(value: Any) -> bool:
    plain = value.detach().numpy() if hasattr(value, "detach") else value
    return is_number_mask(plain)


def _as_boolean(mask: Any) -> Any:
    return mask.astype(bool) if isinstance(mask, np.ndarray) else mask.bool()


def _inverts(function: Any) -> bool:
    """Say whether `~` stands in a function."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:
        return False
    return any(each.opname == "UNARY_INVERT" for each in dis.get_instructions(code))

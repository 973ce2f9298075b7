"""What a function takes and gives, by the names of the axes.

Every message with a shape names its axes, and the names stand in one place:
the jaxtyping annotations of the reference. They are read here in two ways,
from a live function (a check has one) and from its source (building has to
work on a machine without torch). jaxtyping itself is not imported.
"""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograder.errors import KitError

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Signature:
    """The axes of every parameter and of every returned array.

    Axes are written as jaxtyping writes them ("B S S"; "" is an array without
    axes) and are None for what is not an array. `returns` has one entry for one
    value, several for a tuple and none for a function that returns None.
    """

    parameters: tuple[tuple[str, str | None], ...]
    returns: tuple[str | None, ...]

    def text(self, name: str) -> str:
        """Return the signature as a person reads it: `softmax(scores: (B, S, S)) -> (B, S, S)`."""
        taken = ", ".join(
            parameter if axes is None else f"{parameter}: {shape_text(axes)}"
            for parameter, axes in self.parameters
        )
        if all(axes is None for axes in self.returns):
            return f"{name}({taken})"
        given = ", ".join("value" if axes is None else shape_text(axes) for axes in self.returns)
        return f"{name}({taken}) -> {given}"


def shape_text(axes: str) -> str:
    """Write axes as a shape: "B S S" is "(B, S, S)" and "D" is "(D,)"."""
    names = axes.split()
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def signature_of(function: Callable[..., Any]) -> Signature:
    """Read the signature of a live function, method or class (then of its `__init__`).

    `self` is left out. Raises `KitError` when an annotation cannot be evaluated.
    """
    name = getattr(function, "__qualname__", type(function).__name__)
    target = inspect.getattr_static(function, "__init__") if _is_class(function) else function
    try:
        names = list(inspect.signature(target).parameters)
        hints = typing.get_type_hints(target)
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise KitError(
            f"the annotations of {name} cannot be read: {error}",
            place=f"the line `def {name.rpartition('.')[2]}`",
            cure="write the signature as the exercise gives it, with its imports",
        ) from None
    returned = hints.get("return", Any)
    parts = typing.get_args(returned) if typing.get_origin(returned) is tuple else (returned,)
    return Signature(
        parameters=tuple((name, _axes_of(hints.get(name))) for name in names if name != "self"),
        returns=() if returned is type(None) else tuple(_axes_of(part) for part in parts),
    )


def _is_class(function: Callable[..., Any]) -> bool:
    return isinstance(function, type)


def _axes_of(annotation: object) -> str | None:
    """The axes of a live annotation; of a union when all of its arrays agree."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return _agreed(_axes_of(part) for part in typing.get_args(annotation))
    axes = getattr(annotation, "dim_str", None)
    return axes if isinstance(axes, str) else None


def _agreed(parts: typing.Iterable[str | None]) -> str | None:
    found = {axes for axes in parts if axes is not None}
    return found.pop() if len(found) == 1 else None


def signature_in(definition: Definition) -> Signature:
    """Read the signature of a function's source; nothing is run, `self` is left out."""
    arguments = definition.args
    everything = [*arguments.posonlyargs, *arguments.args]
    everything += [arguments.vararg] if arguments.vararg else []
    everything += arguments.kwonlyargs
    everything += [arguments.kwarg] if arguments.kwarg else []
    return Signature(
        parameters=tuple(
            (each.arg, _axes_in(each.annotation)) for each in everything if each.arg != "self"
        ),
        returns=_returns_in(definition.returns),
    )


def _returns_in(annotation: ast.expr | None) -> tuple[str | None, ...]:
    annotation = _unquoted(annotation)
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return ()
    if isinstance(annotation, ast.Subscript) and _last_name(annotation.value) in (
        "tuple",
        "Tuple",
    ):
        inside = annotation.slice
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        return tuple(_axes_in(part) for part in parts)
    return (_axes_in(annotation),)


def _axes_in(annotation: ast.expr | None) -> str | None:
    """The axes of an annotation's source, such as `Float[np.ndarray, "B S S"] | None`."""
    annotation = _unquoted(annotation)
    if isinstance(annotation, ast.BinOp):
        return _agreed(_axes_in(part) for part in (annotation.left, annotation.right))
    if not isinstance(annotation, ast.Subscript):
        return None
    inside = annotation.slice
    if _last_name(annotation.value) == "Optional":
        return _axes_in(inside)
    match inside:
        case ast.Tuple(elts=[_, ast.Constant(value=str(axes))]):
            return axes.strip()
    return None


def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]

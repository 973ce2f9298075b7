"""Do the axes in the reference's annotations hold for the arrays of a worked example?

Notebook, checklist and messages name axes as the annotations do, and nothing else would notice a
wrong letter. So while an example is recorded, each letter gets the size that it has in the first
array of the call, and must keep it in all others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.errors import KitError
from autograder.judging.compare import arrays_of
from autograder.judging.value_words import type_words
from autograder.model.exercise import SOLUTION
from autograder.model.request import Request, Returned
from autograder.model.signature import signature_of
from autograder.protocol.wire import Value


def refuse_wrong_axes(reference: Reference, request: Request, reply: Returned) -> None:
    """Raise `KitError` when an array of a request or of its reply contradicts an annotation."""
    place = str(reference.exercise.folder / SOLUTION)
    target = getattr(reference.module, request.target)
    called, name = target, request.target
    if request.method is not None:
        _Sizes(f"{name}.__init__", place).bind(target, request.arguments, {})
    if request.method:
        called, name = getattr(target, request.method), f"{name}.{request.method}"
    sizes = _Sizes(name, place)
    if request.method:
        sizes.bind(called, (None, *request.method_arguments), request.keywords)
    elif request.method is None:
        sizes.bind(called, request.arguments, request.keywords)
    if request.method != "" and not request.read:
        sizes.hold_in_results(called, reply.value, reference.form(request.target, request.method))


@dataclass
class _Sizes:
    """The size of each axis in one call of `function`, and the array that it was first seen in."""

    function: str
    place: str
    first: dict[str, tuple[int, str]] = field(default_factory=dict)

    def bind(self, called: Callable[..., Any], arguments: tuple[Value, ...], keywords: Any) -> None:
        """Give every letter of the parameters its size."""
        axes = dict(signature_of(called).parameters)
        given = inspect.signature(called).bind(*arguments, **keywords).arguments
        for parameter, value in given.items():
            if isinstance(value, np.ndarray):
                self._hold(f"the parameter {parameter}", value, axes.get(parameter))

    def hold_in_results(self, called: Callable[..., Any], value: Value, form: Any) -> None:
        """Hold the results to the sizes of the parameters."""
        axes = signature_of(called).returns
        parts = arrays_of(value, form)
        if len(parts) != len(axes) or (len(axes) == 1 and isinstance(value, tuple)):
            count = len(value) if isinstance(value, tuple) else 1
            raise self._wrong(
                f"{self.function} returns {count} values ({type_words(value)}), but its "
                f"annotation has {len(axes)}",
                "write the annotation of every result, as tuple[..., ...] if there are several",
            )
        for name, part, letters in zip(form.names, parts, axes):
            if isinstance(part, np.ndarray):
                self._hold(name if "result" in name else f"the result {name}", part, letters)
            elif letters:
                raise self._wrong(
                    f"{self.function}, {name}: the annotation is an array of axes {letters!r}, "
                    f"but what is returned is {type_words(part)}",
                    "correct the annotation, or what is returned",
                )

    def _hold(self, what: str, array: np.ndarray, axes: str | None) -> None:
        if axes is None:
            return
        letters = axes.split()
        if (pairs := _paired(letters, array.shape)) is None:
            raise self._wrong(
                f"{self.function}, {what}: the annotation has the axes {axes!r}, but the array has "
                f"the shape {array.shape}",
                "name every axis in the annotation, or correct the check's inputs",
            )
        for letter, size in pairs:
            known, where = self.first.setdefault(letter, (size, what))
            if known != size:
                raise self._wrong(
                    f"{self.function}, {what}: the axis {letter} has the size {size} here, but "
                    f"{known} in {where}",
                    "correct the letters in the annotation, or the sizes in the check",
                )

    def _wrong(self, fact: str, cure: str) -> KitError:
        return KitError(fact, place=self.place, cure=cure)


def _paired(letters: list[str], shape: tuple[int, ...]) -> list[tuple[str, int]] | None:
    """Return every named axis with its size, or None when there are more or fewer axes.

    "..." and "*batch" stand for any number of axes; "_" has no name, and "#S" may be 1.
    """
    variadic = [at for at, letter in enumerate(letters) if letter.startswith(("*", "..."))]
    if variadic:
        after = len(letters) - variadic[0] - 1
        if len(shape) < len(letters) - 1:
            return None
        letters = [*letters[: variadic[0]], *letters[variadic[0] + 1 :]]
        shape = (*shape[: variadic[0]], *shape[len(shape) - after :])
    if len(letters) != len(shape):
        return None
    return list(_named(letters, shape))


def _named(letters: list[str], shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    for letter, size in zip(letters, shape):
        name = letter.rpartition("=")[2] if "=" in letter else letter
        if name.startswith("#"):
            if size != 1:
                yield name[1:], size
        elif name.isdecimal():
            yield from ((name, int(name)), (name, size))  # an axis that is called by its size
        elif not name.startswith("_"):
            yield name, size

"""Answers for a student's code that calls an earlier step: the reference's, or none.

The arguments come from untrusted code. What is computed from them is bounded before it
is computed, in the trusted process.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from autograder.checks.reference import Reference
from autograder.judging.compare import whole_number, with_arrays
from autograder.values.exercise import GRADERS, SOLUTION, shared_code, signature_of
from autograder.values.request import Request
from autograder.worker.arrays import Generators, held, to_library
from autograder.worker.call import result_of, weighted_sum
from autograder.worker.wire import Linear, Seed, Value, arrays_in, copied, round_tripped

# The numbers and texts that an author wrote into an exercise's own code.
#
# What a student's code passes on to a step is bounded. A base of 10000, a floor of -1e9 or a
# formula for einsum is beyond those bounds, but no surprise where the author wrote it.

LONGEST_TEXT = 64


@cache
def written_values(folder: Path) -> frozenset[float | str]:
    """Return the numbers and short texts in the reference, its checks and what they share."""
    folder = folder.resolve()
    paths = [folder / SOLUTION, folder / GRADERS, *shared_code(folder)]
    return frozenset(value for path in paths for value in _values(path.read_text("utf-8")))


def _values(text: str) -> Iterator[float | str]:
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, int | float):
            yield from (value, -value)
        elif isinstance(value, str) and len(value) <= LONGEST_TEXT:
            yield value


# Whether a call by untrusted code fits a step of the reference, and is small enough to answer.
#
# Arrays with named axes fit axis by axis. All else that can cross the wire may be passed on too:
# numbers, text, None, tuples, seeds, layers, and arrays whose axes nobody named. Each kind has a
# bound, so that no call takes much work or memory in the trusted process. The sizes that checks
# ask with (see `sizes`) are far below it.

LARGEST_ARRAY = 1 << 20  # numbers in one array
LARGEST_AXIS = 2_048
LARGEST_NUMBER = 2_048  # also the largest divisor: a number may be a size, or a step between two
# Of the sizes of all axes and of all numbers, times the largest of them: what a result with one of
# the axes twice has, as scores do.
MOST_WORK = 1 << 25
# Of the numbers in two arrays without named axes, which may be broadcast; of one, in itself.
MOST_BROADCAST = 1 << 25
MOST_ITEMS = 64  # in all tuples together

FittingCall = tuple[tuple[Value, ...], dict[str, Value]]


def fitting_call(
    function: Callable[..., Any],
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    written: frozenset[float | str],
) -> FittingCall | None:
    """Return the arguments and keywords to call `function` with, or None if they do not fit.

    A whole number that crossed as an array of shape () is a number in them. `written` holds what
    the author wrote, which fits however large it is.
    """
    arguments = tuple(map(whole_number, arguments))
    keywords = {name: whole_number(value) for name, value in keywords.items()}
    taken = _taken(function)
    if taken is None:
        return None
    signature, axes = taken
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError:
        return None
    fit = _Fit(written)
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        several = kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        values = value.values() if isinstance(value, dict) else value
        if not all(fit.takes(each, axes.get(name)) for each in (values if several else (value,))):
            return None
    return (arguments, keywords) if fit.is_little_work else None


@lru_cache(maxsize=256)  # known mistakes stand in for steps, one after the other
def _taken(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, str | None]] | None:
    """Return how a function is called, and the axes of what it takes; None where it cannot be."""
    try:
        signature = inspect.signature(function)
    except TypeError:
        return None
    return signature, dict(signature_of(function).parameters)


@dataclass
class _Fit:
    """The sizes of the axes of one call, and how much of what is bounded is used up."""

    written: frozenset[float | str]
    sizes: dict[str, int] = field(default_factory=dict)
    numbers: set[float] = field(default_factory=set)
    unnamed: int = 1  # numbers in the largest array without named axes
    items: int = 0

    @property
    def is_little_work(self) -> bool:
        """Whether a result that has each axis, and one of them twice, is small."""
        counted: list[float] = [size for size in self.sizes.values() if size > 1]
        counted += [size for size in self.numbers if size not in counted]
        return math.prod(counted) * max(counted, default=1) <= MOST_WORK

    def takes(self, value: Value, axes: str | None) -> bool:
        """Whether a value fits a parameter with these axes; None where it has none."""
        if value is None or axes is None or not _are_named(axes):
            return self._is_small(value)
        letters = axes.split()
        if not isinstance(value, np.ndarray):
            # What the reference takes for an array without axes may be a plain number.
            return not letters and type(value) in (bool, int, float) and self._is_small(value)
        if value.ndim != len(letters) or not _is_small_array(value):
            return False
        return all(
            self.sizes.setdefault(letter, size) == size
            for letter, size in zip(letters, value.shape)
        )

    def _is_small(self, value: Value) -> bool:
        if value is None or type(value) is bool or isinstance(value, Seed):
            return True
        if type(value) in (int, float):
            return value in self.written or self._is_small_number(value)
        if type(value) is str:
            plain = value.isidentifier() and len(value) <= LONGEST_TEXT
            return plain or value in self.written
        if isinstance(value, np.ndarray):
            return _is_small_array(value) and self._is_little_unnamed(value)
        if isinstance(value, tuple):
            return self._are_small(value)
        return isinstance(value, Linear) and _is_small_layer(value)

    def _is_small_number(self, value: float) -> bool:
        if value == 0 or not math.isfinite(value):  # no size, so nothing is made of it
            return True
        size = max(abs(value), 1 / abs(value))
        self.numbers.add(size)
        return size <= LARGEST_NUMBER

    def _is_little_unnamed(self, array: np.ndarray) -> bool:
        """Whether the array is small beside those before it, and beside itself along an axis."""
        most, self.unnamed = array.size * self.unnamed, max(array.size, self.unnamed)
        return max(most, array.size * max(array.shape, default=1)) <= MOST_BROADCAST

    def _are_small(self, values: Iterable[Value]) -> bool:
        for value in values:
            self.items += 1
            if self.items > MOST_ITEMS or not self._is_small(value):
                return False
        return True


def _are_named(axes: str) -> bool:
    """Whether every axis has a name of its own; "..." and "*batch" stand for any number."""
    return not any(letter.startswith(("*", "...")) for letter in axes.split())


def _is_small_array(array: np.ndarray) -> bool:
    small = array.size <= LARGEST_ARRAY and max(array.shape, default=1) <= LARGEST_AXIS
    return small and array.dtype.kind in "biuf"


def _is_small_layer(layer: Linear) -> bool:
    weight, bias = layer.weight, layer.bias
    if weight.dtype.kind != "f" or not _is_small_array(weight):
        return False
    return bias is None or (bias.dtype.kind == "f" and bias.shape == weight.shape[:1])


HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


def reference_answer(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...] = (),
) -> Value | None:
    """Answer a call that a student's code makes of an earlier step; None refuses it.

    Raises what the reference raises.

    With `cotangents` (PyTorch only) the answer is the gradients of the tensors among the
    arguments, given those of the results.

    The arguments come from untrusted code. So a call is answered only when it fits
    the reference's signature, axis by axis, and is small: the work and the memory it
    takes are bounded. Half precision, which no processor multiplies fast, is computed in
    single precision and answered in half.
    """
    function = getattr(reference.module, step)
    fitting = fitting_call(function, arguments, keywords, written_values(reference.exercise.folder))
    if fitting is None:
        return None
    arguments, keywords = fitting
    given = (arguments, tuple(keywords.values()), cotangents)
    dtypes = {array.dtype for array in arrays_in(given)}
    if {dtype for dtype in dtypes if dtype.kind == "f"} != {HALF}:
        return _answer(reference, step, arguments, keywords, cotangents)
    wide = with_arrays(given, partial(_cast, HALF, SINGLE))
    answer = _answer(reference, step, wide[0], dict(zip(keywords, wide[1])), wide[2])
    with np.errstate(over="ignore"):  # what is too large for half precision is infinite in it
        return with_arrays(answer, partial(_cast, SINGLE, HALF))


def _cast(source: np.dtype, target: np.dtype, array: np.ndarray) -> np.ndarray:
    return array.astype(target) if array.dtype == source else array


def unanswerable_steps(reference: Reference, request: Request) -> tuple[str, ...]:
    """Return the steps that the reference would not answer for while a class does `request`.

    Of a hand-in whose step is wrong, a later one could then lose points for it. Raises KitError.
    """
    written = written_values(reference.exercise.folder)
    found: list[str] = []

    def plain(value: Any) -> Value:  # of a generator, a worker hands over a seed
        generator = isinstance(value, np.random.Generator)
        return Seed(0) if generator else round_tripped(value, reference.exercise.library)

    def note(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        given, named = tuple(map(plain, arguments)), map(plain, keywords.values())
        if fitting_call(functions[name], given, dict(zip(keywords, named)), written) is None:
            found.append(name)

    functions = reference.functions
    reference.watched([request], note)
    return tuple(dict.fromkeys(found))


def _answer(
    reference: Reference,
    step: str,
    arguments: tuple[Value, ...],
    keywords: Mapping[str, Value],
    cotangents: tuple[Value, ...],
) -> Value | None:
    function, library = getattr(reference.module, step), reference.exercise.library
    if cotangents:
        return gradients(function, arguments, cotangents, keywords)
    generators = Generators()

    def own(value: Value) -> Any:
        return to_library(copied(value), library, generators=generators)

    given, named = list(map(own, arguments)), {name: own(each) for name, each in keywords.items()}
    with np.errstate(all="ignore"):
        return round_tripped(held(result_of(function, given, named)), library)


def gradients(
    function: Callable[..., Any],
    arguments: tuple[Value, ...],
    cotangents: tuple[Value, ...],
    keywords: Mapping[str, Value] | None = None,
) -> tuple[Value, ...]:
    """Return the gradients of the floating-point tensors in `arguments` and then in `keywords`.

    A layer's weight and bias are among them, and so is what a tuple holds. A tensor that no
    gradient reaches gets None. Raises ValueError when the cotangents do not fit the results of the
    function, and RuntimeError when no gradient passes through them.
    """
    import torch

    given = tuple(to_library(argument, "torch") for argument in arguments)
    named = {name: to_library(value, "torch") for name, value in (keywords or {}).items()}
    leaves = [leaf.requires_grad_() for leaf in _leaves((*given, *named.values()))]
    results = function(*given, **named)
    outputs = results if isinstance(results, tuple) else (results,)
    incoming = [to_library(cotangent, "torch") for cotangent in cotangents]
    # A result that no gradient reaches passes none on.
    reached = [pair for pair in zip(outputs, incoming, strict=True) if pair[1] is not None]
    if any(output.shape != arriving.shape for output, arriving in reached):
        raise ValueError("the gradients do not have the shapes of the results")
    if not any(output.requires_grad for output, _ in reached):
        raise RuntimeError("no gradient passes through the results")
    found = torch.autograd.grad(weighted_sum(reached), leaves, allow_unused=True)
    return tuple(round_tripped(gradient, "torch") for gradient in found)


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """Give the tensors that a gradient may reach, in the order in which the worker counts them."""
    import torch

    for value in values:
        if isinstance(value, torch.nn.Linear):
            yield from value.parameters()
        elif isinstance(value, tuple):
            yield from _leaves(value)
        elif isinstance(value, torch.Tensor) and value.is_floating_point():
            yield value

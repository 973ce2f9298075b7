"""Replies as no honest code gives them: every kind of value of the wire, and right ones spoiled.

`Liar` answers a grader's requests with them. Whatever it gives is wrong for every expectation but
one: two answers of the right form that differ are what `differs_from` asks for.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.checks.reference import Reference, load_module
from autograder.values.request import ExceptionReport, Failed, Reply, Request, Returned
from autograder.values.verdict import Outcome
from autograder.worker.wire import DTYPES, MAX_ITEMS, Linear, Opaque, Seed, Value

# Some of every kind of value that crosses.
ARRAYS = (
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array([True, False]),
    np.array(3.5),
    np.zeros((0, 4), dtype=np.int64),
    np.array([1 + 2j]),
)
PLAIN = (1, -0.0, float("inf"), True, None, "text", (1, (np.ones(2), "x")), Seed(7))
SHAPES = ((), (0,), (1,), (2, 5, 8), (3, 4), (1,) * 8, (0, 3, 0), (5, 5), (2, 4, 5, 6))
# What `is_refused` asks for; never given, since it would be right.
REFUSALS = ("AssertionError", "ValueError")
Random = np.random.Generator


def drawn(random: Random, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers as a dtype, some of them not finite where there is such a thing."""
    with np.errstate(all="ignore"):
        array = np.asarray(100 * random.standard_normal(shape)).astype(dtype)
    if dtype.kind in "fc" and array.size and random.random() < 0.3:
        array.flat[0] = random.choice([np.nan, np.inf, -np.inf])
    return array


def linear(random: Random) -> Linear:
    """A layer of any size and dtype, with a bias that need not fit."""
    dtype = DTYPES[str(random.choice(list(DTYPES)))]
    outputs, inputs, width = (int(random.integers(0, 7)) for _ in range(3))
    bias = None if random.random() < 0.3 else drawn(random, dtype, (width,))
    return Linear(drawn(random, dtype, (outputs, inputs)), bias)


def any_array(random: Random) -> np.ndarray:
    dtype = DTYPES[str(random.choice(list(DTYPES)))]
    return drawn(random, dtype, SHAPES[int(random.integers(len(SHAPES)))])


def any_plain(random: Random) -> Value:
    plain = (None, True, False, -1, (1 << 63) - 1, -7.5, float("nan"), float("inf"), "", "queries")
    odd = ("`" * 9, "{}\x1b[2J\n", Opaque("generator"), Opaque("dict"), Opaque(""), Seed(3), ())
    return (*plain, *odd)[int(random.integers(len(plain) + len(odd)))]


def any_value(random: Random, depth: int = 0) -> Value:
    """Any value that crosses the wire."""
    kinds: list[Callable[[Random], Value]] = [any_array, any_array, any_plain, linear]
    if depth < 3:
        kinds += [lambda more: any_items(more, depth), lambda more: any_items(more, depth)]
    return kinds[int(random.integers(len(kinds)))](random)


def any_items(random: Random, depth: int) -> tuple[Value, ...]:
    count = int(random.choice([0, 1, 2, 3, 4, MAX_ITEMS], p=[0.1, 0.2, 0.25, 0.2, 0.2, 0.05]))
    return tuple(any_value(random, depth + 1 if count < MAX_ITEMS else 3) for _ in range(count))


def spoiled(value: Value, random: Random) -> Value:
    """The value with one thing about it wrong, deep down where there is something deep down."""
    if random.random() < 0.25:
        return any_value(random)
    if isinstance(value, np.ndarray):
        return spoiled_array(value, random)
    if isinstance(value, Linear):
        return spoiled_linear(value, random)
    if isinstance(value, tuple) and value:
        place = int(random.integers(len(value)))
        changed = (*value[:place], spoiled(value[place], random), *value[place + 1 :])
        return (changed, value[1:], (*value, value[0]), (value,))[int(random.integers(4))]
    return any_value(random)


def spoiled_array(array: np.ndarray, random: Random) -> np.ndarray:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a complex array that becomes a real one
        wrong = [
            *((3 * array + 1).astype(dtype) for dtype in DTYPES.values()),
            np.full_like(array, np.nan, dtype=np.float32),
            np.full_like(array, -np.inf, dtype=np.float64),
            np.where(random.random(array.shape) < 0.5, array, 3 * array + 1 + (array == -0.5)),
            array[None],
            np.concatenate([array.ravel(), array.ravel()]),
            array[..., :0] if array.ndim else array.reshape(1),
        ]
    chosen = wrong[int(random.integers(len(wrong)))]
    same = chosen.shape == array.shape and np.array_equal(chosen, array)
    return np.asarray(3 * array + 1) if same else np.asarray(chosen)


def spoiled_linear(layer: Linear, random: Random) -> Linear:
    weight, bias = layer.weight, layer.bias
    narrow = np.zeros(max(0, weight.shape[0] - 1), weight.dtype)
    wrong = (
        Linear(weight[:, 1:], bias),
        Linear(weight.astype(np.int8), bias),
        Linear(weight.astype(np.complex128), bias),
        Linear(weight.astype(np.float16), bias),
        Linear(np.full_like(weight, np.nan), bias),
        Linear(weight, narrow),
        Linear(weight, weight[:, 0] if bias is None else None),
    )
    return wrong[int(random.integers(len(wrong)))]


def spoiled_attributes(reply: Returned, names: Sequence[str], random: Random) -> dict[str, Value]:
    """The attributes with one of them missing or wrong, and anything as the list of all."""
    found = dict(reply.attributes)
    one = str(random.choice([name for name in names if name != "*"]))
    if random.random() < 0.3:
        found.pop(one, None)
    else:
        found[one] = spoiled(found.get(one), random)
    if random.random() < 0.7:
        found["*"] = any_value(random)
    return found


def failed(random: Random) -> Failed:
    """An end of any kind but a fault of ours, with or without an exception."""
    outcomes = [one for one in Outcome if one is not Outcome.INFRASTRUCTURE]
    outcome = outcomes[int(random.integers(len(outcomes)))]
    kinds = ("KeyError", "RuntimeError", "é", "", *(REFUSALS if outcome != Outcome.RAISED else ()))
    messages = ("", "{0} %s", "name 'score' is not defined", "matmul: core dimension 0 (size")
    report = ExceptionReport(
        str(random.choice(kinds)), str(random.choice(messages)), int(random.integers(3)), "x = 1"
    )
    return Failed(outcome, exception=report if random.random() < 0.7 else None)


class Liar:
    """A `Respondent` that answers with a manner of lying; equal requests get equal lies."""

    def __init__(self, reference: Reference, manner: str, seed: int) -> None:
        folder = reference.exercise.folder.resolve()
        # A module of its own: the chain puts its steps into the reference's.
        own: Any = load_module(folder / "solution.py", "liar")
        self._reference = replace(reference, module=own)
        self._manner, self._seed = manner, seed

    def ask(self, request: Request, leaning_on: tuple[str, ...] = ()) -> Reply:
        """Answer `request` wrongly."""
        random = np.random.default_rng([self._seed, zlib.crc32(request.key)])
        if self._manner == "failed":
            return failed(random)
        right = self._reference.ask(request)
        if isinstance(right, Failed):
            right = Returned(None, attributes=dict.fromkeys(request.read))
        lie = any_value if self._manner == "any" else lambda more: spoiled(right.value, more)
        return Returned(
            lie(random),
            tuple(spoiled(argument, random) for argument in right.after),
            spoiled_attributes(right, request.read, random) if request.read else {},
        )

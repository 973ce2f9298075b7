"""What a probe shows of some code, as data, and in what two of these differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from autograder.authoring.probing import Probe, enable_gradients, gradients_enabled, quiet_run
from autograder.judging.compare import FLOOR, comparable, tolerance
from autograder.judging.inprocess import call_of
from autograder.values.exercise import RANDOM
from autograder.values.request import Request
from autograder.worker import arrays
from autograder.worker.call import Call, perform
from autograder.worker.wire import SEEDS, Linear, Seed, Value, copied, from_library

# What a probe shows of some code: results and everything that goes along with them, as data.


@dataclass(frozen=True)
class Observation:
    """What came of a probe; `error` is the type of the exception, and then nothing else is set.

    kinds: the types and dtypes of the result. gradients: of every input and parameter, None where
    none arrives. changed: the numbers of the arguments that were overwritten. enabled: whether
    gradients are still recorded afterwards. seeds: of which generators that all code shares a call
    sets the seed, which only a second call shows.
    """

    error: str = ""
    value: Value = None
    kinds: Any = None
    gradients: tuple[Value, ...] | None = None
    changed: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[Any, Value]] = field(default_factory=dict)
    enabled: bool = True
    seeds: tuple[str, ...] = ()


def observe(names: Mapping[str, Any], probe: Probe, library: str) -> Observation:
    """Put a probe to the code in a namespace; what the code raises is part of what is seen."""
    with quiet_run(library, seed=1):
        try:
            return _twice(names, probe, library) if probe.twice else _once(names, probe, library)
        except Exception as error:
            return Observation(error=type(error).__name__)


def _once(names: Mapping[str, Any], probe: Probe, library: str) -> Observation:
    request = probe.request
    target = names[request.target]
    if request.method is not None:  # one instance for everything that is asked
        made = target(*_live(request.arguments, "", library))
        instance, target = made, lambda *_: made
    else:
        instance = None
    if probe.first is not None:
        perform(target, _call(probe.first, library))
    call = _call(request, library, strided=probe.strided)
    leaves = _leaves(call) if probe.gradient else []
    performed = perform(target, call)
    enabled = gradients_enabled(library) and "set_grad_enabled" not in performed.observations
    enable_gradients(library)
    if probe.gradient and instance is not None:
        leaves += [each for _, each in sorted(instance.named_parameters())]
    given = request.call_arguments
    read = {
        name: (_kinds(value), _data(value, library))
        for name, value in performed.attributes.items()
        if name != "*"
    }
    return Observation(
        value=_data(performed.value, library),
        kinds=_kinds(performed.value),
        gradients=_gradients(performed.value, leaves, library) if probe.gradient else None,
        changed=_changed(given, performed.after, request.dtype, library),
        attributes=read,
        enabled=enabled,
        seeds=tuple(seed for seed in SEEDS if seed in performed.observations),
    )


def _twice(names: Mapping[str, Any], probe: Probe, library: str) -> Observation:
    """Draws from generators of two seeds, and of the first again: which parts are the same?"""
    request, drawn = probe.request, []
    for turn in (0, 1, 0):
        arguments = [
            Seed(value.seed + turn) if isinstance(value, Seed) else value
            for value in request.arguments
        ]
        made = names[request.target](*_live(arguments, "", library), **dict(request.keywords))
        read = [getattr(made, name, None) for name in request.read if name != "*"]
        drawn.append(_data(tuple(read) if request.read else made, library))
    parts = [one if isinstance(one, tuple) else (one,) for one in drawn]
    words = ("other numbers", "equal numbers")
    first, second, again = parts
    pairs = (*zip(first, second), *zip(first, again))
    return Observation(value=tuple(words[_equal(one, other)] for one, other in pairs))


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, Linear) and isinstance(other, Linear):
        return bool(np.array_equal(one.weight, other.weight))
    # A few numbers say nothing, and sizes are the same in both.
    return isinstance(one, np.ndarray) and one.size > 3 and bool(np.array_equal(one, other))


def _live(values: Any, dtype: str, library: str) -> list[Any]:
    return [arrays.to_library(copied(value), library, dtype) for value in values]


def _call(request: Request, library: str, strided: bool = False) -> Call:
    call = call_of(request, library)
    if not strided:
        return call
    return replace(
        call,
        arguments=list(map(_strided, call.arguments)),
        keywords={name: _strided(value) for name, value in call.keywords.items()},
        method_arguments=list(map(_strided, call.method_arguments)),
    )


def _strided(value: Any) -> Any:
    """Return the same array, laid out in memory with its axes reversed."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return np.ascontiguousarray(value.T).T
    if type(value).__name__ == "Tensor" and value.dim() > 1:
        reverse = tuple(reversed(range(value.dim())))
        return value.permute(reverse).contiguous().permute(reverse)
    return value


def _leaves(call: Call) -> list[Any]:
    """Ask for the gradients of the tensors and layers among the inputs; return them."""
    import torch

    found: list[Any] = []
    inputs = call.method_arguments if call.method else call.arguments
    for value in (*inputs, *call.keywords.values()):
        if isinstance(value, torch.nn.Linear):
            found += value.parameters()
        elif isinstance(value, torch.Tensor) and value.is_floating_point():
            found.append(value.requires_grad_())
    return found


def _gradients(value: Any, leaves: list[Any], library: str) -> tuple[Value, ...]:
    import torch

    results = value if isinstance(value, tuple | list) else (value,)
    weighted = [
        (each * torch.linspace(0.5, 1.5, each.numel(), dtype=each.dtype).reshape(each.shape)).sum()
        for each in results
    ]
    found = torch.autograd.grad(sum(weighted[1:], weighted[0]), leaves, allow_unused=True)
    return tuple(None if each is None else _data(each, library) for each in found)


def _changed(given: Any, after: list[Any], dtype: str, library: str) -> tuple[int, ...]:
    numbers = []
    for number, (before, now) in enumerate(zip(given, after)):
        if isinstance(before, np.ndarray | Linear):
            asked, left = _data(_live([before], dtype, library)[0], library), _data(now, library)
            if not _same(asked, left):
                numbers.append(number)
    return tuple(numbers)


def _same(one: Value, other: Value) -> bool:
    if isinstance(one, Linear) and isinstance(other, Linear):
        return _same(one.weight, other.weight) and _same(one.bias, other.bias)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other, equal_nan=True))
    return one is other


def _kinds(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(_kinds, value))
    if type(value).__name__ == "Linear":
        weight = value.weight
        return ("Linear", value.bias is not None, str(weight.dtype), weight.requires_grad)
    return (type(value).__name__, str(getattr(value, "dtype", "")).removeprefix("torch."))


def _data(value: Any, library: str) -> Value:
    """Return a value as data of its own, which later calls do not change."""
    if isinstance(value, tuple | list):
        return tuple(_data(part, library) for part in value)
    return copied(from_library(value, library))


# In what two observations of one probe differ, and whether the kit accepts that on purpose.

# Relative to the largest number: off by less is rounding in another order.
ROUNDING = {"float64": 1e-9, "float32": 2e-5, "float16": 6e-3, "bfloat16": 4e-2}
# Statistics of fewer numbers say little about how they were drawn.
ENOUGH = 1000
MEANT = ("AssertionError", "ValueError")  # what a reference raises on purpose


@dataclass(frozen=True)
class Deviation:
    """A difference in words; `mild` if it is one that the kit accepts on purpose."""

    words: str
    mild: bool = False


def deviation(
    seen: Observation, expected: Observation, compare: str, precision: str = ""
) -> Deviation | None:
    """Return the first difference from the reference, a mild one only when there is no other.

    compare: the step's way of making results comparable. precision: the dtype that was asked for,
    if it is another than usual. Where the reference itself fails by accident, nothing counts.
    """
    if expected.error:
        meant = expected.error in MEANT and seen.error != expected.error
        return Deviation(f"raises {seen.error or 'nothing'}") if meant else None
    if seen.error:
        return Deviation(f"raises {seen.error}")
    with np.errstate(all="ignore"):
        found = list(_deviations(seen, expected, compare, precision))
    return next((each for each in found if not each.mild), next(iter(found), None))


def _deviations(
    seen: Observation, expected: Observation, compare: str, precision: str
) -> Iterator[Deviation]:
    yield from _values(seen.value, expected.value, compare, precision)
    yield from _attributes(seen, expected, precision)
    yield from _gradient_deviations(seen, expected, precision)
    if seen.changed != expected.changed:
        yield Deviation("an argument is overwritten")
    if seen.enabled != expected.enabled:
        yield Deviation("gradients stay switched off")
    if seen.seeds != expected.seeds:
        yield Deviation("a seed is set for all code")
    if seen.kinds != expected.kinds:
        mild = _without_layers(seen.kinds) and _without_layers(expected.kinds)
        yield Deviation(f"the result is {_plain(seen.kinds)}", mild)


def _without_layers(kinds: Any) -> bool:
    return "Linear" not in str(kinds)


def _plain(kinds: Any) -> str:
    return " ".join(str(kinds).replace("'", "").replace("(", "").replace(")", "").split())


def _attributes(seen: Observation, expected: Observation, precision: str) -> Iterator[Deviation]:
    for name, (kinds, value) in expected.attributes.items():
        if name not in seen.attributes:
            yield Deviation(f"there is no {name}")
            continue
        own_kinds, own = seen.attributes[name]
        drawn_or_not = "values" if name.endswith(".grad") else RANDOM[0]
        for each in _values(own, value, drawn_or_not, precision):
            yield Deviation(f"{name}: {each.words}", each.mild)
        if own_kinds != kinds:
            yield Deviation(f"{name} is {_plain(own_kinds)}", _without_layers(kinds))
    drawn = [name for name in expected.attributes if not name.endswith(".grad")]
    if len(drawn) > 1 and all(name in seen.attributes for name in drawn):
        ours, theirs = (
            tuple(each.attributes[name][1] for name in drawn) for each in (seen, expected)
        )
        yield from _repeated(ours, theirs)


def _gradient_deviations(
    seen: Observation, expected: Observation, precision: str
) -> Iterator[Deviation]:
    if expected.gradients is None:
        return
    for number, (own, wanted) in enumerate(zip(seen.gradients or (), expected.gradients), start=1):
        if (own is None) != (wanted is None):
            yield Deviation(f"gradient {number} is {'missing' if own is None else 'one too many'}")
        elif wanted is not None:
            for each in _array(own, wanted, precision):
                yield Deviation(f"gradient {number}: {each.words}", each.mild)


def _values(own: Value, wanted: Value, compare: str, precision: str) -> Iterator[Deviation]:
    if isinstance(wanted, tuple):
        if not isinstance(own, tuple) or len(own) != len(wanted):
            yield Deviation("another number of results")
            return
        for one, other in zip(own, wanted):
            yield from _values(one, other, compare, precision)
        if compare in RANDOM:
            yield from _repeated(own, wanted)
    elif isinstance(wanted, Linear):
        yield from _layer(own, wanted)
    elif isinstance(wanted, np.ndarray):
        if compare in RANDOM:
            yield from _drawn(own, wanted)
        elif isinstance(own, np.ndarray) and compare == "booleans" and own.dtype != bool:
            yield Deviation("numbers in place of True and False")
        elif isinstance(own, np.ndarray) and own.dtype.kind in "biuf":
            yield from _array(comparable(own, compare), comparable(wanted, compare), precision)
        else:
            yield Deviation("no array of numbers")
    elif type(own) is not type(wanted) or own != wanted:
        yield Deviation(f"{str(own)[:40]} instead of {str(wanted)[:40]}")


def _array(own: np.ndarray, wanted: np.ndarray, precision: str) -> Iterator[Deviation]:
    if own.shape != wanted.shape:
        yield Deviation(f"shape {own.shape} for {wanted.shape}")
        return
    ours, theirs = own.astype(float), wanted.astype(float)
    finite = np.isfinite(theirs)
    if not np.array_equal(np.isfinite(ours), finite) or not np.array_equal(
        ours[~finite], theirs[~finite], equal_nan=True
    ):
        yield Deviation("values that are not finite")
        return
    off = np.abs(ours - theirs)[finite]
    # A forbidden score stands for every very negative one: it is no measure of the others.
    largest = np.abs(theirs[finite & (theirs > FLOOR)]).max(initial=0.0)
    rounding = ROUNDING.get(precision or wanted.dtype.name, 1e-9)
    if not (off > rounding * largest + 1e-12).any():
        return
    relative, absolute = tolerance(own, wanted, precision)
    mild = bool((off <= absolute + max(relative, rounding) * largest).all())
    yield Deviation(f"values off by {off.max():.2g} of {largest:.2g}", mild)


def _layer(own: Value, wanted: Linear) -> Iterator[Deviation]:
    if not isinstance(own, Linear):
        yield Deviation("no linear layer")
        return
    if (own.bias is None) != (wanted.bias is None):
        yield Deviation("a bias too few or too many")
        return
    yield from _drawn(own.weight, wanted.weight)
    if wanted.bias is not None:
        yield from _drawn(own.bias, wanted.bias)


def _drawn(own: Value, wanted: np.ndarray) -> Iterator[Deviation]:
    """Compare two draws by shape and statistics, with bounds that chance does not reach."""
    if not isinstance(own, np.ndarray) or own.shape != wanted.shape:
        yield Deviation("a draw of another shape")
        return
    if wanted.size < 2 or wanted.dtype.kind != "f":
        return
    if own.std() == 0 and wanted.std() > 0:
        yield Deviation("not drawn")
    elif wanted.size >= ENOUGH:
        spread, mean = own.std() / wanted.std(), abs(own.mean() - wanted.mean())
        if abs(spread - 1) > 6 / sqrt(wanted.size) or mean > 8 * wanted.std() / sqrt(wanted.size):
            yield Deviation(f"a draw of another spread or mean ({spread:.2f} times)")
        moments = [abs(_moment(own, power) - _moment(wanted, power)) for power in (3, 4)]
        if moments[0] > 10 * sqrt(6 / own.size) or moments[1] > 10 * sqrt(24 / own.size):
            yield Deviation("a draw of another distribution")


def _moment(array: np.ndarray, power: int) -> float:
    return float((((array - array.mean()) / array.std()) ** power).mean())


def _repeated(own: Value, wanted: Value) -> Iterator[Deviation]:
    if _twins(own) != _twins(wanted):
        yield Deviation("two draws are the same array")


def _twins(values: tuple[Value, ...]) -> bool:
    arrays = [each.weight if isinstance(each, Linear) else each for each in values]
    arrays = [each for each in arrays if isinstance(each, np.ndarray) and each.size > 1]
    return any(
        np.array_equal(one, other) for number, one in enumerate(arrays) for other in arrays[:number]
    )

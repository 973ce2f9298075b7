"""Judges mutants of one step: by its checks, and by what its probes show of its code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import pytest

from autograder.authoring.harness import Harness, Seen
from autograder.authoring.mutant import Mutant
from autograder.authoring.mutated_step import Subject, Tree, learned
from autograder.authoring.probing import (
    Probe,
    defined,
    enable_gradients,
    gradients_enabled,
    probes_of,
    quiet,
    quiet_run,
)
from autograder.checks.marks import by_purpose
from autograder.judging.asking import ask_example
from autograder.judging.compare import FLOOR, comparable, tolerance
from autograder.judging.examples import Example
from autograder.judging.inprocess import InProcess, call_of
from autograder.values.exercise import RANDOM, SOLUTION
from autograder.values.request import Request
from autograder.values.verdict import Finding, telling
from autograder.worker import arrays
from autograder.worker.call import Call, perform
from autograder.worker.wire import SEEDS, Linear, Seed, Value, copied, from_library

# What a probe shows of some code, as data, and in what two of these differ.

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


Load = Callable[[], dict[str, Any]]  # runs a mutant in a new namespace and returns that


class Fate(StrEnum):
    """What became of a mutant."""

    EQUIVALENT = "equivalent"  # no probe tells it from the reference, and no check refuses it
    ACCEPTED = "accepted"  # it differs only in the dtype, or within the tolerance
    KILLED = "killed"
    SURVIVED = "survived"
    REFUSED = "refused"  # a check fails it, although no probe tells it from the reference


@dataclass(frozen=True)
class JudgedMutant:
    """A mutant and its fate.

    caught_by: the names of the hidden checks that fail it. public: whether a worked example fails
    it too. named: whether the student is told a known mistake; described: whether the student is
    told more than that values differ. shown_by: which probe tells it from the reference, in words,
    and by what.
    """

    mutant: Mutant
    fate: Fate
    caught_by: tuple[str, ...] = ()
    public: bool = False
    named: bool = False
    described: bool = False
    shown_by: str = ""

    @property
    def sentence(self) -> str:
        """The mutant, and how it can be told from the reference."""
        return f"{self.mutant.words}; {self.shown_by}" if self.shown_by else self.mutant.words


# Which standing check asks what a probe looks at. A step may be excused from one, with a reason.
ASKED_BY = {"gradients": "gradients", "dtypes": "other_precision"}


class MutantJudge:
    """The checks, the worked examples and the probes of one step."""

    def __init__(self, harness: Harness, step: str, examples: Sequence[Example]) -> None:
        self.harness = harness
        self.step = step
        self.library = harness.reference.exercise.library
        self.compare = harness.reference.exercise.step(step).compare
        self.examples = [example for example in examples if example.step == step]
        self.checks = harness.checks_of(step)
        # The answers of the reference, before any mutant can disturb it.
        for check in self.checks:
            self._run(check, getattr(harness.module, step), naming=False)
        own, telling, standing = by_purpose(self.checks)
        self._deciding = [*own, *standing]
        not_asked = harness.reference.exercise.grading.without.get(step, {})
        probes = [
            probe
            for probe in probes_of(harness.reference, [*own, *telling], step)
            if ASKED_BY.get(probe.aspect) not in not_asked
        ]
        self.expected = _useful(probes, self._names, self.library, self.compare)

    @property
    def _names(self) -> Mapping[str, Any]:
        return vars(self.harness.module)

    def subject(self, tree: Tree) -> Subject:
        """Return the step, as `tree` writes it, with the kinds of value that its inputs show."""
        whole = definitions(self.harness)
        arities = {
            name: len(node.args.args)
            for name, node in whole.items()
            if isinstance(node, ast.FunctionDef)
        }
        bare = Subject(tree, self.library, arities)
        plain = [probe for probe, _ in self.expected if probe.aspect == "values"]
        by_request = {probe.request.key: probe for probe in plain}
        return learned(
            bare,
            self._names,
            [probe.request for probe in plain],
            lambda names, request: observe(names, by_request[request.key], self.library),
        )

    def judged(self, mutant: Mutant, naming: bool) -> JudgedMutant | None:
        """Judge a mutant; None when it does not even load.

        Without `naming`, it is not looked for what the student is told.
        """
        # Compiled once; every namespace of it is a new one and remembers nothing.
        load = partial(defined, self._names, compile(mutant.text, f"<{mutant.step}>", "exec"))
        with quiet():
            try:
                names = load()
            except Exception:
                return None
        # A worker loads a hand-in once: what it remembers in one check is there in the next.
        caught = [check for check in self._deciding if self._fails(check, names[self.step])]
        shown = self._shown(load)
        fate = _fate(bool(caught), shown and shown[1])
        told = self._told(load) if caught and naming else None
        return JudgedMutant(
            mutant,
            fate,
            tuple(dict.fromkeys(check.originalname for check in caught)),
            bool(caught) and self._fails_an_example(load),
            bool(told and told.misconception),
            bool(told and not told.vague),
            f"{shown[0].aspect}, {shown[0].label}: {shown[1].words}" if shown else "",
        )

    def _run(self, check: pytest.Function, step: Any, naming: bool) -> Seen:
        with quiet_run(self.library), self.harness.replaced({self.step: step}):
            return self.harness.run(check, naming=naming)

    def _fails(self, check: pytest.Function, step: Any) -> bool:
        try:
            seen = self._run(check, step, naming=False)
        except Exception:
            return True  # the check stumbles over what came back, which fails a student too
        return seen.finding is not None

    def _told(self, load: Load) -> Finding | None:
        """Return what a student is told first about the step."""
        with quiet_run(self.library):
            try:
                with self.harness.replaced({self.step: load()[self.step]}):
                    seen = self.harness.run_step(self.step)
            except Exception:
                return None
        found = [each.finding for each in seen.values()]
        place = telling(found)
        return None if place is None else found[place]

    def _fails_an_example(self, load: Load) -> bool:
        with quiet():
            respondent = InProcess(load(), self.library)
        for example in self.examples:
            with quiet_run(self.library):
                if ask_example(example, respondent).finding:
                    return True
        return False

    def _shown(self, load: Load) -> tuple[Probe, Deviation] | None:
        """Return the first probe that tells a mutant from the reference, a mild one at last."""
        mild: tuple[Probe, Deviation] | None = None
        for probe, expected in self.expected:
            with quiet():
                seen = observe(load(), probe, self.library)
            found = deviation(seen, expected, self.compare, probe.request.dtype)
            if found and not found.mild:
                return probe, found
            if found and mild is None:
                mild = probe, found
        return mild


def _useful(
    probes: Sequence[Probe], names: Mapping[str, Any], library: str, compare: str
) -> tuple[tuple[Probe, Observation], ...]:
    """Return the probes that the reference answers alike each time, with its answers."""
    found = []
    for probe in probes:
        expected = observe(names, probe, library)
        again = observe(names, probe, library)
        if not deviation(again, expected, compare, probe.request.dtype):
            found.append((probe, expected))
    return tuple(found)


def _fate(caught: bool, shown: Deviation | None) -> Fate:
    if caught:
        return Fate.KILLED if shown else Fate.REFUSED
    if shown is None:
        return Fate.EQUIVALENT
    return Fate.ACCEPTED if shown.mild else Fate.SURVIVED


def definitions(harness: Harness) -> dict[str, Tree]:
    """Return the functions and classes of the reference as syntax trees, by name."""
    source = (harness.reference.exercise.folder / SOLUTION).read_text(encoding="utf-8")
    return {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }

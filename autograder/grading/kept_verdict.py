"""Whether a verdict that was read back can be one that the kit gave; nothing is taken on trust.

Anybody who may write to the folder of results may write to its journal. Anything odd is judged
again, which costs seconds; what is believed goes into a gradebook.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
from collections.abc import Callable
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from autograder.model.exercise import Exercise, Step
from autograder.model.verdict import NOT_JUDGED, Outcome, StepVerdict, Verdict

_DIGEST = re.compile("[0-9a-f]{8}")


def is_sound(verdict: Verdict, exercise: Exercise) -> bool:
    """Whether `verdict` fits `exercise` as it is now, and agrees with itself.

    Every value has the type that its field declares, and numbers are finite; the steps are the
    exercise's, in its order, with its titles and points; a step has all of its points when all of
    its checks passed or a right layer does its work, else none; the chain breaks nowhere or at one
    of the steps.
    """
    if not _has_type(verdict, Verdict) or len(verdict.steps) != len(exercise.steps):
        return False
    names = [step.name for step in exercise.steps]
    chain = verdict.chain
    return (
        verdict.exercise == exercise.name
        and verdict.seconds >= 0
        and all(_fits(judged, step) for judged, step in zip(verdict.steps, exercise.steps))
        and _layer_fits(verdict)
        and (chain.breaks_at is None or chain.breaks_at in names)
        and (chain.outcome is not Outcome.PASSED or chain.breaks_at is None)
    )


def _fits(judged: StepVerdict, step: Step) -> bool:
    """Whether a step is judged under its own name, for what it is worth."""
    made = StepVerdict.of(step, judged.checks, judged.leaning, judged.by_layer)
    return (
        bool(judged.checks)
        and all((check.finding is None) == check.passes for check in judged.checks)
        and judged.outcome not in NOT_JUDGED
        and judged == dataclasses.replace(made, answer=judged.answer)
        and (not judged.answer or (not made.passes and bool(_DIGEST.fullmatch(judged.answer))))
        and (not judged.by_layer or judged.outcome is Outcome.NOT_WRITTEN)
    )


def _layer_fits(verdict: Verdict) -> bool:
    """Whether the layer ended as its own step did; only the student's own earns other steps."""
    layer = verdict.chain.layer
    if layer is None:
        return not any(step.by_layer for step in verdict.steps)
    own = [step for step in verdict.steps if step.name == layer.name]
    if len(own) != 1 or own[0].outcome is not layer.outcome:
        return False
    written = not own[0].leaning and not own[0].by_layer
    return written or not any(step.by_layer for step in verdict.steps)


def _has_type(value: object, declared: Any) -> bool:
    """Whether `value` is what a field of a verdict declares, all the way down."""
    return _test_of(declared)(value)


@cache
def _test_of(declared: Any) -> Callable[[object], bool]:
    """Return what tells values of a declared type; it is made once, not for each value."""
    kinds = get_args(declared)
    if get_origin(declared) is types.UnionType:
        tests = tuple(map(_test_of, kinds))
        return lambda value: any(test(value) for test in tests)
    if get_origin(declared) is tuple:
        return _sequence_test(kinds)
    if declared is float:
        return lambda value: type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    if not dataclasses.is_dataclass(declared):
        return lambda value: type(value) is declared  # True is no number here

    def is_whole(value: object) -> bool:
        if type(value) is not declared:
            return False
        return all(test(getattr(value, name)) for name, test in _field_tests(declared))

    return is_whole


@cache
def _field_tests(declared: type) -> tuple[tuple[str, Callable[[object], bool]], ...]:
    # Only when there is such a value: a finding may rest on another finding.
    return tuple((name, _test_of(kind)) for name, kind in get_type_hints(declared).items())


def _sequence_test(kinds: tuple[Any, ...]) -> Callable[[object], bool]:
    if kinds[-1] is Ellipsis:
        test = _test_of(kinds[0])
        return lambda value: isinstance(value, tuple) and all(map(test, value))
    tests = tuple(map(_test_of, kinds))

    def fits(value: object) -> bool:
        alike = isinstance(value, tuple) and len(value) == len(tests)
        return alike and all(test(each) for test, each in zip(tests, value))  # type: ignore[call-overload]

    return fits

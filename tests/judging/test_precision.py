"""The tolerance follows what was asked, and a result in a lower precision is told so by name.

float64 in allows float32 back, and nothing less; only a check that asks for half precision takes
half precision for an answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.judging.asking import ask_example
from autograder.judging.compare import ResultSpec, compare
from autograder.judging.diagnosis import Candidate, diagnose
from autograder.judging.distribution import Distributed
from autograder.judging.examples import read_examples
from autograder.judging.expectation import Agrees, judge, judge_gradients
from autograder.judging.inprocess import InProcess
from autograder.judging.layers import LinearLayers
from autograder.values.request import Request, Returned
from autograder.values.verdict import Finding, Outcome
from autograder.worker.wire import Linear, Value
from support.graded_texts import graded, step_of
from support.learner_workspace import ROOT
from tracing.judged_layer import HEADS, judged

RANDOM = np.random.default_rng(20260731)
FORM = ResultSpec(("result",), ("B S D",))
DUE = 3 * np.sign(RANDOM.standard_normal((2, 4, 5))) + RANDOM.standard_normal((2, 4, 5))
SINGLE = DUE.astype(np.float32)


def bfloat16(array: np.ndarray) -> np.ndarray:
    """The numbers as bfloat16 holds them, in float32, as they cross the wire."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def wrong(returned: Value, due: Value = DUE, form: ResultSpec = FORM) -> Finding:
    finding = compare(returned, due, form)
    assert finding, "it passes"
    return finding


# --- what passes, by what was asked -------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_an_error_is_as_wrong_in_a_lower_precision(dtype: type) -> None:
    for error in (1.001, 1.015):
        assert wrong((error * DUE).astype(dtype)).outcome is Outcome.WRONG_VALUES
        assert wrong((error * DUE).astype(dtype), SINGLE).outcome is Outcome.WRONG_VALUES


def test_an_error_of_one_and_a_half_percent_in_half_precision_is_told_with_its_precision() -> None:
    finding = wrong((1.015 * DUE).astype(np.float16))
    assert "not" in finding.fact or "none" in finding.fact.lower()
    assert "float16 (half precision)" in finding.fact


def test_float32_is_right_where_float64_was_asked() -> None:
    assert compare(SINGLE, DUE, FORM) is None
    assert compare((1.00005 * DUE).astype(np.float32), DUE, FORM) is None
    assert compare(1.000001 * DUE, DUE, FORM) is None
    assert wrong(1.00005 * DUE).outcome is Outcome.WRONG_VALUES


def test_where_float32_was_asked_a_float64_result_is_judged_as_float32() -> None:
    assert compare(1.00005 * DUE, SINGLE, FORM) is None
    assert wrong(1.001 * DUE, SINGLE).outcome is Outcome.WRONG_VALUES


@pytest.mark.parametrize("asked", ["float16", "bfloat16"])
@pytest.mark.parametrize("due", [SINGLE, DUE], ids=["float32", "float64"])
def test_a_check_that_asks_for_less_takes_less(asked: str, due: np.ndarray) -> None:
    form = replace(FORM, precision=asked)
    returned = due.astype(np.float16) if asked == "float16" else bfloat16(due)
    assert compare(returned, due, form) is None
    assert wrong(1.2 * returned, due, form).outcome is Outcome.WRONG_VALUES
    assert "float16" not in wrong((1.2 * returned).astype(returned.dtype), due, form).fact


@pytest.mark.parametrize("mode", ["values", "numbers"])
def test_numbers_that_half_precision_holds_exactly_are_right(mode: str) -> None:
    mask = np.tril(np.ones((4, 4)))
    form = ResultSpec(("result",), ("S S",), mode)
    assert compare(mask.astype(np.float16), mask, form) is None


# --- what is told -------------------------------------------------------------------------------

HALF = {
    "half": DUE.astype(np.float16),
    "half, then float32": DUE.astype(np.float16).astype(np.float32),
    "half, then float64": DUE.astype(np.float16).astype(np.float64),
}


@pytest.mark.parametrize("returned", HALF.values(), ids=HALF)
@pytest.mark.parametrize("due", [SINGLE, DUE], ids=["float32", "float64"])
def test_half_precision_is_told_by_its_name(returned: np.ndarray, due: np.ndarray) -> None:
    finding = wrong(returned, due)
    assert finding.outcome is Outcome.WRONG_VALUES
    held = "are" if returned.dtype == np.float16 else "have the digits of"
    assert finding.fact == (
        f"Your numbers agree with the expected ones only to about 3 digits: they {held} float16 "
        "(half precision)."
    )
    assert finding.right == "The shape of the result is right, (B=2, S=4, D=5)."
    assert f"The inputs are {due.dtype}" in finding.look


def test_bfloat16_is_told_by_its_name_though_it_crosses_as_float32() -> None:
    finding = wrong(bfloat16(SINGLE), SINGLE)
    assert finding.fact == (
        "Your numbers agree with the expected ones only to about 2 digits: they have the digits of "
        "bfloat16."
    )


def test_a_small_error_is_not_called_a_lower_precision() -> None:
    for error in (1.001, 1.003, 1.015):
        for returned in (error * DUE, error * SINGLE):
            assert "float16" not in wrong(returned, returned / error).message


def test_of_several_arrays_the_one_in_half_precision_is_named() -> None:
    form = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3)
    due = (DUE, DUE + 7, DUE - 7)
    finding = wrong((DUE, due[1].astype(np.float16), due[2]), due, form)
    assert finding.fact.startswith("The numbers of `keys` agree")
    worse = wrong((DUE, due[1].astype(np.float16), 2 * due[2]), due, form)
    assert "agree with" not in worse.fact


def test_scores_in_half_precision_are_told_so_beside_forbidden_ones() -> None:
    form = replace(FORM, compare="floor")
    due = np.where(RANDOM.random(DUE.shape) < 0.5, -1e9, DUE)
    with np.errstate(over="ignore"):
        finding = wrong(due.astype(np.float16), due, form)
    assert "float16 (half precision)" in finding.fact and "agree" in finding.fact
    assert "agree with" not in wrong(np.where(due < -1e8, 0, due), due, form).fact


def test_a_right_result_in_half_precision_is_not_taken_for_a_mistake_that_is_near() -> None:
    near = Candidate("near", "You do it nearly.\n\nWhy?", Returned(1.004 * DUE))
    finding = diagnose(Returned(DUE.astype(np.float16)), DUE, FORM, (near,))
    assert finding and finding.misconception is None and "half precision" in finding.fact


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_known_mistake_in_a_lower_precision_is_the_same_mistake(dtype: type) -> None:
    cubed = Candidate("cubed", "You take the cube.\n\nWhy?", Returned(DUE**3))
    other = Candidate("other", "You do something else.\n\nWhy?", Returned(DUE + 10))
    finding = diagnose(Returned((DUE**3).astype(dtype)), DUE, FORM, (other, cubed))
    assert finding and finding.misconception == "cubed"


def test_a_factor_in_half_precision_is_seen() -> None:
    finding = diagnose(Returned((2 * DUE).astype(np.float16)), DUE, FORM, ())
    assert finding and "2 times" in finding.fact and "float16" in finding.fact


def test_draws_and_layers_in_half_precision_are_told_so() -> None:
    drawn = ResultSpec(("a", "b"), ("D D",) * 2, "distribution")
    halves = tuple(RANDOM.normal(0, 0.02, (2, 64, 64)).astype(np.float16))
    expected = Distributed((np.zeros((64, 64)),) * 2, drawn, 0.0, 0.02)
    of_draws = judge(expected, Request("step"), Returned(halves), ())
    assert of_draws and "`a` holds float16 (half precision) numbers" in of_draws.fact
    one, two = (RANDOM.standard_normal((3, 2)).astype(np.float32) for _ in range(2))
    layers = LinearLayers(
        (Linear(one, None), Linear(two, None)), ResultSpec(("a", "b"), (None, None))
    )
    half = (Linear(two, None), Linear(one.astype(np.float16), None))
    of_layers = judge(layers, Request("step"), Returned(half), ())
    assert of_layers and "`b` holds float16 (half precision) numbers" in of_layers.fact


# --- through the graders, and in a learner's own checks -----------------------------------------

NUMPY = """\
import numpy as np
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return {}(exponentials / exponentials.sum(axis=-1, keepdims=True))
"""
TORCH = """\
import math
def scale_scores(attention_scores, head_dim):
    return {}(attention_scores / math.sqrt(head_dim))
"""


def test_the_graders_hold_a_lower_precision_to_what_was_asked() -> None:
    ends = ("np.float16", "1.015 * np.float16", "np.float32")
    verdicts = graded("numpy_single_head", *map(NUMPY.format, ends))
    half, off, single = (step_of(verdict, "softmax") for verdict in verdicts)
    assert half.outcome is off.outcome is Outcome.WRONG_VALUES
    for step in (half, off):
        assert step.points == 0 and step.finding and "float16 (half" in step.finding.fact
    assert single.outcome is Outcome.PASSED


@pytest.mark.slow
def test_the_graders_name_the_precision_of_tensors() -> None:
    ends = (f"(lambda tensor: tensor.{cast}())" for cast in ("half", "bfloat16", "double"))
    verdicts = graded("torch_single_head", *map(TORCH.format, ends))
    half, brain, double = (step_of(verdict, "scale_scores") for verdict in verdicts)
    assert half.finding and "they are float16 (half precision)" in half.finding.fact
    assert brain.finding and "they have the digits of bfloat16" in brain.finding.fact
    assert double.finding and "is float64, but the inputs are float32" in double.finding.fact


def test_a_learner_is_told_the_same() -> None:
    names: dict[str, object] = {}
    exec(NUMPY.format("np.float16"), names)
    examples = read_examples(ROOT / "assignments" / "numpy_single_head")
    first = next(example for example in examples if example.step == "softmax")
    finding = ask_example(first, InProcess(names)).finding
    assert finding and "they are float16 (half precision)" in finding.fact


# --- gradients ----------------------------------------------------------------------------------


def gradient_finding(arrived: np.ndarray, expected: np.ndarray, largest: float) -> Finding | None:
    """What is found of a gradient beside another one of the same pass that has a `largest`."""
    other = np.full(3, largest, np.float32)
    result, names = np.ones(3, np.float32), ("a", "b")
    request = Request("step", (expected, other), backward=result)
    expectation = Agrees(result, FORM, gradients=(expected, other), gradient_names=names)
    return judge_gradients(expectation, request, Returned(result, gradients=(arrived, other)), ())


def test_a_gradient_in_which_large_numbers_cancel_may_differ_by_their_rounding() -> None:
    cancelled = np.zeros(3, np.float32)
    rounding = np.float32(2e-5) * np.ones(3, np.float32)  # of numbers about 20: one part in 10^6
    assert gradient_finding(cancelled + rounding, cancelled, largest=20.0) is None
    assert gradient_finding(cancelled + rounding, cancelled, largest=1.0)


def test_a_gradient_that_is_wrong_by_a_thousandth_of_the_largest_is_refused() -> None:
    expected = np.array([0.5, -0.25, 0.0], np.float32)
    finding = gradient_finding(expected + np.float32(0.02), expected, largest=20.0)
    assert finding and "The gradient that arrives at `a`" in finding.fact


def test_an_infinite_gradient_allows_no_other_to_be_wrong() -> None:
    expected = np.array([0.5, -0.25, 0.0], np.float32)
    assert gradient_finding(expected + np.float32(0.02), expected, largest=np.inf)


def test_infinity_is_refused_where_the_tolerance_itself_overflows() -> None:
    expected = np.ones(2, np.float16)
    form = ResultSpec(("result",), ("S",), size=2e6)
    finding = compare(np.array([np.inf, 1.0], np.float16), expected, form)
    assert finding and "NaN or infinite" in finding.fact


def test_beside_a_gradient_that_is_nearly_right_the_values_are_not_called_right() -> None:
    """The same small number is in both; no known mistake is named that sends back what is due."""
    softmax = (
        "exponentials = (scaled_scores - scaled_scores.amax(-1, keepdim=True)).exp()\n"
        "    return exponentials / (exponentials.sum(-1, keepdim=True) + 1e-4)"
    )
    change = ("return scaled_scores.softmax(dim=-1)", softmax)
    finding = judged(HEADS, "compute_attention_weights", change).finding
    assert finding and finding.misconception is None
    assert finding.fact.startswith("The gradient that arrives at `scaled_scores` is nearly right")
    assert "The values are right" not in finding.message
    assert "although the values agree" not in finding.message
    assert all("the result" not in each.lower() for each in finding.details)


def test_a_known_mistake_that_sends_back_what_is_due_explains_no_gradient() -> None:
    names, due = ("a",), np.array([0.5, -0.25, 0.0], np.float32)
    request = Request("step", (due,), backward=due)
    expectation = Agrees(due, FORM, gradients=(due,), gradient_names=names)
    known = Candidate("known", "A mistake.", Returned(due, gradients=(due,)))
    nearly = Returned(due, gradients=(due + np.float32(9e-5),))
    finding = judge_gradients(expectation, request, nearly, (known,))
    assert finding and finding.misconception is None

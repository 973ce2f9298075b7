"""What counts as right, what is wrong, and what a student is told about it.

Comparing, diagnosing and expecting on arrays made here; no exercise is involved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autograder.judging.compare import ResultSpec, compare
from autograder.judging.diagnosis import Candidate, diagnose
from autograder.judging.distribution import Distributed
from autograder.judging.expectation import Agrees, judge
from autograder.values.request import ExceptionReport, Failed, Request, Returned
from autograder.values.verdict import Finding, Outcome
from autograder.worker.wire import Opaque, Value

RNG = np.random.default_rng(20170612)
ONE = ResultSpec(("result",), ("B S D",))
THREE = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3)
DUE = RNG.standard_normal((2, 4, 5))
ASKED = Request("step")


def outcome(returned: Value, due: Value = DUE, form: ResultSpec = ONE) -> Outcome:
    finding = compare(returned, due, form)
    return finding.outcome if finding else Outcome.PASSED


def spoiled(array: np.ndarray, number: float) -> np.ndarray:
    """The array with one wrong entry."""
    changed = array.copy()
    changed.flat[7] = number
    return changed


# --- compare: type, dtype, shape, finiteness, and only then values ------------------------------

WRONG_IN_MANY_WAYS = np.full((3, 4), np.nan)


@pytest.mark.parametrize(
    ("returned", "first"),
    [
        (None, Outcome.WRONG_TYPE),
        (3.5, Outcome.WRONG_TYPE),
        ("text", Outcome.WRONG_TYPE),
        ((DUE, DUE), Outcome.WRONG_TYPE),
        (Opaque("Tensor"), Outcome.WRONG_TYPE),
        (np.ones((3, 4), int), Outcome.WRONG_TYPE),
        (DUE.astype(complex), Outcome.WRONG_TYPE),
        (DUE > 0, Outcome.WRONG_TYPE),
        (WRONG_IN_MANY_WAYS, Outcome.WRONG_SHAPE),
        (np.full(DUE.shape, np.nan), Outcome.WRONG_VALUES),
        (DUE + 1, Outcome.WRONG_VALUES),
        (DUE, Outcome.PASSED),
    ],
    ids=lambda value: value.value if isinstance(value, Outcome) else type(value).__name__,
)
def test_the_first_thing_that_is_wrong_is_told(returned: Value, first: Outcome) -> None:
    assert outcome(returned) is first


def test_numbers_that_are_not_finite_are_told_before_numbers_that_are_wrong() -> None:
    returned = spoiled(DUE + 1, np.nan)
    finding = compare(returned, DUE, ONE)
    assert finding and finding.fact.startswith("1 of ") and "NaN" in finding.fact
    assert "[0, 1, 2]" in finding.look and "B, S, D" in finding.look


@pytest.mark.parametrize("shape", [(1,), (), (1, 1), (4, 1), (1, 5), (1, 4, 5), (5, 4), (20,)])
def test_a_result_that_would_broadcast_never_passes(shape: tuple[int, ...]) -> None:
    form = ResultSpec(("result",), ("S D",))
    for number in (0.0, 1.0):
        finding = compare(np.full(shape, number), np.full((4, 5), number), form)
        assert finding and finding.outcome is Outcome.WRONG_SHAPE
        assert str(shape) in finding.fact and "(S=4, D=5)" in finding.fact


@pytest.mark.parametrize("mode", ["values", "numbers", "floor"])
@pytest.mark.parametrize("due", [0.0, np.nan, -np.inf, -1e9])
def test_nan_never_passes(mode: str, due: float) -> None:
    form = replace(ONE, compare=mode)
    assert outcome(spoiled(DUE, np.nan), spoiled(DUE, due), form) is Outcome.WRONG_VALUES


def test_a_single_wrong_number_is_wrong_and_its_place_is_told() -> None:
    finding = compare(spoiled(DUE, 9.0), DUE, ONE)
    assert finding and finding.outcome is Outcome.WRONG_VALUES
    assert "1 of its 40 numbers" in finding.fact
    assert "[0, 1, 2]" in finding.look and "9" in finding.look
    assert "(B=2, S=4, D=5)" in finding.right


@pytest.mark.parametrize("dtype", [bool, int, np.uint8, np.float32, np.float64])
def test_a_mask_may_be_of_numbers_or_of_booleans(dtype: type) -> None:
    mask = np.tril(np.ones((4, 4)))
    form = ResultSpec(("result",), ("S S",), "numbers")
    assert outcome(mask.astype(dtype), mask, form) is Outcome.PASSED
    assert outcome((1 - mask).astype(dtype), mask, form) is Outcome.WRONG_VALUES


@pytest.mark.parametrize(
    ("forbidden", "expected"),
    [
        *((number, Outcome.PASSED) for number in (-1e9, -1e6, -np.inf, np.finfo(float).min)),
        *((number, Outcome.WRONG_VALUES) for number in (-1.0, 0.0, np.inf, -100.0, -1e4, -1e5)),
    ],
)
def test_every_very_negative_score_is_the_same(forbidden: float, expected: Outcome) -> None:
    form = replace(ONE, compare="floor")
    assert outcome(spoiled(DUE, forbidden), spoiled(DUE, -1e9), form) is expected


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (DUE, "3 arrays are expected"),
        # No stack of three, but a batch of three.
        (np.zeros((3, 4, 5)), "3 arrays are expected"),
        ((DUE, DUE), "returns 2 values, but 3 are expected"),
        ((DUE, None, DUE), "`keys`"),
        ((DUE, DUE, DUE[:, :2]), "`values`"),
        ((DUE + 1, DUE, DUE), "`queries`"),
    ],
)
def test_of_several_arrays_the_wrong_one_is_named(returned: Value, words: str) -> None:
    finding = compare(returned, (DUE, DUE, DUE), THREE)
    assert finding and words in finding.message
    assert compare((DUE, DUE, DUE), (DUE, DUE, DUE), THREE) is None


def test_a_tensor_that_came_apart_along_another_axis_is_told_by_that_axis() -> None:
    along_s = tuple(np.zeros((2, 3, 5)) for _ in range(4))  # no axis S is left in any
    finding = compare(along_s, (DUE, DUE, DUE), THREE)
    assert finding and finding.look.startswith("There are as many as the axis S has entries.")
    # A batch of two, of which two results were returned whole, came apart along nothing.
    both = compare((DUE, DUE), (DUE, DUE, DUE), THREE)
    assert both and not both.look


# --- diagnosis: replay, then what stands out ----------------------------------------------------

WORDS = "You take the cube.\n\nWhat does the step\nask for?"
CUBED = Candidate("cubed", WORDS, Returned(DUE**3))
OTHER = Candidate("other", "You do something else.\n\nWhy?", Returned(DUE + 10))


def found(returned: Value, *candidates: Candidate) -> Finding:
    finding = diagnose(Returned(returned), DUE, ONE, candidates)
    assert finding
    return finding


def test_a_known_mistake_is_told_by_name_and_the_bare_difference_is_folded_away() -> None:
    finding = found(DUE**3, OTHER, CUBED)
    assert finding.misconception == "cubed"
    assert finding.fact == "You take the cube."
    assert finding.look == "What does the step ask for?"
    assert finding.outcome is Outcome.WRONG_VALUES
    assert any("as expected" in detail for detail in finding.details)


def test_what_no_known_mistake_gives_has_no_name() -> None:
    finding = found(RNG.standard_normal(DUE.shape), OTHER, CUBED)
    assert finding.misconception is None and "as expected" in finding.fact


def test_a_mistake_that_gives_the_same_nans_is_found() -> None:
    spoiled_so = spoiled(DUE, np.nan)
    candidate = Candidate("overflows", WORDS, Returned(spoiled_so.copy()))
    assert found(spoiled_so, candidate).misconception == "overflows"
    assert found(spoiled(DUE + 1, np.nan), candidate).misconception is None


def test_what_is_right_is_never_named_even_when_a_mistake_gives_the_same() -> None:
    harmless = Candidate("harmless", WORDS, Returned(DUE))
    assert diagnose(Returned(DUE), DUE, ONE, (harmless,)) is None


def raised(kind: str, message: str) -> Failed:
    return Failed(Outcome.RAISED, exception=ExceptionReport(kind, message, 3, "q @ k"))


def test_the_exception_that_a_known_mistake_raises_does_not_name_it() -> None:
    candidates = (CUBED, Candidate("reversed", WORDS, raised("ValueError", "shapes (4,5), (4,5)")))
    for message in ("shapes (4,5), (4,5)", "shapes (4,6)"):
        finding = diagnose(raised("ValueError", message), DUE, ONE, candidates)
        assert finding and finding.misconception is None and finding.outcome is Outcome.RAISED
        assert "Line 3" in finding.fact and "`q @ k`" in finding.fact


def test_a_crash_of_python_itself_is_told_apart_from_a_call_that_ends_it() -> None:
    crashed = diagnose(Failed(Outcome.CRASHED, "The process was ended by SIGSEGV."), DUE, ONE, ())
    assert crashed and "Python itself crashed in it (SIGSEGV)" in crashed.fact
    for detail in ("The process ended with exit code 1.", "The process was ended by SIGTERM."):
        finding = diagnose(Failed(Outcome.CRASHED, detail), DUE, ONE, ())
        assert finding and "It ended the Python process" in finding.fact


def test_what_is_not_written_is_no_mistake() -> None:
    stub = ExceptionReport("NotImplementedError", "write this")
    empty = Failed(Outcome.NOT_WRITTEN, "`step` is not written yet.", stub)
    finding = diagnose(empty, DUE, ONE, (Candidate("stub", WORDS, empty),))
    assert finding and finding.outcome is Outcome.NOT_WRITTEN and finding.misconception is None


def test_what_stands_out_is_told_as_the_fact_and_beside_a_wrong_shape_below_it() -> None:
    look = found(DUE.swapaxes(1, 2)).look
    assert "axis 1 (S)" in look and "axis 2 (D)" in look and "swapped" in look
    assert "2 times" in found(2.0 * DUE).fact


def test_where_nothing_stands_out_an_example_is_given() -> None:
    assert found(RNG.standard_normal(DUE.shape)).look.startswith("For example, at [0, 0, 0]")


# --- expectations about random draws, and about arguments ---------------------------------------

DRAWN = ResultSpec(("a", "b", "c"), ("D D",) * 3, "distribution")
SHAPES = (np.zeros((64, 64)),) * 3
NORMAL = Distributed(SHAPES, DRAWN, 0.0, 0.02)


def normal(seed: int, deviation: float = 0.02) -> tuple[np.ndarray, ...]:
    return tuple(np.random.default_rng(seed).normal(0, deviation, (3, 64, 64)))


def uniform(seed: int) -> tuple[np.ndarray, ...]:
    edge = 0.02 * np.sqrt(3)
    return tuple(np.random.default_rng(seed).uniform(-edge, edge, (3, 64, 64)))


def drawn(value: Value, *candidates: Candidate) -> Finding | None:
    return judge(NORMAL, ASKED, Returned(value), candidates)


def test_hundred_right_draws_pass() -> None:
    assert [drawn(normal(seed)) for seed in range(100)] == [None] * 100


@pytest.mark.parametrize(
    ("value", "expected", "words"),
    [
        (normal(1, 1.0), Outcome.WRONG_VALUES, "standard deviation of `a`"),
        (normal(1, 0.0004), Outcome.WRONG_VALUES, "0.02 is expected"),
        ((*normal(1)[:2], np.zeros((64, 64))), Outcome.WRONG_VALUES, "standard deviation of `c`"),
        (tuple(a + 0.01 for a in normal(1)), Outcome.WRONG_VALUES, "mean of `a`"),
        ((*normal(1)[:2], normal(1)[0]), Outcome.WRONG_VALUES, "`a` and `c` are not separate"),
        ((*normal(1)[:2], -normal(1)[1]), Outcome.WRONG_VALUES, "`b` and `c` are not separate"),
        (uniform(1), Outcome.WRONG_VALUES, "normal distribution"),
        ((spoiled(normal(1)[0], np.inf), *normal(2)[:2]), Outcome.WRONG_VALUES, "not finite"),
        (normal(1)[:2], Outcome.WRONG_TYPE, "2 values"),
        (tuple(a[:, :1] for a in normal(1)), Outcome.WRONG_SHAPE, "(64, 1)"),
        (tuple(a.astype(int) for a in normal(1)), Outcome.WRONG_TYPE, "int64"),
    ],
    ids="large small constant moved twice negated uniform infinite few narrow whole".split(),
)
def test_every_fault_of_a_draw_is_told(value: Value, expected: Outcome, words: str) -> None:
    finding = drawn(value)
    assert finding and finding.outcome is expected
    assert words in finding.fact


def test_a_mistake_about_a_draw_is_named_though_the_numbers_are_others() -> None:
    large = Candidate("not_scaled", WORDS, Returned(normal(5, 1.0)))
    flat = Candidate("uniform", WORDS, Returned(uniform(5)))
    first = drawn(normal(6, 1.0), flat, large)
    second = drawn(uniform(6), large, flat)
    third = drawn(normal(6, 3.0), large, flat)
    assert [finding and finding.misconception for finding in (first, second, third)] == [
        "not_scaled",
        "uniform",
        None,
    ]


SPREADS = {  # what is wrong alike in its spread is not always the same mistake
    "normal and as wide": normal(8, 0.03),
    "normal and nearly as wide": normal(8, 0.033),
    "a constant": (np.full((64, 64), 0.02),) * 3,
}


@pytest.mark.parametrize("value", SPREADS.values(), ids=SPREADS)
def test_a_draw_is_not_named_by_its_spread_alone(value: tuple[np.ndarray, ...]) -> None:
    flat = Candidate("uniform", WORDS, Returned(tuple(1.5 * each for each in uniform(5))))
    zeros = Candidate("zeros", WORDS, Returned((np.zeros((64, 64)),) * 3))
    finding = drawn(value, flat, zeros)
    assert finding and finding.misconception is None
    named = drawn(tuple(1.5 * each for each in uniform(6)), flat, zeros)
    assert named and named.misconception == "uniform"


def test_an_argument_that_is_overwritten_is_told() -> None:
    asked, result = Request("step", (np.ones(3), 7, np.zeros(2))), np.ones((2, 3, 4))
    unchanged = Returned(result, (np.ones(3), 7, np.zeros(2)))
    second = Returned(result, (np.ones(3), 7, np.full(2, 1e-12)))
    in_place, expected = Candidate("in_place", WORDS, second), Agrees(result, ONE)
    assert judge(expected, asked, unchanged, (in_place,)) is None
    finding = judge(expected, asked, second, ())
    assert finding and "argument number 3" in finding.fact
    known = judge(expected, asked, second, (in_place,))
    assert known and known.misconception == "in_place"


def test_an_attribute_that_is_missing_is_told_by_its_name() -> None:
    asked = Request("Layer", read=("a", "b", "c"), method="")
    reply = Returned(None, (), dict(zip("ac", normal(1))))
    finding = judge(NORMAL, asked, reply, ())
    assert finding and finding.outcome is Outcome.WRONG_TYPE
    assert "no attribute `b`" in finding.fact
    whole = Returned(None, (), dict(zip("abc", normal(1))))
    assert judge(NORMAL, asked, whole, ()) is None

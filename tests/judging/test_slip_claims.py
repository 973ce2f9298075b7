"""Several slips at once are told together, and a layer that is taken apart by its parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec
from autograder.judging.diagnosis import described_together
from autograder.values.request import Request
from autograder.values.verdict import Finding, Outcome
from autograder.worker.wire import Linear
from judging.readable_claims import first
from judging.readable_claims import softmax as shares

SCORES = ResultSpec(("result",), ("B h S S",))
SUMS = ResultSpec(("result",), ("B h S D",))
VECTORS = ResultSpec(("result",), ("B S D",))
ROWS = ResultSpec(("result",), ("B S S",))
PARTS = ResultSpec(("queries", "keys", "values"), ("B h S D",) * 3)
SHAPE = (2, 3, 4, 5)


def turned(array: np.ndarray) -> np.ndarray:
    return array.swapaxes(-2, -1)


Wrong = Callable[[np.ndarray, np.ndarray], np.ndarray]
OF_SCORES: dict[str, Wrong] = {
    "the two have changed places. Besides, it is 6.708 times": lambda q, k: 3 * k @ turned(q),
    "the two have changed places.": lambda q, k: k @ turned(q) / np.sqrt(5),
    "argument number 1 is multiplied with itself. Besides": lambda q, k: q @ turned(q),
    "argument number 2 is reshaped where axes have to change places. Besides, it is 2.236": (
        lambda q, k: q @ k.reshape(2, 3, 5, 4)
    ),
    "The result is the distance between": (
        lambda q, k: np.sqrt(((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1))
    ),
    "is minus the distance": (
        lambda q, k: -np.sqrt(((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1))
    ),
    "multiplies the two arguments number by number": lambda q, k: q * k / 2,
}


@pytest.mark.parametrize("words", OF_SCORES)
def test_a_product_with_two_slips_is_told_by_both(words: str) -> None:
    rng = np.random.default_rng(1)
    queries, keys = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE)
    expected = queries @ turned(keys) / np.sqrt(5)
    assert words in first(OF_SCORES[words](queries, keys), expected, SCORES, queries, keys).fact


def test_a_product_of_other_numbers_gets_no_claim() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        queries, keys, others = (rng.standard_normal(SHAPE) for _ in range(3))
        wrong, expected = queries @ turned(others), queries @ turned(keys)
        assert claims_about(wrong, expected, SCORES, Request("step", (queries, keys))) == ()


def test_weights_that_go_through_a_softmax_once_more_are_told() -> None:
    rng = np.random.default_rng(2)
    weights, values = shares(rng.standard_normal((2, 3, 4, 4))), rng.standard_normal(SHAPE)
    expected = weights @ values
    told = first(shares(weights) @ values, expected, SUMS, weights, values).fact
    assert "argument number 1 goes through a softmax once more" in told
    told = first(turned(shares(weights)) @ values, expected, SUMS, weights, values).fact
    assert "and its last two axes change places" in told


OF_LAYERS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "is used as it is stored, and its bias is left out": lambda x, weight, bias: x @ weight,
    "multiplied by the bias of argument number 2": lambda x, weight, bias: x @ weight.T * bias,
    "the bias of argument number 2 is added twice": lambda x, weight, bias: x @ weight.T + 2 * bias,
    "is taken away and not added": lambda x, weight, bias: x @ weight.T - bias,
}


@pytest.mark.parametrize("words", OF_LAYERS)
def test_a_layer_that_is_taken_apart_is_told_by_its_parts(words: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 4, 5))
    weight, bias = rng.standard_normal((5, 5)), rng.standard_normal(5)
    wrong, expected = OF_LAYERS[words](x, weight, bias), x @ weight.T + bias
    assert words in first(wrong, expected, VECTORS, x, Linear(weight, bias)).fact


def test_of_a_layer_without_a_bias_nothing_is_said_about_one() -> None:
    rng = np.random.default_rng(3)
    x, weight, bias = rng.standard_normal((2, 4, 5)), rng.standard_normal((5, 5)), np.ones(5)
    layers = Linear(weight, bias), Linear(weight, None)
    for add, words in ((1, "it is stored."), (0, "it is stored, and its bias is left out.")):
        claims = [
            claims_about(wrong, right, VECTORS, Request("step", (x, layer)))
            for layer, wrong, right in (
                (layers[0], x @ weight + add * bias, x @ weight.T + bias),
                (layers[1], x @ weight, x @ weight.T),
            )
        ]
        differ = Finding(Outcome.WRONG_VALUES, "They differ.")
        with_bias, without = described_together([differ, differ], claims)
        assert with_bias.fact.endswith(words)
        assert without.fact.endswith("is used as it is stored.")
    nothing = claims_about(0 * (x @ weight), x @ weight.T, VECTORS, Request("s", (x, layers[1])))
    assert not any("bias" in claim.fact for claim in nothing)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_of_a_reshape_that_moves_no_axis_are_told(axis: int) -> None:
    projected = np.random.default_rng(4).standard_normal((2, 4, 45))
    shape = [2, 3, 4, 5]
    expected = tuple(projected.reshape(2, 4, 3, 3, 5).transpose(2, 0, 3, 1, 4))
    shape.insert(axis, 3)
    wrong = tuple(np.moveaxis(projected.reshape(shape), axis, 0))
    told = first(wrong, expected, PARTS, projected)
    assert told.kind == "reshaped only" and "no axis has changed places" in told.fact


def test_nothing_is_said_of_axes_where_none_that_changes_places_could_be_seen() -> None:
    """With one sequence and one head, the right results hold the numbers in the same order."""
    projected = np.random.default_rng(4).standard_normal((1, 4, 15))
    expected = tuple(projected.reshape(1, 4, 3, 1, 5).transpose(2, 0, 3, 1, 4))
    squeezed = tuple(part.squeeze() for part in expected)
    asked = Request("step", (projected,))
    kinds = {claim.kind for claim in claims_about(squeezed, expected, PARTS, asked)}
    assert "reshaped only" not in kinds


def test_scores_without_an_exponential_are_told() -> None:
    form = ResultSpec(("result",), ("B S S",))
    scores = np.random.default_rng(5).standard_normal((2, 4, 4))
    proportional = scores / scores.sum(axis=-1, keepdims=True)
    told = first(proportional, shares(scores), form, scores).fact
    assert "without an exponential" in told and "is each score as it is." in told
    assert "sigmoid" in first(1 / (1 + np.exp(-scores)), shares(scores), form, scores).fact


MADE_FROM_SCORES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "is each score less the smallest one.": (
        lambda scores: scores - scores.min(axis=-1, keepdims=True)
    ),
    "is the square of each score.": lambda scores: scores**2,
    "is each score without its sign.": np.abs,
    "is each score, or 0 where that is negative.": lambda scores: scores.clip(0),
}


@pytest.mark.parametrize("words", MADE_FROM_SCORES)
def test_shares_of_something_else_than_exponentials_are_told(words: str) -> None:
    scores = np.random.default_rng(6).standard_normal((2, 6, 6))
    made = MADE_FROM_SCORES[words](scores)
    told = first(made / made.sum(axis=-1, keepdims=True), shares(scores), ROWS, scores)
    assert words in told.fact and "without an exponential" in told.fact


def test_nobody_is_asked_about_scores_that_are_given() -> None:
    scores = np.random.default_rng(7).standard_normal((2, 4, 4))
    other = shares(np.random.default_rng(8).standard_normal((2, 4, 4)))
    look = "Are the scores right that go into the softmax?"
    assert first(other, shares(scores), ROWS).look == look
    assert first(other, shares(scores), ROWS, scores).look not in ("", look)


def test_rows_that_do_not_sum_to_1_are_told_before_what_overflows() -> None:
    scores = np.random.default_rng(9).standard_normal((2, 4, 4))
    wrong = np.exp(scores) - scores.max(axis=-1, keepdims=True)
    assert "but each is expected to sum to 1" in first(wrong, shares(scores), ROWS, scores).fact


def test_heads_lined_up_as_tokens_are_told_by_their_shape() -> None:
    heads = np.random.default_rng(10).standard_normal((2, 3, 4, 5))
    expected = heads.swapaxes(1, 2).reshape(2, 4, 15)
    told = first(heads.reshape(2, 12, 5), expected, VECTORS, heads)
    assert told.kind == "reshaped only" and not told.leads
    assert "reshape" not in told.fact and "view" not in told.fact
    assert told.fact.endswith("Which axes become one, and which have to change places before?")


WEIGHED = shares(np.random.default_rng(11).standard_normal((3, 4, 4)))
OF_WEIGHED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "in reverse order along its axis 0 (B).": lambda values: WEIGHED @ values[::-1],
    "in reverse order along its axis 1.": lambda values: WEIGHED @ values[:, ::-1],
    "one place too late along its axis 1.": lambda values: WEIGHED @ np.roll(values, 1, axis=1),
    "argument number 1 stands in reverse order along its axis 0 (B).": (
        lambda values: WEIGHED[::-1] @ values
    ),
    "what is expected plus argument number 2, as it was given": (
        lambda values: values + WEIGHED @ values
    ),
    "what is expected less argument number 2": lambda values: WEIGHED @ values - values,
}


@pytest.mark.parametrize("words", OF_WEIGHED)
def test_an_argument_in_another_order_or_added_once_more_is_told(words: str) -> None:
    values = np.random.default_rng(12).standard_normal((3, 4, 6))
    told = first(OF_WEIGHED[words](values), WEIGHED @ values, VECTORS, WEIGHED, values)
    assert words in told.fact and told.look.endswith("?")


LEFT_OUT = {
    "the last of their 5 terms": slice(None, -1),
    "the first of their 5 terms": slice(1, None),
    "the last 2 of their 5 terms": slice(None, 3),
    "every other of their 5 terms": slice(None, None, 2),
}


@pytest.mark.parametrize("words", LEFT_OUT)
def test_entries_that_a_sum_leaves_out_are_told(words: str) -> None:
    drawn, kept = np.random.default_rng(15), LEFT_OUT[words]
    weights = shares(drawn.standard_normal((3, 4, 5)))
    values = drawn.standard_normal((3, 5, 6))
    wrong = weights[..., kept] @ values[:, kept]
    told = first(wrong, weights @ values, VECTORS, weights, values)
    assert f"but its sums leave out {words}. Without" in told.fact
    assert told.fact.endswith(
        "run along axis 2 of argument number 1 and axis 1 of argument number 2."
    )
    nearly = wrong + 1e-3 * values[:, :4]
    assert "leave out" not in first(nearly, weights @ values, VECTORS, weights, values).fact


STANDARDIZED: dict[str, tuple[int, ...]] = {
    "Along axis 2 (S), the numbers have mean 0": (2,),
    "Along axis 1 (S) and axis 2 (S) together, the numbers have": (1, 2),
    "All numbers together have mean 0 and standard deviation 1": (0, 1, 2),
}


@pytest.mark.parametrize("words", STANDARDIZED)
def test_numbers_brought_to_a_spread_of_their_own_are_told(words: str) -> None:
    scores, axes = np.random.default_rng(13).standard_normal((2, 5, 5)), STANDARDIZED[words]
    centred = scores - scores.mean(axis=axes, keepdims=True)
    wrong = centred / np.sqrt(scores.var(axis=axes, keepdims=True) + 1e-5)
    assert words in first(wrong, scores / 3, ROWS, scores).fact


def test_results_that_are_still_joined_are_told() -> None:
    form = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3, noun="tensor")
    joined = np.random.default_rng(14).standard_normal((2, 5, 9))
    expected = tuple(np.split(joined, 3, axis=-1))
    held = "holds what is expected for `queries`, `keys` and `values`, side by side"
    for wrong, subject in (((joined,) * 3, "`queries`"), (joined, "Your tensor")):
        told = first(wrong, expected, form)
        assert told.fact.startswith(f"{subject} {held} along axis 2 (D). ") and not told.leads
    told = first((joined[:, :2], joined[:, 2:4], joined[:, 4:]), expected, form)
    assert "But it has only the entries 0 to 1 along axis 1 (S). Along which axis" in told.fact
    doubled = first((2 * joined,) * 3, expected, form).fact
    assert "side by side along axis 2 (D). Besides, it is 2 times" in doubled
    assert first((joined**2,) * 3, expected, form).fact == ""


MULTIPLES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "with two axes swapped: axis 1 (S) and axis 2 (S).": lambda rows: rows.swapaxes(1, 2) / 4,
    "axis 0 (B), the right entries stand in reverse order.": lambda rows: rows[::-1] / -4,
    "is the exponential of the expected one.": lambda rows: np.exp(rows) / 4,
    "is the sum of what is expected along axis 1 (S): that axis is lost.": (
        lambda rows: rows.sum(axis=1) / 4
    ),
}


@pytest.mark.parametrize("words", MULTIPLES)
def test_a_slip_and_a_factor_are_told_together(words: str) -> None:
    rows = np.random.default_rng(16).standard_normal((2, 5, 5))
    told = first(MULTIPLES[words](rows), rows, ROWS).fact
    assert words in told and "Besides, it is " in told and "0.25 times what that gives." in told


def test_a_multiple_of_an_argument_is_told_only_where_it_is_none_of_what_is_expected() -> None:
    rows = np.random.default_rng(17).standard_normal((2, 5, 5))
    assert first(3 * rows, rows**2, ROWS, rows).fact == "The result is 3 times argument number 1."
    assert first(5 * rows, 2 * rows, ROWS, rows).kind == "factor"


def test_a_product_and_a_bias_are_told_apart_by_their_multiples() -> None:
    rng = np.random.default_rng(18)
    x, weight, bias = rng.standard_normal((2, 4, 5)), rng.standard_normal((5, 5)), np.arange(5.0)
    told = first(x @ weight.T / 2 + bias, x @ weight.T + bias, VECTORS, x, Linear(weight, bias))
    assert "the product is taken 0.5 times, and the bias of argument number 2 once." in told.fact


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e308, 1e-320])
def test_no_number_that_comes_back_stops_the_search(number: float) -> None:
    rng = np.random.default_rng(19)
    x, weight, bias = rng.standard_normal((2, 4, 5)), rng.standard_normal((5, 5)), np.arange(5.0)
    right = x @ weight.T + bias
    for wrong in (np.full_like(right, number), np.where(x > 0, number, right)):
        for arguments in ((x, Linear(weight, bias)), (x, weight.T), (right, right)):
            claims_about(wrong, right, VECTORS, Request("step", arguments))
    scores, wrong = x @ x.swapaxes(-2, -1), np.full((2, 4, 4), number)
    for form in (ROWS, ResultSpec(("result",), ("B S S",), "floor")):
        claims_about(wrong, shares(scores), form, Request("step", (scores,)))
        claims_about(wrong, np.where(scores > 0, scores, -1e9), form, Request("step", (scores,)))

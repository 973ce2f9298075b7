"""What no catalogue knows is described by what it is, and nothing else is claimed.

Every transformation is drawn at three sizes, and gets the claim that is made for it. Random
differences get none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from autograder.authoring.text_rules import StudentText, reading_gaps
from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec
from autograder.judging.diagnosis import diagnose
from autograder.values.request import Request, Returned
from autograder.worker.wire import Value

VECTORS = ResultSpec(("result",), ("B S D",))
SCORES = ResultSpec(("result",), ("B S S",))
MASKED = replace(SCORES, compare="floor")
MASK = ResultSpec(("result",), ("S S",), "numbers")
SIZES = ((2, 4, 6), (3, 5, 8), (4, 7, 10))


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Arrays of one size: vectors (B, S, D), scores (B, S, S), a mask (S, S)."""

    rng: np.random.Generator
    vectors: np.ndarray
    scores: np.ndarray
    mask: np.ndarray

    @property
    def in_two(self) -> np.ndarray:
        """The vectors with their last axis cut into two groups."""
        return self.vectors.reshape(*self.vectors.shape[:2], 2, -1)

    @property
    def masked(self) -> np.ndarray:
        """The scores as they are expected where the mask forbids some."""
        return np.where(self.mask == 1, self.scores, -1e9)


def drawn(size: tuple[int, int, int], seed: int) -> Drawn:
    batch, tokens, width = size
    rng = np.random.default_rng(seed)
    return Drawn(
        rng,
        rng.standard_normal((batch, tokens, width)),
        rng.standard_normal((batch, tokens, tokens)),
        np.tril(np.ones((tokens, tokens))),
    )


def steps(array: np.ndarray) -> np.ndarray:
    """1, 2, 3 and so on along axis 1, to be combined with an array (B, S, D)."""
    return np.arange(1.0, array.shape[1] + 1)[:, None]


Wrong = Callable[[Drawn], Value]
OF_VECTORS: dict[str, tuple[str, Wrong]] = {
    "2.5 times": ("factor", lambda d: 2.5 * d.vectors),
    "its sign": ("sign", lambda d: -d.vectors),
    "lost its sign": ("absolute", lambda d: np.abs(d.vectors)),
    "plus 3": ("offset", lambda d: d.vectors + 3),
    "the square of": ("power", lambda d: d.vectors**2),
    "1 divided by": ("power", lambda d: 1 / d.vectors),
    "the exponential": ("exponential", lambda d: np.exp(d.vectors)),
    "no number is below 0": ("clipped", lambda d: np.maximum(d.vectors, 0)),
    "the same number everywhere": ("constant", lambda d: np.zeros_like(d.vectors)),
    "dropout": ("dropout", lambda d: 2 * d.vectors * (d.rng.random(d.vectors.shape) > 0.5)),
    "reverse order": ("reversed", lambda d: d.vectors[:, ::-1]),
    "1 place too late": ("rolled", lambda d: np.roll(d.vectors, 1, axis=1)),
    "1 place too early": ("rolled", lambda d: np.roll(d.vectors, -1, axis=2)),
    "each entry stands one place too late": (
        "moved on",
        lambda d: np.concatenate([0 * d.vectors[:, :1], d.vectors[:, :-1]], axis=1),
    ),
    "interleaved": (
        "interleaved",
        lambda d: d.in_two.swapaxes(2, 3).reshape(d.vectors.shape),
    ),
    "in another order before a reshape": (
        "reshaped",
        lambda d: d.in_two.swapaxes(1, 2).reshape(d.vectors.shape),
    ),
    "in other places": (
        "scattered",
        lambda d: d.rng.permutation(d.vectors.ravel()).reshape(d.vectors.shape),
    ),
    "with two axes swapped": ("axes", lambda d: d.vectors.swapaxes(1, 2)),
    "only the shape differs": (
        "shape only",
        lambda d: d.vectors.reshape(-1, d.vectors.shape[-1]),
    ),
    "the sum of what is expected along axis 1 (S)": (
        "reduced by the sum",
        lambda d: d.vectors.sum(axis=1),
    ),
    "the mean of what": ("reduced by the mean", lambda d: d.vectors.mean(axis=2, keepdims=True)),
    "entry 0 along axis 0 (B), but the other entries are missing": (
        "one entry",
        lambda d: d.vectors[0],
    ),
    "entry 0 is right": (
        "entries 0",
        lambda d: np.concatenate([d.vectors[:1], d.rng.random(d.vectors[1:].shape)]),
    ),
    "is the same for every entry along axis 1 (S)": (
        "alike",
        lambda d: np.broadcast_to(d.vectors[:, :1], d.vectors.shape).copy(),
    ),
    "axis 1 (S), each entry is multiplied by a number of its own": (
        "row factor",
        lambda d: d.vectors * steps(d.vectors),
    ),
    "axis 2 (D), each row as a whole is multiplied by a number of its own": (
        "row factor",
        lambda d: d.vectors * (1 + d.rng.random((*d.vectors.shape[:2], 1))),
    ),
    "axis 1 (S), each line as a whole is multiplied by a number of its own": (
        "row factor",
        lambda d: d.vectors * (1 + d.rng.random((d.vectors.shape[0], 1, d.vectors.shape[2]))),
    ),
    "axis 2 (D), each entry is off by a number of its own": (
        "row offset",
        lambda d: d.vectors + np.arange(d.vectors.shape[2]),
    ),
    "axis 2 (D), each row as a whole is off by a number of its own": (
        "row offset",
        lambda d: d.vectors + d.rng.random((*d.vectors.shape[:2], 1)),
    ),
    "axis 1 (S), each line as a whole is off by a number of its own": (
        "row offset",
        lambda d: d.vectors + d.rng.random((d.vectors.shape[0], 1, d.vectors.shape[2])),
    ),
    "rounded to 2 decimals": ("rounded", lambda d: d.vectors.round(2)),
    "rounded to whole numbers": ("rounded", lambda d: d.vectors.round()),
    "entry 1 is 0 everywhere": (
        "0 along 0",
        lambda d: d.vectors * (np.arange(len(d.vectors)) != 1)[:, None, None],
    ),
    "the two halves have changed places": (
        "parts",
        lambda d: np.roll(d.vectors, d.vectors.shape[2] // 2, axis=2),
    ),
    "it has axis 0 (B) twice": (
        "crossed",
        lambda d: (
            np.tensordot(d.vectors, d.vectors, axes=(-1, -1))[..., :1]
            + np.zeros(d.vectors.shape[-1])
        ),
    ),
    "entries 0 to 1 along axis 2 (D), but the others are missing": (
        "some entries",
        lambda d: d.vectors[..., :2],
    ),
    "the sizes of axis 0 (B) and axis 1 (S) have changed": (
        "sizes exchanged",
        lambda d: d.vectors.reshape(d.vectors.shape[1], d.vectors.shape[0], -1) ** 2,
    ),
    "nearly right": ("close", lambda d: d.vectors + 1e-3 * d.rng.standard_normal(d.vectors.shape)),
    "complex": ("complex", lambda d: d.vectors.astype(complex)),
}
OF_SHARES: dict[str, tuple[str, Wrong]] = {
    "too sharp": ("temperature", lambda d: softmax(3 * d.scores)),
    "too flat": ("temperature", lambda d: softmax(d.scores / 4)),
    "its largest share is too small": ("flat", lambda d: softmax(softmax(d.scores))),
    "along axis 1 (S). They": ("sums over (1,)", lambda d: softmax(d.scores, axis=1)),
    "along axis 0 (B). They": ("sums over (0,)", lambda d: softmax(d.scores, axis=0)),
    "all its shares are equal": (
        "equal shares",
        lambda d: np.full_like(d.scores, 1 / d.scores.shape[-1]),
    ),
    "the larger a score is, the smaller is its share": (
        "turned round",
        lambda d: softmax(-2 * d.scores),
    ),
    "by the same one everywhere along axis 1 (S)": (
        "shifted",
        lambda d: softmax(d.scores - d.scores.max(axis=1, keepdims=True)),
    ),
    "by the same one everywhere along axis 0 (B)": (
        "shifted",
        lambda d: softmax(d.scores - d.scores.max(axis=0, keepdims=True)),
    ),
    "later keys get no share": ("no future", lambda d: softmax(d.masked)),
    "the sums of the rows differ from 1": (
        "row factor",
        lambda d: softmax(d.scores) * steps(d.scores),
    ),
}


def first(wrong: Value, expected: Value, form: ResultSpec) -> tuple[str, str]:
    """The kind and the words of the first claim, which a student has to be able to read."""
    claims = claims_about(wrong, expected, form)
    for claim in claims:
        text = StudentText(claim.kind, f"{claim.fact} {claim.look}")
        assert reading_gaps([text], ()) == ()
    return (claims[0].kind, claims[0].fact) if claims else ("", "")


@pytest.mark.parametrize("words", OF_VECTORS)
@pytest.mark.parametrize("size", SIZES)
def test_every_transformation_of_numbers_gets_its_own_claim(
    size: tuple[int, int, int], words: str
) -> None:
    kind, wrong = OF_VECTORS[words]
    given = drawn(size, 7)
    told = first(wrong(given), given.vectors, VECTORS)
    assert told[0] == kind and words.lower() in told[1].lower()


@pytest.mark.parametrize("words", OF_SHARES)
@pytest.mark.parametrize("size", SIZES)
def test_every_transformation_of_shares_gets_its_own_claim(
    size: tuple[int, int, int], words: str
) -> None:
    kind, wrong = OF_SHARES[words]
    given = drawn(size, 8)
    told = first(wrong(given), softmax(given.scores), SCORES)
    assert told[0] == kind and words in told[1]


@pytest.mark.parametrize("size", SIZES)
def test_a_result_that_sees_the_future_is_told_so(size: tuple[int, int, int]) -> None:
    given = drawn(size, 9)
    kind, fact = first(softmax(given.scores), softmax(given.masked), SCORES)
    assert kind == "future" and "they see the future" in fact


@pytest.mark.parametrize("size", SIZES)
def test_forbidden_scores_that_are_not_low_enough_are_told_with_the_number_of_the_text(
    size: tuple[int, int, int],
) -> None:
    given = drawn(size, 10)
    low = np.where(given.mask == 1, given.scores, -100)
    assert (
        "hold -100, but a very negative number such as -1e9" in first(low, given.masked, MASKED)[1]
    )
    assert "hold 0," in first(given.scores * given.mask, given.masked, MASKED)[1]
    assert "hold numbers from" in first(given.scores, given.masked, MASKED)[1]


@pytest.mark.parametrize("size", SIZES)
def test_a_wrong_mask_is_told(size: tuple[int, int, int]) -> None:
    mask = drawn(size, 11).mask
    assert first(1 - mask, mask, MASK)[0] == "complement"
    assert first(mask.T.copy(), mask, MASK)[0] == "axes"
    assert first(np.tril(mask, -1), mask, MASK)[0] == "on the diagonal"


@pytest.mark.parametrize("size", SIZES)
def test_where_numbers_are_not_finite_it_is_told_why(size: tuple[int, int, int]) -> None:
    given = drawn(size, 16)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(given.scores)
    assert "exactly where what is expected is negative" in first(root, given.scores, SCORES)[1]
    hidden = np.where(given.mask == 1, given.scores, -np.inf)
    assert first(hidden, given.scores, SCORES)[1] == (
        "The result is right except above the diagonal, where it is negative infinity everywhere."
    )
    assert first(np.where(given.mask == 1, np.nan, given.scores), given.scores, SCORES)[1] == ""


def test_the_rows_that_get_no_gradient_are_told() -> None:
    rng = np.random.default_rng(17)
    weight, form = rng.standard_normal((6, 4)), ResultSpec(("a.weight.grad", "b.grad"), (None, "O"))
    other = rng.standard_normal(3)
    cut = weight * (np.arange(6) > 1)[:, None]
    assert first((cut, other), (weight, other), form)[1] == (
        "In `a.weight`, the rows 0 and 1, the first third of all rows, get no gradient. The others "
        "get the right one."
    )
    cut = weight * (np.arange(6) != 3)[:, None]
    assert "row 3 gets no gradient" in first((cut, other), (weight, other), form)[1]


GRADIENTS = ResultSpec(("a.weight.grad", "a.bias.grad", "b.weight.grad"), ("O I", "O", "I O"))


def test_the_parameters_without_a_gradient_are_named() -> None:
    rng = np.random.default_rng(12)
    expected = (rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal((4, 3)))
    weight, bias, other = expected
    told = first((None, None, other), expected, GRADIENTS)[1]
    assert told == "No gradient reaches `a.weight` and `a.bias`, but `b.weight` gets one."
    assert "`a.weight`, but" in first((0 * weight, bias, other), expected, GRADIENTS)[1]
    assert first((None,) * 3, expected, GRADIENTS)[1] == "No parameter gets a gradient."
    assert "two axes swapped" in first((weight.T, bias, other), expected, GRADIENTS)[1]


def test_results_that_have_changed_places_are_told() -> None:
    form = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3)
    queries, keys, values = expected = tuple(np.random.default_rng(13).random((3, 2, 4, 6)))
    told = first((keys, queries, values), expected, form)[1]
    assert told == "`queries` and `keys` have changed places."
    told = first((queries, queries, values), expected, form)[1]
    assert told == "`keys` holds what is expected for `queries`."


def test_results_that_do_not_come_apart_are_told_by_their_axis_also_in_a_batch_of_three() -> None:
    form = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3)
    for batch in (2, 3):
        expected = tuple(np.random.default_rng(13).random((3, batch, 4, 6)))
        finding = diagnose(Returned(np.stack(expected, axis=2)), expected, form, ())
        assert finding and f"an array of shape ({batch}, 4, 3, 6)" in finding.fact
        assert finding.look == (
            "Your array holds what is expected for `queries`, `keys` and `values` along axis 2. "
            "Where does it come apart into these?"
        )
        other = diagnose(Returned(np.stack(expected, axis=2) + 1), expected, form, ())
        assert other and other.fact == finding.fact and not other.look
        assert diagnose(Returned(np.stack(expected)), expected, form, ()) is None  # it unpacks


def test_sizes_that_two_axes_share_do_not_tell_which_have_changed_places() -> None:
    expected = np.random.default_rng(13).random((2, 4, 4, 6))
    other = np.random.default_rng(14).random((2, 6, 4, 4))
    assert not claims_about(other, expected, ResultSpec(("result",), ("B H S D",)))


def test_one_number_in_place_of_another_is_no_bound_and_a_bound_is_not_one_number() -> None:
    rng = np.random.default_rng(15)
    mask = np.tril(np.ones((5, 5)))
    told = first(np.maximum(mask, 0.5), mask, MASK)[1]
    assert told == "Where 0 is expected, the result holds 0.5. Its other numbers are right."
    numbers = rng.standard_normal((4, 5, 5))
    assert "no number is below 0.5" in first(np.maximum(numbers, 0.5), numbers, SCORES)[1]
    some = np.where(np.eye(5), mask, np.maximum(mask, 0.5))
    some[0, 4] = 0  # not wherever 0 is expected
    kinds = [claim.kind for claim in claims_about(some, mask, MASK)]
    assert "another number" not in kinds and "clipped" not in kinds


def test_an_argument_that_comes_back_is_told() -> None:
    given = drawn(SIZES[0], 14)
    request = Request("step", (given.vectors, 3))
    finding = diagnose(Returned(given.vectors), given.vectors**3, VECTORS, (), request)
    assert finding and finding.fact == "The result is argument number 1, unchanged."
    assert not finding.vague and any("as expected" in detail for detail in finding.details)


RANDOM: tuple[tuple[ResultSpec, Callable[[Drawn], np.ndarray], Wrong], ...] = (
    (VECTORS, lambda d: d.vectors, lambda d: d.rng.standard_normal(d.vectors.shape)),
    (VECTORS, lambda d: d.vectors, lambda d: d.rng.random(d.vectors.shape)),
    (VECTORS, lambda d: d.vectors, lambda d: d.vectors + d.rng.standard_normal(d.vectors.shape)),
    (VECTORS, lambda d: d.vectors, lambda d: d.vectors * d.rng.random(d.vectors.shape)),
    (VECTORS, lambda d: d.vectors, lambda d: d.rng.standard_normal(d.vectors.shape[1:])),
    (VECTORS, lambda d: d.vectors, lambda d: d.rng.integers(0, 9, d.vectors.shape) / 4),
    (MASKED, lambda d: d.masked, lambda d: d.rng.standard_normal(d.scores.shape)),
)


@pytest.mark.parametrize(
    "seeds", [range(15), pytest.param(range(15, 60), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", range(len(RANDOM)))
def test_random_differences_get_no_claim(case: int, dtype: type, seeds: range) -> None:
    form, expected, wrong = RANDOM[case]
    for seed in seeds:
        given = drawn(SIZES[seed % 3], 1000 + seed)
        due: np.ndarray = expected(given).astype(dtype)
        other: np.ndarray = np.asarray(wrong(given)).astype(dtype)
        assert claims_about(other, due, form) == (), f"seed {1000 + seed}"


def test_random_shares_are_only_said_to_sum_to_1() -> None:
    true_of_all = {"rows sum to 1", "flat", "sharp"}
    for seed in range(60):
        given = drawn(SIZES[seed % 3], 2000 + seed)
        other = softmax(given.rng.standard_normal(given.scores.shape))
        claims = claims_about(other, softmax(given.scores), SCORES)
        assert {claim.kind for claim in claims} <= true_of_all


def test_random_numbers_in_place_of_shares_are_only_told_by_their_sums() -> None:
    for seed in range(60):
        given = drawn(SIZES[seed % 3], 3000 + seed)
        other = given.rng.random(given.scores.shape)
        claims = claims_about(other, softmax(given.scores), SCORES)
        assert {claim.kind for claim in claims} <= {"no row sums to 1"}
        if claims:
            sums = other.sum(axis=-1)
            assert f"from {sums.min():.4g} to {sums.max():.4g}" in claims[0].fact


def test_what_is_wrong_in_half_precision_is_not_taken_for_more() -> None:
    shares = softmax(drawn(SIZES[1], 15).scores)
    assert claims_about((1.015 * shares).astype(np.float16), shares, SCORES) == ()
    kind, fact = first((2 * shares).astype(np.float16), shares, SCORES)
    assert kind == "factor" and "float16" in fact


def test_a_last_digit_above_the_largest_number_is_no_second_bound() -> None:
    expected = drawn(SIZES[0], 7).vectors
    cut = np.maximum(expected, 0)
    at = np.unravel_index(expected.argmax(), expected.shape)
    cut[at] = np.nextafter(cut[at], 0)  # as another processor rounds
    assert "no number is below 0" in first(cut, expected, VECTORS)[1]

"""What no catalogue knows is described by what it is, and nothing else is claimed.

Every transformation is drawn at three sizes, and gets the claim that is made for it. Random
differences get none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from autograder.judging.claims import claims_about
from autograder.judging.compare import ResultSpec
from autograder.judging.diagnosis import diagnose
from autograder.values.request import Request, Returned
from autograder.worker.wire import Value
from judging.readable_claims import first, softmax

VECTORS = ResultSpec(("result",), ("B S D",))
SCORES = ResultSpec(("result",), ("B S S",))
MASKED = replace(SCORES, compare="floor")
MASK = ResultSpec(("result",), ("S S",), "numbers")
SIZES = ((2, 4, 6), (3, 5, 8), (4, 7, 10))


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


@pytest.mark.parametrize("words", OF_VECTORS)
@pytest.mark.parametrize("size", SIZES)
def test_every_transformation_of_numbers_gets_its_own_claim(
    size: tuple[int, int, int], words: str
) -> None:
    kind, wrong = OF_VECTORS[words]
    given = drawn(size, 7)
    told = first(wrong(given), given.vectors, VECTORS)
    assert told.kind == kind and words.lower() in told.fact.lower()


@pytest.mark.parametrize("words", OF_SHARES)
@pytest.mark.parametrize("size", SIZES)
def test_every_transformation_of_shares_gets_its_own_claim(
    size: tuple[int, int, int], words: str
) -> None:
    kind, wrong = OF_SHARES[words]
    given = drawn(size, 8)
    told = first(wrong(given), softmax(given.scores), SCORES)
    assert told.kind == kind and words in told.fact


@pytest.mark.parametrize("size", SIZES)
def test_a_result_that_sees_the_future_is_told_so(size: tuple[int, int, int]) -> None:
    given = drawn(size, 9)
    told = first(softmax(given.scores), softmax(given.masked), SCORES)
    assert told.kind == "future" and "they see the future" in told.fact


@pytest.mark.parametrize("size", SIZES)
def test_a_wrong_mask_is_told(size: tuple[int, int, int]) -> None:
    mask = drawn(size, 11).mask
    assert first(1 - mask, mask, MASK).kind == "complement"
    assert first(mask.T.copy(), mask, MASK).kind == "axes"
    assert first(np.tril(mask, -1), mask, MASK).kind == "on the diagonal"


@pytest.mark.parametrize("size", SIZES)
def test_where_numbers_are_not_finite_it_is_told_why(size: tuple[int, int, int]) -> None:
    given = drawn(size, 16)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(given.scores)
    assert "exactly where what is expected is negative" in first(root, given.scores, SCORES).fact
    hidden = np.where(given.mask == 1, given.scores, -np.inf)
    assert first(hidden, given.scores, SCORES).fact == (
        "The result is right except above the diagonal, where it is negative infinity everywhere."
    )
    assert first(np.where(given.mask == 1, np.nan, given.scores), given.scores, SCORES).fact == ""


def test_the_rows_that_get_no_gradient_are_told() -> None:
    rng = np.random.default_rng(17)
    weight, form = rng.standard_normal((6, 4)), ResultSpec(("a.weight.grad", "b.grad"), (None, "O"))
    other = rng.standard_normal(3)
    cut = weight * (np.arange(6) > 1)[:, None]
    assert first((cut, other), (weight, other), form).fact == (
        "In `a.weight`, the rows 0 and 1, the first third of all rows, get no gradient. The others "
        "get the right one."
    )
    cut = weight * (np.arange(6) != 3)[:, None]
    assert "row 3 gets no gradient" in first((cut, other), (weight, other), form).fact


GRADIENTS = ResultSpec(("a.weight.grad", "a.bias.grad", "b.weight.grad"), ("O I", "O", "I O"))


def test_the_parameters_without_a_gradient_are_named() -> None:
    rng = np.random.default_rng(12)
    expected = (rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal((4, 3)))
    weight, bias, other = expected
    told = first((None, None, other), expected, GRADIENTS).fact
    assert told == "No gradient reaches `a.weight` and `a.bias`, but `b.weight` gets one."
    assert "`a.weight`, but" in first((0 * weight, bias, other), expected, GRADIENTS).fact
    assert first((None,) * 3, expected, GRADIENTS).fact == "No parameter gets a gradient."
    assert "two axes swapped" in first((weight.T, bias, other), expected, GRADIENTS).fact


def test_results_that_have_changed_places_are_told() -> None:
    form = ResultSpec(("queries", "keys", "values"), ("B S D",) * 3)
    queries, keys, values = expected = tuple(np.random.default_rng(13).random((3, 2, 4, 6)))
    told = first((keys, queries, values), expected, form).fact
    assert told == "`queries` and `keys` have changed places."
    told = first((queries, queries, values), expected, form).fact
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
    told = first(np.maximum(mask, 0.5), mask, MASK).fact
    assert told == "Where 0 is expected, the result holds 0.5. Its other numbers are right."
    numbers = rng.standard_normal((4, 5, 5))
    assert "no number is below 0.5" in first(np.maximum(numbers, 0.5), numbers, SCORES).fact
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
    told = first((2 * shares).astype(np.float16), shares, SCORES)
    assert told.kind == "factor" and "float16" in told.fact


def test_a_last_digit_above_the_largest_number_is_no_second_bound() -> None:
    expected = drawn(SIZES[0], 7).vectors
    cut = np.maximum(expected, 0)
    at = np.unravel_index(expected.argmax(), expected.shape)
    cut[at] = np.nextafter(cut[at], 0)  # as another processor rounds
    assert "no number is below 0" in first(cut, expected, VECTORS).fact


# --- zeros where all the other numbers are right are told by where they stand ---------------------

SHARES = softmax(np.random.default_rng(2).standard_normal((2, 5, 5)))


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_shares_cut_to_a_triangle_are_no_dropout(noise: float) -> None:
    told = first(np.tril(SHARES) * (1 + noise), SHARES, SCORES)
    assert told.fact == "The result is right except above the diagonal, where it is 0 everywhere."
    assert told.look.endswith("?")


def test_zeros_here_and_there_are_counted() -> None:
    scattered = np.arange(50).reshape(2, 5, 5) % 3 == 0
    told = first(np.where(scattered, 0, SHARES), SHARES, SCORES)
    assert told.fact == "17 of the 50 numbers are 0, and all the others are right."


def test_numbers_cut_off_at_zero_are_told_as_that() -> None:
    numbers = np.random.default_rng(2).standard_normal((2, 5, 5))
    told = {each.kind: each for each in claims_about(np.maximum(numbers, 0), numbers, SCORES)}
    below = int((numbers < 0).sum())
    cut = told["cut at zero"]
    assert cut.fact.startswith(f"{below} of the 50 numbers are 0 where negative ones are expected")
    assert list(told).index("cut at zero") < list(told).index("some are 0")


def test_only_numbers_that_have_grown_for_others_are_a_dropout() -> None:
    scattered = np.arange(50).reshape(2, 5, 5) % 3 == 0
    told = first(np.where(scattered, 0, 1.25 * SHARES), SHARES, SCORES)
    assert told.kind == "dropout" and "the way a dropout of 0.2 leaves them" in told.fact
    told = first(2 * np.tril(SHARES), SHARES, SCORES)
    assert "its other numbers are 2 times what is expected" in told.fact
    assert "dropout" not in told.fact


def test_a_mask_with_a_single_1_in_each_row_is_not_taken_for_shares() -> None:
    told = first(np.eye(5), np.tril(np.ones((5, 5))), MASK)
    assert told.fact.startswith("The result is right except below the diagonal, where it is 0")


# --- a masked result is told by its allowed and its forbidden scores, each apart ------------------

OfScoresAndMask = Callable[[np.ndarray, np.ndarray], np.ndarray]


def put(allowed: Callable[[np.ndarray], np.ndarray]) -> OfScoresAndMask:
    """Forbid what the mask forbids, and do something to the others."""
    return lambda scores, mask: np.where(mask == 1, allowed(scores), -1e9)


OF_ALLOWED: dict[str, OfScoresAndMask] = {
    "they are shares, the softmax of argument number 1.": put(softmax),
    "The allowed part is 2 times what is expected": put(lambda scores: 2 * scores),
    "The allowed part is -1 times": put(lambda scores: -scores),
    "The allowed part is what is expected plus 1, everywhere": (
        lambda scores, mask: scores + np.where(mask == 0, -1e9, 1)
    ),
    "The allowed part is what is expected plus 0.001": put(lambda scores: scores + 1e-3),
    "The allowed part holds the same number everywhere, 0": put(np.zeros_like),
    "The allowed part is nearly right: no number is off by more than 0.001": put(
        lambda scores: scores + 1e-3 * np.sign(scores)
    ),
    "6 of the 30 allowed ones are very negative too. The others are right.": (
        lambda scores, mask: np.where((mask == 1) & (np.arange(5) != 2), scores, -1e9)
    ),
}


OF_FORBIDDEN: dict[str, OfScoresAndMask] = {
    "Forbidden ones hold -100, but a very negative number such as -1e9": (
        lambda scores, mask: np.where(mask == 1, scores, -100)
    ),
    "hold 0,": lambda scores, mask: scores * mask,
    "hold numbers from": lambda scores, mask: np.where(mask == 1, scores, scores - 3),
    "Forbidden ones hold about 2.55e+11, but": (
        lambda scores, mask: np.where(mask == 1, scores, scores + 255e9)
    ),
    "12 of the 20 forbidden ones hold -100, but a very negative number such as -1e9 is expected "
    "there. The first is at [0, 0, 2] (axes B, S, S). The other forbidden ones are right.": (
        lambda scores, mask: np.where(
            mask == 1, scores, np.where(np.arange(5) - np.arange(5)[:, None] > 1, -100, -1e9)
        )
    ),
}


def question(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(seed).standard_normal((2, 5, 5)), np.tril(np.ones((5, 5)))


@pytest.mark.parametrize("forbidden", [-1e9, -np.inf])
@pytest.mark.parametrize("words", OF_ALLOWED)
def test_allowed_scores_are_told_beside_right_forbidden_ones(words: str, forbidden: float) -> None:
    scores, mask = question(3)
    wrong = OF_ALLOWED[words](scores, mask)
    # Neither the lowest score that is written nor the expected one counts in a comparison.
    wrong = np.where(wrong < -1e8, forbidden, wrong)
    told = first(wrong, np.where(mask == 1, scores, -1e9), MASKED, scores, mask)
    assert told.fact.startswith("The forbidden scores are right.") and words in told.fact
    assert told.look.endswith("?")


@pytest.mark.parametrize("words", OF_FORBIDDEN)
def test_forbidden_scores_that_are_not_hidden_are_counted(words: str) -> None:
    scores, mask = question(5)
    wrong = OF_FORBIDDEN[words](scores, mask)
    assert words in first(wrong, np.where(mask == 1, scores, -1e9), MASKED, scores, mask).fact


def test_other_numbers_in_the_place_of_allowed_scores_get_no_claim() -> None:
    for seed in range(40):
        scores, mask = question(seed)
        other = np.random.default_rng(1000 + seed).standard_normal(scores.shape)
        expected = np.where(mask == 1, scores, -1e9)
        assert claims_about(np.where(mask == 1, other, -1e9), expected, MASKED) == ()


def test_large_numbers_make_no_small_ones_nearly_right() -> None:
    form = ResultSpec(("result",), ("S D",))
    expected = np.random.default_rng(4).standard_normal((4, 6))
    expected[0] *= 1e6
    other = np.where(np.arange(4)[:, None] == 0, expected, 0.3 + expected**2)
    assert "close" not in {claim.kind for claim in claims_about(other, expected, form)}

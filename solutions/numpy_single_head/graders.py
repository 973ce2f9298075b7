"""The hidden graders of numpy_single_head: shapes, values and properties of every step.

Sizes are pairwise distinct, the batch is larger than 1, and the scores are spread such
that a softmax over them is neither flat nor one-hot: otherwise a wrong scale or a wrong
axis would hardly show. Weights are put into the class, never seeded inside it.
"""

import numpy as np
import pytest

from autograder.checks import shared_beside
from autograder.worker.wire import Seed

checks = shared_beside(__file__, "_attention/checks.py")
sentence = shared_beside(__file__, "_attention/walkthrough.py")
steps = checks.StepChecks(scores="B S S", vectors="B S D", width="D")
PUBLIC = pytest.mark.public

SIZES = pytest.mark.parametrize(
    "draw", [{"B": 2, "S": 5, "D": 8}, {"B": 3, "S": 4, "D": 6}], indirect=True
)
# Neither is a square, and their roots lie between different whole numbers.
WIDTHS = pytest.mark.parametrize(
    "draw", [{"B": 2, "S": 5, "D": 8}, {"B": 3, "S": 4, "D": 14}], indirect=True
)
# Equal sizes tell two ways to get the axes wrong apart: one fails there, the other does not.
SQUARES = ({"B": 2, "S": 5, "D": 8}, {"B": 3, "S": 4, "D": 7}, {"B": 6, "S": 6, "D": 6})
SQUARE = pytest.mark.parametrize("draw", SQUARES, indirect=True)
# The size of the build guide's own test.
GUIDE = {"B": 2, "S": 10, "D": 64}
GUIDES = pytest.mark.parametrize("draw", [GUIDE], indirect=True)

# With weights of this spread, scores of D products have a standard deviation near sqrt(D),
# and the scaled scores near 1.
WEIGHT_NAMES = ("query_weights", "key_weights", "value_weights", "output_weights")


def weights(draw):
    """Four (D, D) matrices that keep the spread of what they project."""
    return {name: draw("D D", scale=draw["D"] ** -0.5) for name in WEIGHT_NAMES}


def causal_mask(draw):
    return np.tril(np.ones((draw["S"], draw["S"])))


def steps_of_64ths(array):
    """Numbers that float32 holds exactly, even when 10 000 is added."""
    return np.round(64 * array) / 64


test_the_sentence = checks.by_hand(
    __file__,
    tokens=sentence.WORDS,
    followed=sentence.IT,
    title="the sentence, as the text works it out",
    dtype="float64",
    softmax=lambda text: [text.scaled[None, : text.SEEN, : text.SEEN]],
    project_qkv=lambda text: [
        text.batch,
        text.query_weights,
        text.key_weights,
        text.value_weights,
    ],
    compute_attention_scores=lambda text: text.projected[:2],
    scale_scores=lambda text: [text.scores[None], text.D],
    create_causal_mask=lambda text: [text.S],
    apply_mask=lambda text: [text.scaled[None], text.mask],
    compute_attention_weights=lambda text: [text.masked[None]],
    apply_attention=lambda text: [checks.shares(text.weights[None]), text.values[None]],
    project_output=lambda text: [text.gathered[None], text.output_weights],
    SingleHeadAttention=lambda text: [
        {"made": (text.D, Seed(text.SEED))} | {name: getattr(text, name) for name in WEIGHT_NAMES},
        [text.batch],
        {"causal": True},
    ],
)


@pytest.mark.step("softmax")
@PUBLIC(B=4)
@SQUARE
def test_softmax_values(student, draw):
    """every row of scores becomes weights that sum to 1"""
    student(draw("B S S")).agrees()


@pytest.mark.step("softmax")
@PUBLIC
@pytest.mark.stays(
    "in the check row by row, one maximum of the whole array fails just like one per sequence; "
    "only the first fails here, so a student is told which of the two it is"
)
def test_softmax_is_stable(student, draw):
    """scores as large as 10 000 give finite weights"""
    student(steps_of_64ths(draw("B S S")) + np.array([[[1e4]], [[-1e4]]])).agrees()


@pytest.mark.step("softmax")
@PUBLIC(B=3)
def test_softmax_is_stable_row_by_row(student, draw):
    """very small scores in one row and very large ones in the next"""
    student(steps_of_64ths(draw("B S S")) + 1e4 * (-1.0) ** np.arange(draw["S"])[:, None]).agrees()


@pytest.mark.step("initialize_weights")
@PUBLIC(D=64)
@GUIDES
def test_weights_are_drawn(student, draw):
    """four (D, D) matrices, each a normal draw of its own with standard deviation 0.02"""
    student(draw["D"], draw.seed()).is_distributed(mean=0.0, deviation=0.02)


@pytest.mark.step("initialize_weights")
@pytest.mark.stays(
    "weights of a fixed seed are right in every other respect, and this check says so before the "
    "standing checks are asked"
)
def test_weights_differ_from_call_to_call(student, draw):
    """a different generator gives different weights"""
    first, second = (student(draw["D"], draw.seed()) for _ in range(2))
    first.differs_from(
        second,
        "Two calls with different seeds in `rng` give the same weights.",
        "Where do your random numbers come from?",
    )


@pytest.mark.step("project_qkv")
@PUBLIC(S=5)
@SIZES
def test_projection_values(student, draw):
    """queries, keys and values, in this order"""
    matrices = weights(draw)
    student(draw("B S D"), *(matrices[name] for name in WEIGHT_NAMES[:3])).agrees()


test_score_values = steps.score_values(PUBLIC)
test_scores_of_equal_sizes = steps.scores_of_equal_sizes(PUBLIC(B=3, S=3, D=3), SQUARE)
test_scaled_values = steps.scaled_values(PUBLIC(D=6), WIDTHS, by="the embedding dimension")
test_scaled_at_another_width = steps.scaled_at_another_width(PUBLIC(D=11))


@pytest.mark.step("create_causal_mask")
@PUBLIC
@SIZES
def test_mask_values(student, draw):
    """1 where a query may see a key, 0 where it may not"""
    student(draw["S"]).agrees()


@pytest.mark.step("apply_mask")
@PUBLIC(B=4)
@SIZES
def test_masked_values(student, draw):
    """forbidden scores are very negative, the others stay"""
    student(draw("B S S"), causal_mask(draw)).agrees()


@pytest.mark.step("apply_mask")
@PUBLIC
def test_any_mask_is_applied(student, draw):
    """the mask passed in decides, causal or not"""
    mask = causal_mask(draw)
    mask[0, -1], mask[-1, 0] = 1.0, 0.0
    student(draw("B S S"), mask).agrees()
    # What is made of the smallest or the largest score need not be very negative.
    student(1 + np.abs(draw("B S S")), mask).agrees()
    student(-1 - np.abs(draw("B S S")), mask).agrees()


test_attention_weight_values = steps.attention_weight_values(PUBLIC, SIZES)


@pytest.mark.step("compute_attention_weights")
@PUBLIC
def test_masked_scores_get_no_weight(student, draw):
    """a very negative score gets a weight of 0"""
    student(np.where(causal_mask(draw) == 1, draw("B S S"), -1e9)).agrees()


test_weighted_sum_values = steps.weighted_sum_values(PUBLIC(D=3), SQUARE)


@pytest.mark.step("project_output")
@PUBLIC
@SIZES
def test_output_values(student, draw):
    """the gathered values are projected by the output weights"""
    student(draw("B S D"), draw("D D", scale=draw["D"] ** -0.5)).agrees()


@pytest.mark.step("SingleHeadAttention")
@PUBLIC(D=64)
@GUIDES
@pytest.mark.stays(
    "the mistakes of initialize_weights, made inside the class, show here and nowhere else, since "
    "every other check puts its own weights into the layer"
)
def test_layer_draws_its_weights(student, draw):
    """the four weight matrices are attributes, drawn as in weight initialization"""
    layer = student.constructed(draw["D"], draw.seed())
    layer.attributes(*WEIGHT_NAMES).is_distributed(mean=0.0, deviation=0.02)


@pytest.mark.step("SingleHeadAttention")
@PUBLIC(S=5, D=3)
@pytest.mark.parametrize("draw", [*SQUARES, GUIDE], indirect=True)
def test_layer_values(student, draw):
    """forward joins the steps; every token sees all tokens"""
    layer = student.constructed(draw["D"], draw.seed(), **weights(draw))
    layer.call("forward", draw("B S D")).agrees()


@pytest.mark.step("SingleHeadAttention")
@PUBLIC
@SIZES
def test_causal_layer_values(student, draw):
    """with causal=True no token sees the future"""
    layer = student.constructed(draw["D"], draw.seed(), **weights(draw))
    layer.call("forward", draw("B S D"), causal=True).agrees()


@pytest.mark.chain_of_steps
def test_the_steps_end_to_end(chain, draw):
    """your own steps, one after the other"""
    x, matrices, seed = draw("B S D"), weights(draw), draw.seed()

    def forward(attention):
        layer = attention.SingleHeadAttention(draw["D"], np.random.default_rng(seed.seed))
        vars(layer).update(matrices)
        return layer.forward(x, causal=True)

    chain(forward)

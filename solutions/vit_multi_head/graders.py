"""The hidden graders of vit_multi_head: shapes, values and properties of every step.

Sizes are pairwise distinct, batch and heads are more than 1, and the scores are spread
such that a softmax over them is neither flat nor one-hot: otherwise a wrong scale or a
wrong axis would hardly show. Weights are put into the class, never seeded inside it.
"""

import pytest

from autograder.checks import shared_beside

checks = shared_beside(__file__, "_attention/checks.py")

SIZES = checks.sizes(
    {"B": 2, "N": 5, "D": 12, "heads": 3, "head_dim": 4},
    {"B": 3, "N": 4, "D": 10, "heads": 5, "head_dim": 2},
)
# Equal sizes tell two ways to get the axes wrong apart: one fails there, the other does not.
SQUARE = checks.sizes(
    {"B": 2, "N": 5, "heads": 3, "head_dim": 4},
    {"B": 3, "N": 4, "heads": 5, "head_dim": 2},
    {"B": 3, "N": 5, "heads": 5, "head_dim": 5},
)
# With no head size that is a square, a root that is rounded shows.
NO_SQUARES = checks.sizes(
    {"B": 2, "N": 5, "D": 18, "heads": 3, "head_dim": 6},
    {"B": 3, "N": 4, "D": 10, "heads": 5, "head_dim": 2},
)

# The heads do not divide these hidden dimensions.
UNEVEN = checks.sizes({"D": 10, "heads": 4}, {"D": 9, "heads": 2}, {"D": 8, "heads": 3})
PUBLIC = pytest.mark.public

steps = checks.StepChecks(scores="B heads N N", vectors="B heads N head_dim")
layer = checks.LayerChecks(
    step="MultiHeadSelfAttention",
    sizes=("D", "heads"),
    x="B N D",
    layers=dict.fromkeys(
        ("q_linear", "k_linear", "v_linear", "out_linear"), lambda draw: (draw["D"], draw["D"])
    ),
)

test_the_picture = checks.by_hand(
    __file__,
    tokens=("[class]", "sky", "sun", "grass", "cow"),
    followed=0,
    title="the picture of four patches, as the text works it out",
    project_qkv=lambda text: [
        text.batch,
        text.layer.q_linear,
        text.layer.k_linear,
        text.layer.v_linear,
    ],
    split_heads=lambda text: [text.projected[0], text.HEADS],
    compute_scaled_scores=lambda text: text.split[:2],
    compute_attention_weights=lambda text: [text.scaled[None]],
    apply_attention=lambda text: [checks.shares(text.weights[None]), text.values[None]],
    merge_heads=lambda text: [text.gathered[None]],
    project_output=lambda text: [text.merged[None], text.layer.out_linear],
    MultiHeadSelfAttention=lambda text: [
        {"made": [text.D, text.HEADS], **text.layer.state_dict()},
        [text.batch],
        {},
    ],
)


@pytest.mark.step("create_projections")
@PUBLIC
@SIZES
def test_projection_sizes(student, draw):
    """four layers from the hidden dimension to itself, each with a bias"""
    student(draw["D"]).has_layers()


@pytest.mark.step("project_qkv")
@PUBLIC(B=6)
@SIZES
def test_projection_values(student, draw):
    """queries, keys and values, in this order"""
    layers = (checks.linear(draw, draw["D"], draw["D"]) for _ in range(3))
    student(draw("B N D"), *layers).agrees()


@pytest.mark.step("split_heads")
@PUBLIC
@SIZES
def test_split_values(student, draw):
    """each head gets its slice of every token's vector"""
    student(draw("B N D"), draw["heads"]).agrees()


@pytest.mark.step("compute_scaled_scores")
@PUBLIC(N=3, heads=3, head_dim=3)
@SQUARE
@checks.AT_TWO_WIDTHS
def test_scaled_score_values(student, draw):
    """entry (i, j) is query i times key j, divided by the square root of the head size"""
    student(draw("B heads N head_dim"), draw("B heads N head_dim")).agrees()


@pytest.mark.step("compute_scaled_scores")
@PUBLIC(heads=4, head_dim=7)
@checks.AT_TWO_WIDTHS
def test_scaled_scores_at_another_width(student, draw):
    """the same, with vectors of another width"""
    student(draw("B heads N head_dim"), draw("B heads N head_dim")).agrees()


test_attention_weight_values = steps.attention_weight_values(PUBLIC, SIZES)
test_weighted_sum_values = steps.weighted_sum_values(
    PUBLIC(N=3, head_dim=3), SQUARE, where=", in each head"
)
test_merged_values = steps.merged_values(PUBLIC, SIZES)


@pytest.mark.step("project_output")
@PUBLIC
@SIZES
def test_output_values(student, draw):
    """the merged heads are mixed by the output layer"""
    student(draw("B N D"), checks.linear(draw, draw["D"], draw["D"])).agrees()


test_layer_keeps_its_layers = layer.keeps_its_layers(
    PUBLIC,
    SIZES,
    title="the attributes q_linear, k_linear, v_linear, out_linear have the right sizes",
)


@pytest.mark.step("MultiHeadSelfAttention")
@PUBLIC
@SIZES
def test_layer_keeps_its_sizes(student, draw):
    """num_heads and head_dim are attributes: how many heads there are, and the size of each"""
    layer.made(student, draw).attributes("num_heads", "head_dim").agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@PUBLIC(D=10, heads=4)
@UNEVEN
@pytest.mark.stays(
    "only this check catches a layer that is made without complaint, and says so in its own words; "
    "no other mistake could be taken for it"
)
def test_heads_divide_the_hidden_dimension(student, draw):
    """heads that do not divide the hidden dimension are refused"""
    layer.made(student, draw).attributes(*layer.layers).is_refused(
        f"Your class makes a layer with hidden_dim={draw['D']} and num_heads={draw['heads']}, but "
        "the heads cannot share the hidden dimension evenly. `__init__` should raise "
        "`AssertionError` or `ValueError`.",
        "AssertionError",
        "ValueError",
    )


test_layer_values = layer.values(PUBLIC(N=4, D=10, head_dim=5), NO_SQUARES)
test_layer_gradients = layer.gradients(PUBLIC(B=4, D=6, head_dim=3))
test_layer_in_float64 = layer.in_another_precision("float64")
test_layer_in_bfloat16 = layer.in_another_precision("bfloat16", PUBLIC)
test_layer_in_float16 = layer.in_another_precision("float16", PUBLIC)
test_the_steps_end_to_end = layer.end_to_end()

"""The hidden graders of torch_multi_head: shapes, values and properties of every step.

Sizes are pairwise distinct, batch and heads are more than 1, and the scores are spread
such that a softmax over them is neither flat nor one-hot: otherwise a wrong scale or a
wrong axis would hardly show. Weights are put into the class, never seeded inside it.
"""

import dataclasses

import pytest

from autograder.checks import shared_beside

checks = shared_beside(__file__, "_attention/checks.py")
sentence = shared_beside(__file__, "_attention/walkthrough.py")

SIZES = checks.sizes(
    {"B": 2, "S": 5, "C": 24, "heads": 4, "head_dim": 6},
    {"B": 4, "S": 7, "C": 10, "heads": 2, "head_dim": 5},
)
# Neither head size is a square, and their roots lie between different whole numbers.
WIDTHS = checks.sizes(
    {"B": 2, "S": 5, "heads": 4, "head_dim": 6}, {"B": 4, "S": 7, "heads": 2, "head_dim": 10}
)
# Equal sizes tell two ways to get the axes wrong apart: one fails there, the other does not.
SQUARE = checks.sizes(
    {"B": 2, "S": 5, "heads": 4, "head_dim": 6}, {"B": 4, "S": 4, "heads": 4, "head_dim": 4}
)
# The heads do not divide these hidden sizes.
UNEVEN = checks.sizes({"C": 10, "heads": 4}, {"C": 9, "heads": 2}, {"C": 8, "heads": 3})
# With as many heads as parts, one axis can be taken for the other.
THREE_HEADS = checks.sizes(
    {"B": 2, "S": 5, "C": 24, "heads": 4, "head_dim": 6},
    {"B": 4, "S": 7, "C": 12, "heads": 3, "head_dim": 4},
)
PUBLIC = pytest.mark.public

steps = checks.StepChecks(scores="B heads S S", vectors="B heads S head_dim")
layer = checks.LayerChecks(
    step="MultiHeadAttention",
    sizes=("C", "heads"),
    x="B S C",
    layers={
        "Wqkv": lambda draw: (draw["C"], 3 * draw["C"]),
        "Wo": lambda draw: (draw["C"], draw["C"]),
    },
)
causal_layer = dataclasses.replace(layer, step="CausalMultiHeadAttention")

test_the_sentence = checks.by_hand(
    __file__,
    tokens=sentence.WORDS,
    followed=sentence.IT,
    title="the sentence, as the text works it out",
    split_heads=lambda text: [text.projected, text.HEADS],
    compute_attention_scores=lambda text: text.all_heads[:2],
    scale_scores=lambda text: [text.scores[None], text.head_dim],
    compute_attention_weights=lambda text: [text.scaled[None]],
    apply_attention=lambda text: [checks.shares(text.weights[None]), text.values[None]],
    merge_heads=lambda text: [text.gathered[None]],
    project_output=lambda text: [text.merged[None], text.layer.Wo],
    MultiHeadAttention=lambda text: [
        {"made": [text.C, text.HEADS], **text.layer.state_dict()},
        [text.batch],
        {},
    ],
    CausalMultiHeadAttention=lambda text: [
        {"made": [text.C, text.HEADS], **text.layer.state_dict()},
        [text.batch],
        {"causal": True},
    ],
)


@pytest.mark.step("create_projections")
@PUBLIC
@SIZES
def test_projection_sizes(student, draw):
    """one layer to three times the hidden size, one that keeps it, both with a bias"""
    # First by name, to tell a bias that never comes from one that is off unless asked for.
    student(draw["C"], bias=True).has_layers()
    student(draw["C"]).has_layers()


test_projections_without_bias = layer.projections_without_bias(PUBLIC)


@pytest.mark.step("split_heads")
@PUBLIC(B=6)
@THREE_HEADS
def test_split_values(student, draw):
    """queries, keys and values, in this order, the heads side by side"""
    student(draw.shaped(draw["B"], draw["S"], 3 * draw["C"]), draw["heads"]).agrees()


test_score_values = steps.score_values(PUBLIC)
test_scores_of_equal_sizes = steps.scores_of_equal_sizes(
    PUBLIC(B=3, S=3, heads=3, head_dim=3), SQUARE
)
test_scaled_values = steps.scaled_values(PUBLIC(head_dim=6), WIDTHS)
test_scaled_at_another_width = steps.scaled_at_another_width(PUBLIC(heads=4, head_dim=11))
test_attention_weight_values = steps.attention_weight_values(PUBLIC, SIZES)
test_weighted_sum_values = steps.weighted_sum_values(PUBLIC(S=4), SQUARE, where=", in each head")
test_merged_values = steps.merged_values(PUBLIC, SIZES)


@pytest.mark.step("project_output")
@PUBLIC
@SIZES
def test_output_values(student, draw):
    """the merged heads are mixed by the output layer"""
    student(draw("B S C"), checks.linear(draw, draw["C"], draw["C"])).agrees()


@pytest.mark.step("project_output")
@PUBLIC
@checks.BARE
def test_output_without_bias(student, draw):
    """the same, with a layer that was made without a bias"""
    student(draw("B S C"), checks.bare(draw, draw["C"], draw["C"])).agrees()


test_layer_keeps_its_layers = layer.keeps_its_layers(
    PUBLIC, SIZES, title="the attributes Wqkv and Wo have the right sizes"
)


@pytest.mark.step("MultiHeadAttention")
@PUBLIC(C=10, heads=4)
@UNEVEN
@pytest.mark.stays(
    "what it catches is an exception that does not come, and nothing else in the step looks for "
    "one; no replayed result could name it, and its own sentence says what is expected"
)
def test_heads_divide_the_hidden_size(student, draw):
    """heads that do not divide the hidden size are refused"""
    layer.made(student, draw).attributes(*layer.layers).is_refused(
        f"Your class makes a layer with hidden_size={draw['C']} and num_heads={draw['heads']}, but "
        "the heads cannot share the hidden size evenly. `__init__` should raise `AssertionError` "
        "or `ValueError`.",
        "AssertionError",
        "ValueError",
    )


test_layer_values = layer.values(PUBLIC(C=6, head_dim=3), SIZES)
test_layer_without_bias = layer.without_bias(PUBLIC)
test_layer_gradients = layer.gradients(PUBLIC(B=4, C=10, head_dim=5))
test_layer_in_float64 = layer.in_another_precision("float64")
test_layer_in_bfloat16 = layer.in_another_precision("bfloat16", PUBLIC)
test_layer_in_float16 = layer.in_another_precision("float16", PUBLIC)
test_causal_layer_keeps_its_layers = causal_layer.keeps_its_layers(
    PUBLIC, SIZES, title="the causal layer has both attributes, too"
)
test_causal_layer_values = causal_layer.values(
    pytest.mark.stays(
        "it is the causal layer at its plainest: what fails here has nothing to do with biases or "
        "gradients, and a student reads that in the title"
    ),
    PUBLIC,
    SIZES,
    title="with causal=True no token sees the future",
    causal=True,
)
test_causal_layer_is_off_by_default = causal_layer.values(
    PUBLIC, SIZES, title="every token sees all tokens unless causal=True is given"
)
test_causal_layer_without_bias = causal_layer.without_bias(checks.BARE, PUBLIC, causal=True)
test_causal_layer_gradients = causal_layer.gradients(options=(True,))
# No half precision: a mask in float32, as PyTorch's own documentation writes it, is a right one.
test_causal_layer_in_float64 = causal_layer.in_another_precision("float64", causal=True)
test_the_steps_end_to_end = layer.end_to_end()

"""The hidden graders of torch_single_head: shapes, values and properties of every step.

Sizes are pairwise distinct, the batch is larger than 1, and the scores are spread such
that a softmax over them is neither flat nor one-hot: otherwise a wrong scale or a wrong
axis would hardly show. Weights are put into the class, never seeded inside it.
"""

import pytest

from autograder.checks import shared_beside

checks = shared_beside(__file__, "_attention/checks.py")
sentence = shared_beside(__file__, "_attention/walkthrough.py")

SIZES = checks.sizes(
    {"B": 2, "S": 5, "C": 12, "head_dim": 3}, {"B": 3, "S": 4, "C": 24, "head_dim": 6}
)
# Equal sizes tell two ways to get the axes wrong apart: one fails there, the other does not.
SQUARE = checks.sizes(
    {"B": 2, "S": 5, "C": 12, "head_dim": 3}, {"B": 6, "S": 6, "C": 24, "head_dim": 6}
)
# A weight that is not transposed fits only where the layer has as many inputs as outputs.
EVEN = checks.sizes(
    {"B": 2, "S": 5, "C": 3, "head_dim": 3}, {"B": 3, "S": 4, "C": 24, "head_dim": 6}
)
# 4 does not divide these hidden sizes.
UNEVEN = checks.sizes({"C": 11, "head_dim": 2})
PUBLIC = pytest.mark.public

steps = checks.StepChecks(scores="B S S", vectors="B S head_dim")
layer = checks.LayerChecks(
    step="SingleHeadAttention",
    sizes=("C",),
    x="B S C",
    layers={
        "Wqkv": lambda draw: (draw["C"], 3 * draw["head_dim"]),
        "Wo": lambda draw: (draw["head_dim"], draw["C"]),
    },
)

test_the_sentence = checks.by_hand(
    __file__,
    tokens=sentence.WORDS,
    followed=sentence.IT,
    title="the sentence, as the text works it out",
    project_qkv=lambda text: [text.x[None], text.layer.Wqkv],
    compute_attention_scores=lambda text: [text.queries[None], text.keys[None]],
    scale_scores=lambda text: [text.scores[None], text.head_dim],
    compute_attention_weights=lambda text: [text.scaled[None]],
    apply_attention=lambda text: [checks.shares(text.weights[None]), text.values[None]],
    project_output=lambda text: [text.gathered[None], text.layer.Wo],
    SingleHeadAttention=lambda text: [
        {"made": [text.C], **text.layer.state_dict()},
        [text.x[None]],
        {},
    ],
)


@pytest.mark.step("create_projections")
@PUBLIC
@SIZES
def test_projection_sizes(student, draw):
    """one layer to three times head_dim and one back, both with a bias"""
    student(draw["C"]).has_layers()


test_projections_without_bias = layer.projections_without_bias(PUBLIC)


@pytest.mark.step("create_projections")
@PUBLIC(C=11)
@UNEVEN
def test_uneven_projection_sizes(student, draw):
    """a hidden size that is not a multiple of 4"""
    student(draw["C"], bias=True).has_layers()


@pytest.mark.step("project_qkv")
@PUBLIC(B=4)
@SIZES
def test_projection_values(student, draw):
    """queries, keys and values, in this order"""
    student(draw("B S C"), checks.linear(draw, draw["C"], 3 * draw["head_dim"])).agrees()


@pytest.mark.step("project_qkv")
@PUBLIC(B=4)
@checks.BARE
def test_projection_without_bias(student, draw):
    """the same, with a layer that was made without a bias"""
    student(draw("B S C"), checks.bare(draw, draw["C"], 3 * draw["head_dim"])).agrees()


test_score_values = steps.score_values(PUBLIC)
test_scores_of_equal_sizes = steps.scores_of_equal_sizes(PUBLIC(B=3, S=3, head_dim=3), SQUARE)
test_scaled_values = steps.scaled_values(PUBLIC, SIZES)
test_scaled_at_another_width = steps.scaled_at_another_width(PUBLIC(head_dim=11))
test_attention_weight_values = steps.attention_weight_values(PUBLIC, SIZES)
test_weighted_sum_values = steps.weighted_sum_values(PUBLIC(S=3, head_dim=3), SQUARE)


@pytest.mark.step("project_output")
@PUBLIC(C=2)
@EVEN
def test_output_values(student, draw):
    """the gathered values are brought back to the hidden size"""
    student(draw("B S head_dim"), checks.linear(draw, draw["head_dim"], draw["C"])).agrees()


@pytest.mark.step("project_output")
@PUBLIC
@checks.BARE
def test_output_without_bias(student, draw):
    """the same, with a layer that was made without a bias"""
    student(draw("B S head_dim"), checks.bare(draw, draw["head_dim"], draw["C"])).agrees()


test_layer_keeps_its_layers = layer.keeps_its_layers(
    PUBLIC, SIZES, title="the attributes Wqkv and Wo have the right sizes"
)
test_layer_values = layer.values(PUBLIC(B=3, S=4, C=20, head_dim=5), SQUARE)
test_uneven_layer_values = layer.values(UNEVEN, title="a hidden size that is not a multiple of 4")
test_layer_without_bias = layer.without_bias(PUBLIC)
test_layer_gradients = layer.gradients(PUBLIC)
test_layer_in_float64 = layer.in_another_precision("float64")
test_layer_in_bfloat16 = layer.in_another_precision("bfloat16", PUBLIC)
test_layer_in_float16 = layer.in_another_precision("float16", PUBLIC)
test_the_steps_end_to_end = layer.end_to_end()

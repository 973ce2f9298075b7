"""The hidden graders of torch_single_head: shapes, values and properties of every step.

Sizes are pairwise distinct, the batch is larger than 1, and the scores are spread such
that a softmax over them is neither flat nor one-hot: otherwise a wrong scale or a wrong
axis would hardly show. Weights are put into the class, never seeded inside it.
"""

import numpy as np
import pytest
import torch

from autograder.wire import Linear

SIZES = pytest.mark.parametrize(
    "draw",
    [{"B": 2, "S": 5, "C": 12, "head_dim": 3}, {"B": 3, "S": 4, "C": 24, "head_dim": 6}],
    indirect=True,
)
# Equal sizes keep two ways to get the axes wrong apart: one fails here, the other does not.
SQUARE = pytest.mark.parametrize(
    "draw",
    [{"B": 3, "S": 6, "C": 24, "head_dim": 6}, {"B": 2, "S": 5, "C": 12, "head_dim": 3}],
    indirect=True,
)
# 4 does not divide these hidden sizes.
UNEVEN = pytest.mark.parametrize("draw", [{"C": 10, "head_dim": 2}], indirect=True)

LAYER_NAMES = ("Wqkv", "Wo")
PARAMETER_NAMES = ("Wqkv.weight", "Wqkv.bias", "Wo.weight", "Wo.bias")


def linear(draw, inputs, outputs):
    """A linear layer that keeps the spread of what it projects."""
    return Linear(draw.shaped(outputs, inputs, scale=inputs**-0.5), draw.shaped(outputs, scale=0.5))


def parameters(draw):
    """Weights and biases of both layers, by name."""
    head_dim = draw["head_dim"]
    layers = (linear(draw, draw["C"], 3 * head_dim), linear(draw, head_dim, draw["C"]))
    tensors = [tensor for layer in layers for tensor in (layer.weight, layer.bias)]
    return dict(zip(PARAMETER_NAMES, tensors))


def rows_of_weights(draw):
    """Attention weights (B, S, S): positive, and every row sums to 1."""
    exponentials = np.exp(draw("B S S"))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.mark.step("create_projections")
@pytest.mark.public
@SIZES
def test_projection_sizes(student, draw):
    """one layer to three times head_dim, one back, both with a bias"""
    student(draw["C"]).has_layers()


@pytest.mark.step("create_projections")
@pytest.mark.public
def test_projections_without_bias(student, draw):
    """bias=False leaves the bias out of both layers"""
    student(draw["C"], bias=False).has_layers()


@pytest.mark.step("create_projections")
@pytest.mark.public(C=10)
@UNEVEN
def test_uneven_projection_sizes(student, draw):
    """a hidden size that 4 does not divide"""
    student(draw["C"], bias=True).has_layers()


@pytest.mark.step("project_qkv")
@pytest.mark.public
@SIZES
def test_projection_values(student, draw):
    """queries, keys and values, in this order"""
    student(draw("B S C"), linear(draw, draw["C"], 3 * draw["head_dim"])).agrees()


@pytest.mark.step("compute_attention_scores")
@pytest.mark.public(B=2, S=3, head_dim=3)
@SQUARE
def test_score_values(student, draw):
    """entry (i, j) is query i times key j, unscaled"""
    student(draw("B S head_dim"), draw("B S head_dim")).agrees()


@pytest.mark.step("scale_scores")
@pytest.mark.public
@SIZES
def test_scaled_values(student, draw):
    """the scores are divided by the square root of the head size"""
    student(draw("B S S", scale=draw["head_dim"] ** 0.5), draw["head_dim"]).agrees()


@pytest.mark.step("scale_scores")
@pytest.mark.public
def test_scaling_leaves_its_input(student, draw):
    """the scores given are not changed"""
    student(draw("B S S"), draw["head_dim"]).leaves_its_arguments()


@pytest.mark.step("compute_attention_weights")
@pytest.mark.public
@SIZES
def test_attention_weight_values(student, draw):
    """every row of scores becomes weights that sum to 1"""
    student(draw("B S S")).agrees()


@pytest.mark.step("apply_attention")
@pytest.mark.public
@SIZES
def test_weighted_sum_values(student, draw):
    """each token gathers the values by its own row of weights"""
    student(rows_of_weights(draw), draw("B S head_dim")).agrees()


@pytest.mark.step("project_output")
@pytest.mark.public
@SIZES
def test_output_values(student, draw):
    """the gathered values are brought back to the hidden size"""
    student(draw("B S head_dim"), linear(draw, draw["head_dim"], draw["C"])).agrees()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.public
@SIZES
@pytest.mark.stays(
    "layers of a wrong name or size fail every check that puts weights into them, with an error "
    "that tells little; this one comes first and says which layer it is and what is due"
)
def test_layer_keeps_its_layers(student, draw):
    """Wqkv and Wo are attributes with the sizes of the projections"""
    student.constructed(draw["C"]).attributes(*LAYER_NAMES).has_layers()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.public
def test_layer_without_bias(student, draw):
    """bias=False leaves the bias out of both layers"""
    student.constructed(draw["C"], False).attributes(*LAYER_NAMES).has_layers()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.public(B=3, S=4)
@SQUARE
def test_layer_values(student, draw):
    """forward joins the steps; every token sees all tokens"""
    layer = student.constructed(draw["C"], **parameters(draw))
    layer.call("forward", draw("B S C")).agrees()


@pytest.mark.step("SingleHeadAttention")
@UNEVEN
def test_uneven_layer_values(student, draw):
    """a hidden size that 4 does not divide"""
    layer = student.constructed(draw["C"], **parameters(draw))
    layer.call("forward", draw("B S C")).agrees()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.public
def test_layer_gradients(student, draw):
    """a backward pass gives every parameter its gradient"""
    layer = student.constructed(draw["C"], **parameters(draw))
    layer.gradients(PARAMETER_NAMES, "forward", draw("B S C"), backward=draw("B S C")).agrees()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_layer_in_other_precisions(student, draw, dtype):
    """the layer works in float64, bfloat16 and float16 too"""
    layer = student.constructed(draw["C"], **parameters(draw)).cast(dtype)
    layer.call("forward", draw("B S C")).agrees()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_layer_is_the_same_in_training(student, draw, mode):
    """train() and eval() give the same output"""
    layer = student.constructed(draw["C"], **parameters(draw)).after(mode)
    layer.call("forward", draw("B S C")).agrees()


@pytest.mark.step("SingleHeadAttention")
def test_layer_called_twice(student, draw):
    """a second call gives the same output"""
    layer = student.constructed(draw["C"], **parameters(draw)).called(2)
    layer.call("forward", draw("B S C")).agrees()


@pytest.mark.step("SingleHeadAttention")
@pytest.mark.stays(
    "a second call sees an overwritten input too, but not apart from anything else that a call "
    "leaves behind; this check says that it is the caller's tensor"
)
def test_layer_leaves_its_input(student, draw):
    """the token vectors given are not changed"""
    layer = student.constructed(draw["C"], **parameters(draw))
    layer.call("forward", draw("B S C")).leaves_its_arguments()


@pytest.mark.chain_of_steps
def test_the_steps_end_to_end(chain, draw):
    """your own steps, one after the other"""
    x, tensors = draw("B S C"), parameters(draw)

    def forward(attention):
        layer = attention.SingleHeadAttention(draw["C"])
        layer.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
        return layer.forward(torch.from_numpy(x))

    chain(forward)

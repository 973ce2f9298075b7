"""The hidden graders of vit_multi_head: shapes, values and properties of every step.

Sizes are pairwise distinct, batch and heads are more than 1, and the scores are spread
such that a softmax over them is neither flat nor one-hot: otherwise a wrong scale or a
wrong axis would hardly show. Weights are put into the class, never seeded inside it.
"""

import numpy as np
import pytest
import torch

from autograder.wire import Linear

SIZES = pytest.mark.parametrize(
    "draw",
    [
        {"B": 2, "N": 5, "D": 12, "heads": 3, "head_dim": 4},
        {"B": 3, "N": 4, "D": 10, "heads": 5, "head_dim": 2},
    ],
    indirect=True,
)
# Equal sizes keep two ways to get the axes wrong apart: one fails here, the other does not.
SQUARE = pytest.mark.parametrize(
    "draw",
    [
        {"B": 3, "N": 6, "heads": 4, "head_dim": 6},
        {"B": 2, "N": 5, "heads": 3, "head_dim": 4},
        {"B": 3, "N": 4, "heads": 5, "head_dim": 2},
    ],
    indirect=True,
)

# The heads do not divide these hidden dimensions.
UNEVEN = pytest.mark.parametrize(
    "draw", [{"D": 10, "heads": 4}, {"D": 9, "heads": 2}], indirect=True
)

LAYER_NAMES = ("q_linear", "k_linear", "v_linear", "out_linear")
PARAMETER_NAMES = tuple(f"{layer}.{part}" for layer in LAYER_NAMES for part in ("weight", "bias"))


def linear(draw):
    """A linear layer from D to D that keeps the spread of what it projects."""
    return Linear(draw("D D", scale=draw["D"] ** -0.5), draw("D", scale=0.5))


def parameters(draw):
    """Weights and biases of the four layers, by name."""
    layers = [linear(draw) for _ in LAYER_NAMES]
    tensors = [tensor for layer in layers for tensor in (layer.weight, layer.bias)]
    return dict(zip(PARAMETER_NAMES, tensors))


def rows_of_weights(draw):
    """Attention weights (B, heads, N, N): positive, and every row sums to 1."""
    exponentials = np.exp(draw("B heads N N"))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.mark.step("create_projections")
@pytest.mark.public
@SIZES
def test_projection_sizes(student, draw):
    """four layers from the hidden dimension to itself, each with a bias"""
    student(draw["D"]).has_layers()


@pytest.mark.step("project_qkv")
@pytest.mark.public
@SIZES
def test_projection_values(student, draw):
    """queries, keys and values, in this order"""
    student(draw("B N D"), linear(draw), linear(draw), linear(draw)).agrees()


@pytest.mark.step("split_heads")
@pytest.mark.public
@SIZES
def test_split_values(student, draw):
    """each head gets its slice of every token's vector"""
    student(draw("B N D"), draw["heads"]).agrees()


@pytest.mark.step("compute_scaled_scores")
@pytest.mark.public
@SQUARE
def test_scaled_score_values(student, draw):
    """entry (i, j) is query i times key j, divided by the square root of the head size"""
    student(draw("B heads N head_dim"), draw("B heads N head_dim")).agrees()


@pytest.mark.step("compute_scaled_scores")
@pytest.mark.public
def test_scaling_leaves_its_input(student, draw):
    """the queries and keys given are not changed"""
    student(draw("B heads N head_dim"), draw("B heads N head_dim")).leaves_its_arguments()


@pytest.mark.step("compute_attention_weights")
@pytest.mark.public
@SIZES
def test_attention_weight_values(student, draw):
    """every row of scores becomes weights that sum to 1"""
    student(draw("B heads N N")).agrees()


@pytest.mark.step("apply_attention")
@pytest.mark.public
@SIZES
def test_weighted_sum_values(student, draw):
    """each token gathers the values by its own row of weights, in each head"""
    student(rows_of_weights(draw), draw("B heads N head_dim")).agrees()


@pytest.mark.step("merge_heads")
@pytest.mark.public
@SIZES
def test_merged_values(student, draw):
    """each token holds what its heads gathered, one head after the other"""
    student(draw("B heads N head_dim")).agrees()


@pytest.mark.step("project_output")
@pytest.mark.public
@SIZES
def test_output_values(student, draw):
    """the merged heads are mixed by the output layer"""
    student(draw("B N D"), linear(draw)).agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.public
@SIZES
@pytest.mark.stays(
    "layers of a wrong name or size fail every check that puts weights into them, with an error "
    "that tells little; this one comes first and says which layer it is and what is due"
)
def test_layer_keeps_its_layers(student, draw):
    """q_linear, k_linear, v_linear, out_linear are attributes with the sizes of the projections"""
    student.constructed(draw["D"], draw["heads"]).attributes(*LAYER_NAMES).has_layers()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.public
@SIZES
def test_layer_keeps_its_sizes(student, draw):
    """num_heads and head_dim are attributes: how many heads there are, and the size of each"""
    student.constructed(draw["D"], draw["heads"]).attributes("num_heads", "head_dim").agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.public(D=10, heads=4)
@UNEVEN
@pytest.mark.stays(
    "a layer that is made without complaint is caught by this check only, and is told in the "
    "check's own words; there is nothing to tell it apart from"
)
def test_heads_divide_the_hidden_dimension(student, draw):
    """heads that do not divide the hidden dimension are refused"""
    layer = student.constructed(draw["D"], draw["heads"]).attributes(*LAYER_NAMES)
    layer.is_refused(
        f"A layer with hidden_dim={draw['D']} and num_heads={draw['heads']} is made without "
        "complaint, and the heads cannot share the hidden dimension evenly: `__init__` has to "
        "raise AssertionError or ValueError.",
        "AssertionError",
        "ValueError",
    )


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.public(B=3, N=4, D=10, head_dim=5)
@SIZES
def test_layer_values(student, draw):
    """forward joins the steps; every token sees all tokens"""
    layer = student.constructed(draw["D"], draw["heads"], **parameters(draw))
    layer.call("forward", draw("B N D")).agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.public(D=4, head_dim=2)
def test_layer_gradients(student, draw):
    """a backward pass gives every parameter its gradient"""
    layer = student.constructed(draw["D"], draw["heads"], **parameters(draw))
    layer.gradients(PARAMETER_NAMES, "forward", draw("B N D"), backward=draw("B N D")).agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_layer_in_other_precisions(student, draw, dtype):
    """the layer works in float64, bfloat16 and float16 too"""
    layer = student.constructed(draw["D"], draw["heads"], **parameters(draw)).cast(dtype)
    layer.call("forward", draw("B N D")).agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.parametrize("mode", ["train", "eval"])
def test_layer_is_the_same_in_training(student, draw, mode):
    """train() and eval() give the same output"""
    layer = student.constructed(draw["D"], draw["heads"], **parameters(draw)).after(mode)
    layer.call("forward", draw("B N D")).agrees()


@pytest.mark.step("MultiHeadSelfAttention")
def test_layer_called_twice(student, draw):
    """a second call gives the same output"""
    layer = student.constructed(draw["D"], draw["heads"], **parameters(draw)).called(2)
    layer.call("forward", draw("B N D")).agrees()


@pytest.mark.step("MultiHeadSelfAttention")
@pytest.mark.stays(
    "a second call sees an overwritten input too, but not apart from anything else that a call "
    "leaves behind; this check says that it is the caller's tensor"
)
def test_layer_leaves_its_input(student, draw):
    """the token vectors given are not changed"""
    layer = student.constructed(draw["D"], draw["heads"], **parameters(draw))
    layer.call("forward", draw("B N D")).leaves_its_arguments()


@pytest.mark.chain_of_steps
def test_the_steps_end_to_end(chain, draw):
    """your own steps, one after the other"""
    x, tensors = draw("B N D"), parameters(draw)

    def forward(attention):
        layer = attention.MultiHeadSelfAttention(draw["D"], draw["heads"])
        layer.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
        return layer.forward(torch.from_numpy(x))

    chain(forward)

"""The hidden graders of stretch_steps: shapes, values and properties of every step.

Sizes are pairwise distinct where a mistake would otherwise go unseen; equal ones tell mistakes
apart that raise one and the same error elsewhere. Weights are put into the class.
"""

import numpy as np
import pytest

from autograder.checks import shared_beside

checks = shared_beside(__file__, "_attention/checks.py")
PUBLIC = pytest.mark.public

SPREADS = checks.sizes({"N": 7, "D": 6}, {"N": 5, "D": 9})
MASKS = checks.sizes({"B": 2, "T": 5}, {"B": 4, "T": 7}, {"B": 4, "T": 4})
# With equal sizes, a mask on the wrong axis fits and gives numbers of its own.
SCORES = checks.sizes({"B": 2, "S": 3, "T": 5}, {"B": 3, "S": 4, "T": 4}, {"B": 3, "S": 3, "T": 5})
# With equal sizes, one sequence can be taken for the other.
SEQUENCES = checks.sizes(
    {"B": 2, "S": 3, "T": 5, "C": 8, "E": 6}, {"B": 3, "S": 4, "T": 4, "C": 6, "E": 6}
)
# Many places, so that some padding has a score far above all others, whatever is drawn.
LOUD = checks.sizes({"B": 4, "S": 5, "T": 9, "C": 8, "E": 6})
layer = checks.LayerChecks(
    step="CrossAttention",
    sizes=("C", "E"),
    x="B S C",
    layers={
        "Wq": lambda draw: (draw["C"], draw["C"]),
        "Wkv": lambda draw: (draw["E"], 2 * draw["C"]),
        "Wo": lambda draw: (draw["C"], draw["C"]),
    },
)


def lengths(draw):
    """Lengths of B sequences of T places, far apart; the first has padding if there is room."""
    B, T = draw["B"], draw["T"]
    first = int(np.abs(10 * draw.shaped(1)).item()) % max(T - 1, 1)
    return 1 + (first + np.arange(B) * -(-T // 2)) % T


def padding_mask(draw, ends):
    """The mask of sequences of these lengths: (B, T)."""
    return np.arange(draw["T"]) < ends[:, None]


@pytest.mark.step("measure_spread")
@PUBLIC
@SPREADS
def test_spreads(student, draw):
    """the spread of the dot products for every width from 1 to D"""
    student(draw("N D"), draw("N D")).agrees()


@pytest.mark.step("create_padding_mask")
@PUBLIC
@MASKS
def test_mask_values(student, draw):
    """True for the real tokens at the beginning of each sequence, False for the padding"""
    student(lengths(draw), draw["T"]).agrees()


@pytest.mark.step("hide_padding")
@PUBLIC(B=4, S=4, T=4)
@SCORES
@pytest.mark.stays(
    "with equal sizes, a mask on the wrong axis gives numbers of its own and not an error, so a "
    "student is told which axis it is"
)
def test_hidden_values(student, draw):
    """the scores of padding are very negative for every query, the others stay"""
    student(draw("B S T"), padding_mask(draw, lengths(draw))).agrees()


@pytest.mark.step("hide_padding")
@PUBLIC
@pytest.mark.stays(
    "a mask of padding is True at the beginning of every row; this one is not, so it shows a step "
    "that looks at the number of real tokens and not at the mask"
)
def test_any_mask_is_applied(student, draw):
    """the mask that is passed in decides, wherever its False stand"""
    mask = padding_mask(draw, lengths(draw))[:, ::-1].copy()
    student(draw("B S T"), mask).agrees()


@pytest.mark.step("project_two_sequences")
@PUBLIC(B=7)
@SEQUENCES
def test_projection_values(student, draw):
    """queries from x, keys and values from the context"""
    C, E = draw["C"], draw["E"]
    x, context = draw("B S C"), draw("B T E")
    student(x, context, checks.linear(draw, C, C), checks.linear(draw, E, 2 * C)).agrees()


@pytest.mark.step("project_two_sequences")
@PUBLIC(B=7, S=4, T=4, C=6, E=6)
@checks.BARE
def test_projection_without_bias(student, draw):
    """the same, with layers that were made without a bias"""
    C, E = draw["C"], draw["E"]
    x, context = draw("B S C"), draw("B T E")
    student(x, context, checks.bare(draw, C, C), checks.bare(draw, E, 2 * C)).agrees()


test_layer_keeps_its_layers = layer.keeps_its_layers(
    PUBLIC, SEQUENCES, title="the attributes Wq, Wkv and Wo have the right sizes"
)


@pytest.mark.step("CrossAttention")
@PUBLIC(C=10, E=7)
@SEQUENCES
@pytest.mark.stays(
    "it is the layer at its plainest: what fails here has nothing to do with padding, and a "
    "student reads that in the title"
)
def test_layer_values(student, draw):
    """every token of x gathers from all tokens of the context"""
    layer.loaded(student, draw).call("forward", draw("B S C"), draw("B T E")).agrees()


@pytest.mark.step("CrossAttention")
@PUBLIC
@SEQUENCES
@pytest.mark.stays(
    "the checks of gradients and precisions ask with padding too, but their titles and numbers do "
    "not tell a student that padding is what they got wrong"
)
def test_layer_hides_padding(student, draw):
    """with lengths, nothing is gathered from padding"""
    x, context = draw("B S C"), draw("B T E")
    layer.loaded(student, draw).call("forward", x, context, lengths(draw)).agrees()


@pytest.mark.step("CrossAttention")
@PUBLIC
@LOUD
def test_layer_hides_loud_padding(student, draw):
    """padding may hold any numbers, even large ones"""
    x, context, ends = draw("B S C"), draw("B T E"), lengths(draw)
    loud = np.where(padding_mask(draw, ends)[..., None], context, 1000 * context)
    layer.loaded(student, draw).call("forward", x, loud.astype(x.dtype), ends).agrees()


@pytest.mark.step("CrossAttention")
@PUBLIC(S=4, T=4, C=6, E=6)
def test_layer_without_bias(student, draw):
    """without biases, there are none, and none is added"""
    parameters = layer.parameters(draw).items()
    weights = {name: each for name, each in parameters if name.endswith(".weight")}
    layer.made(student, draw, False).attributes(*layer.layers).has_layers()
    made = layer.made(student, draw, False, **weights)
    made.call("forward", draw("B S C"), draw("B T E")).agrees()


@pytest.mark.step("CrossAttention")
@PUBLIC
def test_layer_gradients(student, draw):
    """a backward pass gives every parameter its gradient"""
    x, context = draw("B S C"), draw("B T E")
    loaded = layer.loaded(student, draw)
    arguments = (layer.parameter_names, "forward", x, context, lengths(draw))
    loaded.gradients(*arguments, backward=draw("B S C")).agrees()


@pytest.mark.step("CrossAttention")
@checks.OTHER_PRECISIONS
def test_layer_in_other_precisions(student, draw):
    """the layer works in float64 too"""
    x, context = draw("B S C"), draw("B T E")
    loaded = layer.loaded(student, draw).cast("float64")
    loaded.call("forward", x, context, lengths(draw)).agrees()


@pytest.mark.chain_of_steps
def test_the_steps_end_to_end(chain, draw):
    """your own steps, one after the other"""
    import torch

    x, context, tensors = draw("B S C"), draw("B T E"), layer.parameters(draw)
    ends = lengths(draw)
    weights = {name: torch.from_numpy(array) for name, array in tensors.items()}

    def forward(attention):
        made = attention.CrossAttention(draw["C"], draw["E"])
        made.load_state_dict(weights)
        return made.forward(*map(torch.from_numpy, (x, context, ends)))

    chain(forward)

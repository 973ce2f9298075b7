"""The numbers in the prose: the sentence on its way through the reference.

Every word has the three numbers of the NumPy exercise and nine zeros, so that C is 12 and head_dim
is 3. The layers hold the matrices of that exercise, and this layer has no mask.
"""

import numpy as np
import torch

from autograder.checks import shared_beside, solution_beside

reference = solution_beside(__file__)
shared = shared_beside(__file__, "_attention/walkthrough.py")
# The prose writes its numbers with these.
globals().update({name: value for name, value in vars(shared).items() if name[:1] != "_"})
rounded, IT, CAT = shared.rounded, shared.IT, shared.CAT
S, head_dim = np.shape(shared.SENTENCE)
C = 4 * head_dim


def padded(rows, shape):
    """Return the rows as a tensor of `shape`, with zeros after them."""
    made = torch.zeros(shape)
    made[: len(rows), : len(rows[0])] = torch.tensor(rows)
    return made


def columns(matrix):
    """Return the columns of a matrix: a linear layer keeps its weight as (out, in)."""
    return [list(column) for column in zip(*matrix, strict=True)]


x = padded(shared.SENTENCE, (S, C))
layer = reference.SingleHeadAttention(C)
with torch.no_grad():
    parts = (shared.QUERY_WEIGHTS, shared.KEY_WEIGHTS, shared.VALUE_WEIGHTS)
    layer.Wqkv.weight.copy_(torch.cat([padded(columns(part), (head_dim, C)) for part in parts]))
    layer.Wo.weight.copy_(padded(columns(shared.OUTPUT_WEIGHTS), (C, head_dim)))
    layer.Wqkv.bias.zero_()
    layer.Wo.bias.zero_()
    exact = shared.numbers(layer(x[None])[0])


def shape_of(tensor):
    """Return the shape of a tensor as text."""
    return str(tuple(tensor.shape))


def parts_below():
    """Return the names of the three parts, each under the first of its numbers."""
    widths = [len(shared.listed(part)) + 3 for part in fused[IT].reshape(3, head_dim)]
    names = zip(("query", "key", "value"), widths, strict=True)
    return "".join(f"{name:<{width}}" for name, width in names).rstrip()


def batch(values):
    """Return an array as a tensor of one sequence."""
    return torch.tensor(values, dtype=torch.float32)[None]


fused = shared.numbers(layer.Wqkv(x))
queries, keys, values = (
    shared.numbers(each[0]) for each in reference.project_qkv(x[None], layer.Wqkv)
)
scores = shared.numbers(reference.compute_attention_scores(batch(queries), batch(keys))[0])
scaled = rounded(reference.scale_scores(batch(scores), head_dim)[0])
weights = rounded(reference.compute_attention_weights(batch(scaled))[0])
gathered = rounded(reference.apply_attention(batch(weights), batch(values))[0])
result = rounded(reference.project_output(batch(gathered), layer.Wo)[0])
powers = rounded(np.exp(scaled[IT]))

# What would be if: scaled by the hidden size, or shared out along the other axis.
flatter = rounded(reference.compute_attention_weights(reference.scale_scores(batch(scores), C))[0])
by_column = rounded(reference.compute_attention_weights(batch(scaled.T))[0]).T
three_layers = 3 * head_dim * C

# What the prose says in words.
assert np.array_equal(fused[IT], np.concatenate([queries[IT], keys[IT], values[IT]]))
assert layer.Wqkv.weight.numel() == three_layers
assert scores[IT].argmax() == CAT and weights[IT, CAT] > 0.5, "“cat” gets about half"
assert np.isclose(weights[IT].sum(), 1), "the shares sum to 1 as they are shown"
assert np.array_equal(np.round(powers / powers.sum(), 2), weights[IT]), "the shares by hand"
assert flatter[IT, CAT] < weights[IT, CAT], "a larger root makes the shares more alike"
assert abs(by_column[IT].sum() - 1) > 0.2, "“it” would gather too much or too little"
assert gathered[IT].argmax() == 0 and gathered[IT, 0] > 2 * x[IT, 0]
assert not result[:, head_dim:].any() and abs(exact - result).max() < 0.05

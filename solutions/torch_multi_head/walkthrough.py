"""The numbers in the prose: the sentence on its way through the reference, six numbers a word.

The first three numbers of a word, and what head 0 does with them, are those of the single head.
"""

import torch

from autograder.checks import shared_beside, solution_beside

reference = solution_beside(__file__)
shared = shared_beside(__file__, "_attention/walkthrough.py")
globals().update({name: value for name, value in vars(shared).items() if name[:1] != "_"})
rounded, CAT, IT, TIRED = shared.rounded, shared.CAT, shared.IT, shared.TIRED

HEADS = 2
HEAD_NAMES = tuple(f"head {head}" for head in range(HEADS))
# Where a word stands: in the first part of the sentence, between the parts, in the second part.
PLACES = (*[(1, 0, 0)] * 3, (0, 1, 0), *[(0, 0, 1)] * 3)
# Applied on the right of a place: look at the own part, and half as much at the joining word.
LOOK_AROUND = ((2, 1, 0), (1, 2, 1), (0, 1, 2))
SAME = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def tensor(rows):
    """Return rows as a tensor of float64."""
    return torch.tensor(rows, dtype=torch.float64)


def to_two_places(result):
    """Return a tensor, rounded as the prose shows it."""
    return tensor(rounded(result))


def read_by(words, places):
    """Return the rows of a layer (3, 6) that makes three numbers of a word and of its place."""
    return torch.cat([tensor(words).T, tensor(places).T], dim=1)


NOTHING = tuple([(0, 0, 0)] * 3)
Wqkv_weight = torch.cat(
    [
        read_by(shared.QUERY_WEIGHTS, NOTHING),
        read_by(NOTHING, LOOK_AROUND),
        read_by(shared.KEY_WEIGHTS, NOTHING),
        read_by(NOTHING, SAME),
        read_by(shared.VALUE_WEIGHTS, NOTHING),
        read_by(SAME, NOTHING),
    ]
)
Wo_weight = torch.zeros(6, 6, dtype=torch.float64)
Wo_weight[:3] = torch.cat([tensor(SAME), tensor(SAME)], dim=1)

batch = torch.cat([tensor(shared.SENTENCE), tensor(PLACES)], dim=1)[None]
x = batch[0]
B, S, C = batch.shape


def with_weights(layer):
    """Return a layer with the weights of the example and no bias."""
    with torch.no_grad():
        layer.double().Wqkv.weight.copy_(Wqkv_weight)
        layer.Wo.weight.copy_(Wo_weight)
        layer.Wqkv.bias.zero_()
        layer.Wo.bias.zero_()
    return layer


layer = with_weights(reference.MultiHeadAttention(C, HEADS))
projected = layer.Wqkv(batch).detach()
all_heads = reference.split_heads(projected, HEADS)
queries, keys, values = (each[0] for each in all_heads)
head_dim = queries.shape[-1]
scores = reference.compute_attention_scores(*all_heads[:2])[0]
scaled = to_two_places(reference.scale_scores(scores[None], head_dim)[0])
weights = to_two_places(reference.compute_attention_weights(scaled[None])[0])
too_flat = to_two_places(
    reference.compute_attention_weights(reference.scale_scores(scores[None], C))[0]
)
across_heads = to_two_places(scaled.softmax(dim=0))
gathered = to_two_places(reference.apply_attention(weights[None], values[None])[0])
merged = reference.merge_heads(gathered[None])[0]
result = to_two_places(reference.project_output(merged[None], layer.Wo)[0])
softmax_rows, powers_sum = shared.softmax_by_hand(scaled[1, IT])
unmasked = layer(batch).detach()[0]
causal_layer = with_weights(reference.CausalMultiHeadAttention(C, HEADS))
causal = causal_layer(batch, causal=True).detach()[0]
visible = torch.ones(S, S, dtype=torch.bool).tril()
masked = scaled.masked_fill(~visible, -1e9)
masked_weights = to_two_places(reference.compute_attention_weights(masked[None])[0])

# What comes out when a reshape stands where axes have to change places.
queries_cut_across = projected[0, :, :C].reshape(HEADS, S, head_dim)
joined = reference.compute_attention_scores(*reference.split_heads(projected, 1)[:2])
one_head = to_two_places(reference.compute_attention_weights(reference.scale_scores(joined, C)))[
    0, 0
]
merged_across = gathered.reshape(S, C)
swapped = gathered.transpose(0, 1)
far = swapped.stride(1)


def of_it(rows):
    """Return the row of “it” in each head, (heads, S, S)."""
    return shared.table(dict(zip(HEAD_NAMES, rows[:, IT], strict=True)))


def sentence():
    """Return the six numbers of every word, a line for each of the numbers."""
    names = ("thing", "happens", "leans", "first part", "between", "second part")
    return shared.table(dict(zip(names, x.T, strict=True)))


def values_and_shares(head):
    """Return the values of a head and the shares of “it”, a column for each word."""
    columns = dict(zip(("value", "", " "), values[head].T, strict=True))
    return shared.table({**columns, "share": weights[head, IT]})


# What the prose says in words.
assert (C, HEADS, head_dim, S) == (6, 2, 3, 7), "every axis has another size"
assert torch.equal(queries_cut_across[0, CAT], queries[1, 0]), "“the” in place of “cat”"
assert torch.equal(merged_across[0], gathered[0, :2].flatten()), "“the” and “cat”, head 0"
assert all(each.data_ptr() != 0 and each._base is not None for each in all_heads), "views"
memory = projected.untyped_storage().data_ptr()
assert {each.untyped_storage().data_ptr() for each in all_heads} == {memory}, "no number moves"
assert swapped.untyped_storage().data_ptr() == gathered.untyped_storage().data_ptr()
assert not swapped.is_contiguous() and far == S * head_dim
assert scores[0, IT].argmax() == CAT and weights[0, IT, CAT] > 0.5, "more than half to “cat”"
assert len(set(scaled[1, IT, IT:].tolist())) == 1, "alike to its own part of the sentence"
assert torch.equal(weights[1, IT], tensor(softmax_rows["share"])), "the shares by hand"
assert torch.allclose(weights[:, IT].sum(dim=-1), torch.ones(2).double()), "shares sum to 1"
assert too_flat[0, IT, CAT] < weights[0, IT, CAT]
assert abs(unmasked[IT] - result[IT]).max() < 0.05, "rounding changes little"
backwards = torch.arange(S).flip(0)
assert torch.allclose(layer(batch[:, backwards])[0], unmasked[backwards]), "order is not seen"
assert torch.allclose(causal[-1], unmasked[-1]) and not torch.allclose(causal[IT], unmasked[IT])
assert one_head[IT, CAT] == one_head[IT, IT] == one_head[IT, TIRED] == one_head[IT].max()
assert torch.equal(result[:, 3:], torch.zeros(S, 3).double()), "the place stays as it was"

# What the learner's own looks and first test should show.
wide, _ = reference.create_projections(64)
assert wide.weight.shape == (192, 64) and 0.12 < wide.weight.abs().max() <= 0.125
small = reference.MultiHeadAttention(hidden_size=8, num_heads=2)
tried = torch.randn(2, 4, 8)
assert small(tried).shape == (2, 4, 8) and small.Wqkv(tried).shape == (2, 4, 24)
assert {each.shape for each in reference.split_heads(small.Wqkv(tried), 2)} == {(2, 2, 4, 4)}

"""The numbers in the prose: the sentence on its way through the reference, three numbers a word."""

import numpy as np

from autograder.checks import shared_beside, solution_beside

reference = solution_beside(__file__)
shared = shared_beside(__file__, "_attention/walkthrough.py")
# The prose writes its numbers with these.
globals().update({name: value for name, value in vars(shared).items() if name[:1] != "_"})
rounded, IT, CAT, TIRED, WAS = shared.rounded, shared.IT, shared.CAT, shared.TIRED, shared.WAS

x = shared.numbers(shared.SENTENCE)
query_weights = shared.numbers(shared.QUERY_WEIGHTS)
key_weights = shared.numbers(shared.KEY_WEIGHTS)
value_weights = shared.numbers(shared.VALUE_WEIGHTS)
output_weights = shared.numbers(shared.OUTPUT_WEIGHTS)
S, D = x.shape

batch = x[np.newaxis]
projected = reference.project_qkv(batch, query_weights, key_weights, value_weights)
queries, keys, values = (each[0] for each in projected)
scores = reference.compute_attention_scores(projected[0], projected[1])[0]
scaled = rounded(reference.scale_scores(scores[np.newaxis], D)[0])
mask = reference.create_causal_mask(S)
masked = reference.apply_mask(scaled[np.newaxis], mask)[0]
weights = rounded(reference.compute_attention_weights(masked[np.newaxis])[0])
seen_all = rounded(reference.compute_attention_weights(scaled[np.newaxis])[0])
unscaled = rounded(
    reference.compute_attention_weights(reference.apply_mask(scores[np.newaxis], mask))[0]
)
gathered = rounded(reference.apply_attention(weights[np.newaxis], values[np.newaxis])[0])
result = rounded(reference.project_output(gathered[np.newaxis], output_weights)[0])
SEED = 0
drawn = reference.initialize_weights(D, np.random.default_rng(SEED))

# What “it” may see: the words up to itself.
SEEN = IT + 1
softmax_rows, powers_sum = shared.softmax_by_hand(scaled[IT, :SEEN])


def layer():
    """Return the reference's layer with the matrices of the example."""
    made = reference.SingleHeadAttention(D, np.random.default_rng(0))
    made.query_weights, made.key_weights = query_weights, key_weights
    made.value_weights, made.output_weights = value_weights, output_weights
    return made


# What the prose says in words.
assert np.array_equal(
    rounded(reference.softmax(scaled[np.newaxis, IT:SEEN, :SEEN])[0, 0]), softmax_rows["share"]
), "the shares by hand are those of the reference"
assert np.array_equal(weights[IT, :SEEN], softmax_rows["share"]), "the mask leaves five words"
assert scores[IT].argmax() == CAT and (scores[IT] == scores[IT, CAT]).sum() == 1
assert scores[IT, CAT] != scores[CAT, IT], "a score has a direction"
assert weights[IT].sum() == 1 and weights[IT, CAT] > 0.5, "“cat” gets more than half"
assert not weights[IT, SEEN:].any(), "nothing is left for what comes later"
assert seen_all[IT, WAS:].all() and unscaled[IT, CAT] > weights[IT, CAT]
assert (gathered[IT].argmax(), gathered[IT, 0] > 2 * x[IT, 0]) == (0, True), "mostly “thing”"
alone = layer().forward(batch)[0]
causal = layer().forward(batch, causal=True)[0]
assert np.flatnonzero(np.isclose(alone, causal).all(axis=-1)).tolist() == [TIRED], "only the last"
assert abs(causal[IT] - result[IT]).max() < 0.05, "rounding changes little"

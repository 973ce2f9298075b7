# kind: correct
# base: reference
# hands in: script
def softmax(scores):
    exponentials = np.exp(scores - np.max(scores, axis=2)[:, :, None])
    return np.einsum("bij,bi->bij", exponentials, 1.0 / np.einsum("bij->bi", exponentials))


def initialize_weights(embedding_dimension, rng):
    return list(rng.normal(0.0, 0.02, size=(4, embedding_dimension, embedding_dimension)))


def project_qkv(x, query_weights, key_weights, value_weights):
    return tuple(
        np.einsum("bsd,de->bse", x, w) for w in (query_weights, key_weights, value_weights)
    )


def compute_attention_scores(queries, keys):
    return np.einsum("bid,bjd->bij", queries, keys)


def scale_scores(attention_scores, embedding_dimension):
    return attention_scores * embedding_dimension**-0.5


def create_causal_mask(sequence_length):
    return np.arange(sequence_length)[:, None] >= np.arange(sequence_length)[None, :]


def apply_mask(scaled_scores, causal_mask):
    return np.where(causal_mask.astype(bool), scaled_scores, np.finfo(scaled_scores.dtype).min)


def compute_attention_weights(scores):
    return softmax(scores)


def apply_attention(attention_weights, values):
    return np.einsum("bij,bjd->bid", attention_weights, values)


def project_output(attention_output, output_weights):
    return np.einsum("bsd,de->bse", attention_output, output_weights)

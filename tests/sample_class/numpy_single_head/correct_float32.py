# kind: correct
# base: reference
# hands in: script
def softmax(scores):
    scores = np.asarray(scores, dtype=np.float32)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def initialize_weights(embedding_dimension, rng):
    shape = (embedding_dimension, embedding_dimension)
    return tuple(rng.normal(scale=0.02, size=shape).astype(np.float32) for _ in range(4))


def project_qkv(x, query_weights, key_weights, value_weights):
    x = x.astype(np.float32)
    return (
        x @ query_weights.astype(np.float32),
        x @ key_weights.astype(np.float32),
        x @ value_weights.astype(np.float32),
    )


def compute_attention_scores(queries, keys):
    return queries.astype(np.float32) @ keys.astype(np.float32).transpose(0, 2, 1)


def scale_scores(attention_scores, embedding_dimension):
    return attention_scores.astype(np.float32) / np.float32(np.sqrt(embedding_dimension))


def create_causal_mask(sequence_length):
    return np.tril(np.ones((sequence_length, sequence_length), dtype=np.float32))


def apply_mask(scaled_scores, causal_mask):
    return np.where(causal_mask > 0, scaled_scores, -1e9).astype(np.float32)


def apply_attention(attention_weights, values):
    return attention_weights.astype(np.float32) @ values.astype(np.float32)


def project_output(attention_output, output_weights):
    return attention_output.astype(np.float32) @ output_weights.astype(np.float32)

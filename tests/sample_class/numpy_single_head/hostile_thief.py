# kind: hostile
# base: stub
# hands in: script
# outcome: raised
def stolen(name):
    names = {}
    with open("SOLUTIONS_FOLDER/numpy_single_head/solution.py") as file:
        exec(file.read(), names)
    return names[name]


def softmax(scores):
    return stolen("softmax")(scores)


def initialize_weights(embedding_dimension, rng):
    return stolen("initialize_weights")(embedding_dimension, rng)


def project_qkv(x, query_weights, key_weights, value_weights):
    return stolen("project_qkv")(x, query_weights, key_weights, value_weights)


def compute_attention_scores(queries, keys):
    return stolen("compute_attention_scores")(queries, keys)


def scale_scores(attention_scores, embedding_dimension):
    return stolen("scale_scores")(attention_scores, embedding_dimension)


def create_causal_mask(sequence_length):
    return stolen("create_causal_mask")(sequence_length)


def apply_mask(scaled_scores, causal_mask):
    return stolen("apply_mask")(scaled_scores, causal_mask)


def compute_attention_weights(scores):
    return stolen("compute_attention_weights")(scores)


def apply_attention(attention_weights, values):
    return stolen("apply_attention")(attention_weights, values)


def project_output(attention_output, output_weights):
    return stolen("project_output")(attention_output, output_weights)


class SingleHeadAttention:
    def __new__(cls, embedding_dimension, rng):
        return stolen("SingleHeadAttention")(embedding_dimension, rng)

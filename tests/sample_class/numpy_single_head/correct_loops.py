# kind: correct
# base: reference
# hands in: notebook
def softmax(scores):
    weights = np.zeros_like(scores)
    for b in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            top = max(scores[b, i])
            shares = [float(np.exp(score - top)) for score in scores[b, i]]
            weights[b, i] = [share / sum(shares) for share in shares]
    return weights


def initialize_weights(embedding_dimension, rng):
    matrices = []
    for _ in range(4):
        matrix = np.zeros((embedding_dimension, embedding_dimension))
        for row in range(embedding_dimension):
            for column in range(embedding_dimension):
                matrix[row, column] = rng.normal(0, 0.02)
        matrices.append(matrix)
    return tuple(matrices)


def project_qkv(x, query_weights, key_weights, value_weights):
    results = []
    for weights in (query_weights, key_weights, value_weights):
        result = np.zeros((x.shape[0], x.shape[1], weights.shape[1]))
        for b in range(x.shape[0]):
            for s in range(x.shape[1]):
                for d in range(weights.shape[1]):
                    result[b, s, d] = sum(x[b, s, e] * weights[e, d] for e in range(x.shape[2]))
        results.append(result)
    return results


def compute_attention_scores(queries, keys):
    batch, length, _ = queries.shape
    scores = np.zeros((batch, length, length))
    for b in range(batch):
        for i in range(length):
            for j in range(length):
                scores[b, i, j] = np.dot(queries[b, i], keys[b, j])
    return scores


def create_causal_mask(sequence_length):
    return np.array(
        [[1 if j <= i else 0 for j in range(sequence_length)] for i in range(sequence_length)]
    )


def apply_mask(scaled_scores, causal_mask):
    masked = scaled_scores.copy()
    for i in range(causal_mask.shape[0]):
        for j in range(causal_mask.shape[1]):
            if not causal_mask[i, j]:
                masked[:, i, j] = -1e9
    return masked


def apply_attention(attention_weights, values):
    output = np.zeros_like(values)
    for b in range(values.shape[0]):
        for i in range(values.shape[1]):
            for j in range(values.shape[1]):
                output[b, i] += attention_weights[b, i, j] * values[b, j]
    return output

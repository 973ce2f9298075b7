# kind: class only
# base: stub
# hands in: notebook
class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        for name in ("query", "key", "value", "output"):
            matrix = rng.normal(0, 0.02, (embedding_dimension, embedding_dimension))
            setattr(self, f"{name}_weights", matrix)

    def forward(self, x, causal=False):
        q, k, v = x @ self.query_weights, x @ self.key_weights, x @ self.value_weights
        scores = q @ k.transpose(0, 2, 1) / x.shape[-1] ** 0.5
        if causal:
            scores += np.triu(np.full(scores.shape[1:], -np.inf), 1)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v @ self.output_weights

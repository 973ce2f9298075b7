# kind: mistake
# base: reference
# hands in: notebook
# loses: SingleHeadAttention
# named: causal_ignored
class SingleHeadAttention:
    def __init__(self, embedding_dimension, rng):
        weights = initialize_weights(embedding_dimension, rng)
        self.query_weights, self.key_weights, self.value_weights, self.output_weights = weights

    def forward(self, x, causal=False):
        q, k, v = project_qkv(x, self.query_weights, self.key_weights, self.value_weights)
        scores = scale_scores(compute_attention_scores(q, k), x.shape[-1])
        return project_output(
            apply_attention(compute_attention_weights(scores), v), self.output_weights
        )

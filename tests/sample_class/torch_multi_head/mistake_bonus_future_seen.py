# kind: mistake
# base: reference
# hands in: script
# loses: CausalMultiHeadAttention
# named: masked_after_the_softmax
class CausalMultiHeadAttention(MultiHeadAttention):
    def forward(self, x, causal=False):
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        scores = scale_scores(compute_attention_scores(queries, keys), keys.shape[-1])
        weights = compute_attention_weights(scores)
        if causal:
            weights = torch.tril(weights)
        return project_output(merge_heads(apply_attention(weights, values)), self.Wo)

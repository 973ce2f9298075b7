# kind: mistake
# base: reference
# hands in: notebook
# loses: MultiHeadAttention
# named: scores_detached
class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__()
        assert hidden_size % num_heads == 0
        self.num_heads = num_heads
        self.Wqkv, self.Wo = create_projections(hidden_size, bias)

    def forward(self, x):
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        with torch.no_grad():
            scores = scale_scores(compute_attention_scores(queries, keys), keys.shape[-1])
            weights = compute_attention_weights(scores)
        return project_output(merge_heads(apply_attention(weights, values)), self.Wo)

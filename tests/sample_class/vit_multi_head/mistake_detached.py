# kind: mistake
# base: reference
# hands in: notebook
# loses: MultiHeadSelfAttention
# named: scores_detached
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        assert hidden_dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.q_linear, self.k_linear, self.v_linear, self.out_linear = create_projections(
            hidden_dim
        )

    def forward(self, x):
        q, k, v = project_qkv(x, self.q_linear, self.k_linear, self.v_linear)
        q, k, v = (split_heads(each, self.num_heads) for each in (q, k, v))
        with torch.no_grad():
            weights = compute_attention_weights(compute_scaled_scores(q, k))
        return project_output(merge_heads(apply_attention(weights, v)), self.out_linear)

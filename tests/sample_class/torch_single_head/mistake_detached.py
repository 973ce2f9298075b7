# kind: mistake
# base: reference
# hands in: notebook
# loses: SingleHeadAttention
# named: scores_detached
class SingleHeadAttention(nn.Module):
    def __init__(self, hidden_size, bias=True):
        super().__init__()
        self.Wqkv, self.Wo = create_projections(hidden_size, bias)

    def forward(self, x):
        q, k, v = project_qkv(x, self.Wqkv)
        with torch.no_grad():
            weights = compute_attention_weights(
                scale_scores(compute_attention_scores(q, k), k.size(-1))
            )
        return project_output(apply_attention(weights, v), self.Wo)

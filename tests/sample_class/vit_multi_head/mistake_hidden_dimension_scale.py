# kind: mistake
# base: reference
# hands in: script
# loses: compute_scaled_scores
# named: divided_by_the_root_of_the_hidden_dimension
def compute_scaled_scores(queries, keys):
    B, heads, N, head_dim = queries.shape
    hidden_dim = heads * head_dim
    return torch.matmul(queries, keys.transpose(2, 3)) / hidden_dim**0.5

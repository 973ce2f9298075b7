# kind: correct
# base: reference
# hands in: script
def create_projections(hidden_dim):
    return [nn.Linear(hidden_dim, hidden_dim) for _ in range(4)]


def project_qkv(x, q_linear, k_linear, v_linear):
    layers = (q_linear, k_linear, v_linear)
    weights = torch.stack([layer.weight for layer in layers])
    biases = torch.stack([layer.bias for layer in layers])
    return (torch.einsum("bnd,ted->tbne", x, weights) + biases[:, None, None]).unbind(0)


def split_heads(projected, num_heads):
    return projected.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def compute_scaled_scores(queries, keys):
    return torch.einsum("bhid,bhjd->bhij", queries * queries.size(-1) ** -0.5, keys)


def compute_attention_weights(scaled_scores):
    return torch.softmax(scaled_scores, -1)


def apply_attention(attention_weights, values):
    return torch.einsum("bhij,bhjd->bhid", attention_weights, values)


def merge_heads(attention_output):
    return torch.einsum("bhnd->bnhd", attention_output).flatten(2)


def project_output(merged, out_linear):
    return torch.einsum("bnd,ed->bne", merged, out_linear.weight) + out_linear.bias

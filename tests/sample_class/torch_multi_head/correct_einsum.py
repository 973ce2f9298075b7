# kind: correct
# base: reference
# hands in: script
def split_heads(projected, num_heads):
    batch, length, width = projected.shape
    parts = projected.view(batch, length, 3, num_heads, width // 3 // num_heads)
    return tuple(torch.einsum("bsphd->pbhsd", parts))


def compute_attention_scores(queries, keys):
    return torch.einsum("bhid,bhjd->bhij", queries, keys)


def scale_scores(attention_scores, head_dim):
    return attention_scores * head_dim**-0.5


def compute_attention_weights(scaled_scores):
    return torch.nn.functional.softmax(scaled_scores, dim=3)


def apply_attention(attention_weights, values):
    return torch.einsum("bhij,bhjd->bhid", attention_weights, values)


def merge_heads(attention_output):
    return torch.einsum("bhsd->bshd", attention_output).flatten(start_dim=2)


def project_output(merged, Wo):
    projected = torch.einsum("bsc,dc->bsd", merged, Wo.weight)
    return projected if Wo.bias is None else projected + Wo.bias

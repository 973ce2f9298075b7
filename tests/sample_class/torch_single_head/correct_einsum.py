# kind: correct
# base: reference
# hands in: script
def project_qkv(x, Wqkv):
    head_dim = Wqkv.out_features // 3
    projected = torch.einsum("bsc,oc->bso", x, Wqkv.weight)
    if Wqkv.bias is not None:
        projected = projected + Wqkv.bias
    return projected.split(head_dim, dim=-1)


def compute_attention_scores(queries, keys):
    return torch.einsum("bid,bjd->bij", queries, keys)


def scale_scores(attention_scores, head_dim):
    return attention_scores * head_dim**-0.5


def compute_attention_weights(scaled_scores):
    return torch.softmax(scaled_scores, -1)


def apply_attention(attention_weights, values):
    return torch.einsum("bij,bjd->bid", attention_weights, values)

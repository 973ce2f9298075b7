# kind: correct
# base: reference
# hands in: notebook
def compute_attention_scores(queries, keys):
    return torch.bmm(queries, keys.mT)


def compute_attention_weights(scaled_scores):
    shifted = scaled_scores - scaled_scores.amax(dim=-1, keepdim=True)
    return shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)


def apply_attention(attention_weights, values):
    return torch.stack([weights @ gathered for weights, gathered in zip(attention_weights, values)])

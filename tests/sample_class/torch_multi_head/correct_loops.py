# kind: correct
# base: reference
# hands in: notebook
def create_projections(hidden_size, bias=True):
    layers = []
    for times in (3, 1):
        layers.append(nn.Linear(hidden_size, times * hidden_size, bias))
    return layers


def split_heads(projected, num_heads):
    size = projected.shape[-1] // (3 * num_heads)
    results = []
    for part in range(3):
        heads = []
        for head in range(num_heads):
            begin = (part * num_heads + head) * size
            heads.append(projected[:, :, begin : begin + size])
        results.append(torch.stack(heads, dim=1))
    return results


def compute_attention_scores(queries, keys):
    rows = []
    for i in range(queries.shape[2]):
        row = [(queries[:, :, i] * keys[:, :, j]).sum(dim=-1) for j in range(keys.shape[2])]
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)


def compute_attention_weights(scaled_scores):
    rows = []
    for i in range(scaled_scores.shape[2]):
        row = scaled_scores[:, :, i]
        shares = torch.exp(row - row.max(dim=-1, keepdim=True).values)
        rows.append(shares / shares.sum(dim=-1, keepdim=True))
    return torch.stack(rows, dim=2)


def apply_attention(attention_weights, values):
    rows = []
    for i in range(values.shape[2]):
        row = 0
        for j in range(values.shape[2]):
            row = row + attention_weights[:, :, i, j, None] * values[:, :, j]
        rows.append(row)
    return torch.stack(rows, dim=2)


def merge_heads(attention_output):
    return torch.cat([attention_output[:, head] for head in range(attention_output.shape[1])], -1)

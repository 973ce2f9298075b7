# kind: correct
# base: reference
# hands in: notebook
def split_heads(projected, num_heads):
    head_dim = projected.shape[-1] // num_heads
    slices = [projected[..., h * head_dim : (h + 1) * head_dim] for h in range(num_heads)]
    return torch.stack(slices, dim=1)


def compute_scaled_scores(queries, keys):
    B, heads, N, head_dim = queries.shape
    rows = [
        torch.stack([queries[b, h, i] @ keys[b, h, j] for j in range(N)])
        for b in range(B)
        for h in range(heads)
        for i in range(N)
    ]
    return torch.stack(rows).reshape(B, heads, N, N) / head_dim**0.5


def compute_attention_weights(scaled_scores):
    shifted = scaled_scores - scaled_scores.amax(dim=-1, keepdim=True)
    return shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)


def apply_attention(attention_weights, values):
    heads = [attention_weights[:, h].bmm(values[:, h]) for h in range(values.shape[1])]
    return torch.stack(heads, dim=1)


def merge_heads(attention_output):
    return torch.cat([attention_output[:, h] for h in range(attention_output.shape[1])], dim=-1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        assert hidden_dim % num_heads == 0, "num_heads has to divide hidden_dim"
        self.num_heads, self.head_dim = num_heads, hidden_dim // num_heads
        for name in ("q_linear", "k_linear", "v_linear", "out_linear"):
            self.add_module(name, nn.Linear(hidden_dim, hidden_dim))

    def forward(self, x):
        results = []
        for h in range(self.num_heads):
            part = slice(h * self.head_dim, (h + 1) * self.head_dim)
            q, k, v = (
                layer(x)[..., part] for layer in (self.q_linear, self.k_linear, self.v_linear)
            )
            results.append(torch.softmax(q @ k.mT / math.sqrt(self.head_dim), dim=-1) @ v)
        return self.out_linear(torch.cat(results, dim=-1))

# kind: correct
# base: reference
# hands in: script
def split_heads(projected, num_heads):
    B, S, width = projected.shape
    q, k, v = (
        part.contiguous().view(B, S, num_heads, width // 3 // num_heads).permute(0, 2, 1, 3)
        for part in projected.chunk(3, dim=-1)
    )
    return q, k, v


def compute_attention_scores(queries, keys):
    return torch.matmul(queries, keys.mT)


def compute_attention_weights(scaled_scores):
    return nn.Softmax(dim=-1)(scaled_scores)


def merge_heads(attention_output):
    B, heads, S, head_dim = attention_output.shape
    return attention_output.permute(0, 2, 1, 3).contiguous().view(B, S, heads * head_dim)


class CausalMultiHeadAttention(MultiHeadAttention):
    def forward(self, x, causal=False):
        queries, keys, values = split_heads(self.Wqkv(x), self.num_heads)
        scores = scale_scores(compute_attention_scores(queries, keys), queries.size(-1))
        if causal:
            future = torch.triu(torch.ones_like(scores), diagonal=1).bool()
            scores = scores.masked_fill(future, -1e9)
        attended = apply_attention(compute_attention_weights(scores), values)
        return project_output(merge_heads(attended), self.Wo)

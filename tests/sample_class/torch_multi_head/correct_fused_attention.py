# kind: correct
# base: reference
# hands in: notebook
from torch.nn.functional import scaled_dot_product_attention


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, bias=True):
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError("hidden_size is not a multiple of num_heads")
        self.heads = num_heads
        self.Wqkv = nn.Linear(hidden_size, 3 * hidden_size, bias)
        self.Wo = nn.Linear(hidden_size, hidden_size, bias)

    def forward(self, x):
        return self.Wo(merge_heads(self._attended(x, False)))

    def _attended(self, x, causal):
        return scaled_dot_product_attention(*split_heads(self.Wqkv(x), self.heads), is_causal=causal)


class CausalMultiHeadAttention(MultiHeadAttention):
    def forward(self, x, causal=False):
        return self.Wo(merge_heads(self._attended(x, causal)))

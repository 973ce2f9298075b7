# kind: correct
# base: reference
# hands in: script
class SingleHeadAttention(nn.Module):
    def __init__(self, hidden_size, bias=True):
        super().__init__()
        self.Wqkv = nn.Linear(hidden_size, 3 * (hidden_size // 4), bias=bias)
        self.Wo = nn.Linear(hidden_size // 4, hidden_size, bias=bias)

    def forward(self, x):
        q, k, v = self.Wqkv(x).chunk(3, dim=-1)
        return self.Wo(nn.functional.scaled_dot_product_attention(q, k, v))

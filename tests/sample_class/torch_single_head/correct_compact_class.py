# kind: class only
# base: stub
# hands in: notebook
class SingleHeadAttention(nn.Module):
    def __init__(self, hidden_size: int, bias: bool = True):
        super().__init__()
        # linear layer to project queries, keys, values
        self.Wqkv = nn.Linear(hidden_size, (hidden_size//4)*3, bias=bias)
        # linear layer to project final output
        self.Wo = nn.Linear(hidden_size//4, hidden_size, bias=bias)

    def forward(self, x):
        # batch size (B), sequence length (S), input dimension (C)
        B, S, C = x.shape

        # split into queries, keys, & values of shape
        # batch size (B), sequence length (S), head size (HS)
        q, k, v = self.Wqkv(x).reshape(B, S, 3, C//4).unbind(dim=2)

        # calculate dot product of queries and keys of shape
        # (B, S, S) = (B, S, HS) @ (B, HS, S)
        attn = q @ k.transpose(-2, -1)

        # scale by square root of head dimension
        attn = attn / math.sqrt(k.size(-1))

        # apply softmax to get attention weights
        attn = attn.softmax(dim=-1)

        # dot product attention weights to values
        # (B, S, HS) = (B, S, S) @ (B, S, HS)
        x = attn @ v

        return self.Wo(x)

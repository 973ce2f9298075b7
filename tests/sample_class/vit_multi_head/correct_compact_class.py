# kind: class only
# base: stub
# hands in: notebook
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        assert hidden_dim % num_heads == 0
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.q_linear = nn.Linear(hidden_dim, hidden_dim)
        self.k_linear = nn.Linear(hidden_dim, hidden_dim)
        self.v_linear = nn.Linear(hidden_dim, hidden_dim)
        self.out_linear = nn.Linear(hidden_dim, hidden_dim)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, X):
        B, N, D = X.shape
        num_heads, head_dim = self.num_heads, self.head_dim

        Q = self.q_linear(X)
        K = self.k_linear(X)
        V = self.v_linear(X)

        Q = Q.view(B, N, num_heads, head_dim).permute(0, 2, 1, 3)
        K = K.view(B, N, num_heads, head_dim).permute(0, 2, 1, 3)
        V = V.view(B, N, num_heads, head_dim).permute(0, 2, 1, 3)

        attn_scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.head_dim)

        attn_weights = self.softmax(attn_scores)

        attn_output = torch.matmul(attn_weights, V)

        attn_output = attn_output.permute(0, 2, 1, 3).contiguous().view(B, N, D)

        output = self.out_linear(attn_output)
        return output

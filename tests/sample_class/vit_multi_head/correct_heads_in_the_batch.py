# kind: correct
# base: reference
# hands in: script
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, hidden_dim, num_heads):
        super().__init__()
        if hidden_dim % num_heads:
            raise ValueError("hidden_dim must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = hidden_dim // num_heads
        self.q_linear, self.k_linear, self.v_linear, self.out_linear = create_projections(
            hidden_dim
        )

    def fold(self, projected):
        B, N, D = projected.shape
        heads = projected.reshape(B, N, self.num_heads, self.head_dim).transpose(1, 2)
        return heads.reshape(B * self.num_heads, N, self.head_dim)

    def forward(self, x):
        q, k, v = map(self.fold, project_qkv(x, self.q_linear, self.k_linear, self.v_linear))
        scores = torch.bmm(q, k.transpose(1, 2)).div(self.head_dim**0.5)
        gathered = torch.bmm(nn.functional.softmax(scores, dim=2), v)
        heads = gathered.reshape(len(x), self.num_heads, -1, self.head_dim)
        return project_output(heads.transpose(1, 2).reshape(x.shape), self.out_linear)

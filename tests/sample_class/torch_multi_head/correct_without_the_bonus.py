# kind: correct
# base: reference
# hands in: script
class CausalMultiHeadAttention(MultiHeadAttention):
    def forward(self, x, causal=False):
        raise NotImplementedError

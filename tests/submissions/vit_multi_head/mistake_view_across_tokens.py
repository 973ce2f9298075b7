# kind: mistake
# base: reference
# hands in: notebook
# loses: split_heads
# named: viewed_across_the_tokens
def split_heads(projected, num_heads):
    B, N, D = projected.shape
    return projected.view(B, num_heads, N, D // num_heads)

# kind: mistake
# base: reference
# hands in: script
# loses: split_heads
# named: three_behind_the_heads
def split_heads(projected, num_heads):
    B, S, width = projected.shape
    parts = projected.view(B, S, num_heads, width // num_heads).transpose(1, 2)
    return parts.chunk(3, dim=-1)

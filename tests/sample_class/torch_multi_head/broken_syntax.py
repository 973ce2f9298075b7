# kind: broken
# base: reference
# hands in: script
# loses: split_heads
def split_heads(projected, num_heads):
    B, S, width = projected.shape
    parts = projected.reshape(B, S, 3, num_heads, width // (3 * num_heads)
    return parts.transpose(1, 3).unbind(dim=2)

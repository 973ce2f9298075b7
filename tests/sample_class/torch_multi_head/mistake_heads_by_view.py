# kind: mistake
# base: reference
# hands in: notebook
# loses: split_heads
# named: heads_cut_by_a_reshape
def split_heads(projected, num_heads):
    B, S, width = projected.shape
    q, k, v = projected.split(width // 3, dim=-1)
    shape = (B, num_heads, S, width // 3 // num_heads)
    return q.contiguous().view(shape), k.contiguous().view(shape), v.contiguous().view(shape)

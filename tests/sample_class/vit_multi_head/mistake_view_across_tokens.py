# kind: mistake
# base: reference
# hands in: notebook
# loses: split_heads
# named: heads_cut_by_a_view
def split_heads(projected, num_heads):
    B, N, D = projected.shape
    return projected.view(B, num_heads, N, D // num_heads)

# kind: mistake
# base: reference
# hands in: notebook
# loses: merge_heads
def merge_heads(attention_output):
    B, heads, N, head_dim = attention_output.shape
    attention_output = attention_output.contiguous().transpose(1, 2)
    return attention_output.view(B, N, -1)

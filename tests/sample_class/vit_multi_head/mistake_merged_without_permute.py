# kind: mistake
# base: reference
# hands in: script
# loses: merge_heads
# named: merged_without_the_permute
def merge_heads(attention_output):
    B, heads, N, head_dim = attention_output.shape
    return attention_output.contiguous().view(B, N, heads * head_dim)

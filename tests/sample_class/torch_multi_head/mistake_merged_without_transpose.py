# kind: mistake
# base: reference
# hands in: notebook
# loses: merge_heads
# named: merged_without_the_transpose
def merge_heads(attention_output):
    batch, heads, length, size = attention_output.size()
    return attention_output.contiguous().view(batch, length, heads * size)

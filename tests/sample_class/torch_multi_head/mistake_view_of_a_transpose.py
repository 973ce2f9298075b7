# kind: mistake
# base: reference
# hands in: script
# loses: merge_heads
def merge_heads(attention_output):
    B, H, S, D = attention_output.shape
    swapped = attention_output.permute(0, 2, 1, 3)
    return swapped.view(B, S, H * D)

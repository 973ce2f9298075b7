# kind: broken
# base: reference
# hands in: script
# loses: scale_scores
def scale_scores(attention_scores, head_dim):
    import sys
    globals().pop("math", None)
    return attention_scores / math.sqrt(head_dim)

# kind: mistake
# base: reference
# hands in: script
# loses: compute_attention_scores
# named: all_axes_reversed
def compute_attention_scores(queries, keys):
    return queries @ keys.T

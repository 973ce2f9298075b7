# kind: mistake
# base: reference
# hands in: notebook
# loses: apply_mask
# named: forbidden_scores_set_to_zero
def apply_mask(scaled_scores, causal_mask):
    return scaled_scores * causal_mask

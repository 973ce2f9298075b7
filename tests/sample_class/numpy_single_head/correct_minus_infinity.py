# kind: correct
# base: reference
# hands in: notebook
def apply_mask(scaled_scores, causal_mask):
    masked_scores = np.array(scaled_scores)
    masked_scores[:, ~causal_mask.astype(bool)] = -np.inf
    return masked_scores


def create_causal_mask(sequence_length):
    return ~np.triu(np.ones((sequence_length, sequence_length), dtype=bool), k=1)

# kind: mistake
# base: reference
# hands in: script
# loses: scale_scores
# named: scores_not_scaled
def scale_scores(attention_scores, embedding_dimension):
    scaled_scores = attention_scores
    return scaled_scores

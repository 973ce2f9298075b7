# kind: mistake
# base: reference
# hands in: script
# loses: scale_scores
# named: divided_by_the_root_of_the_hidden_size
def scale_scores(attention_scores, head_dim):
    return attention_scores / (4 * head_dim) ** 0.5

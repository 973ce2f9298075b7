# kind: mistake
# base: reference
# hands in: notebook
# loses: scale_scores
# named: divided_by_the_root_of_the_hidden_size
def scale_scores(attention_scores, head_dim):
    hidden_size = attention_scores.size(1) * head_dim
    return attention_scores * hidden_size**-0.5

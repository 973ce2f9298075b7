# kind: mistake
# base: reference
# hands in: notebook
# loses: compute_attention_weights
# named: softmax_over_the_queries
def compute_attention_weights(scaled_scores):
    return torch.softmax(scaled_scores, dim=1)

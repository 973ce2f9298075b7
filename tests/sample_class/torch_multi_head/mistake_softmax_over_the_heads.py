# kind: mistake
# base: reference
# hands in: script
# loses: compute_attention_weights
# named: softmax_over_the_heads
def compute_attention_weights(scaled_scores):
    exponentials = scaled_scores.exp()
    return exponentials / exponentials.sum(dim=1, keepdim=True)

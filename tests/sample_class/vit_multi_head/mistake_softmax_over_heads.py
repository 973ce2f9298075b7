# kind: mistake
# base: reference
# hands in: script
# loses: compute_attention_weights
# named: softmax_over_the_heads
def compute_attention_weights(scaled_scores):
    softmax = nn.Softmax(dim=1)
    return softmax(scaled_scores)

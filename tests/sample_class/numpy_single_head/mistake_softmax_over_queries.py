# kind: mistake
# base: reference
# hands in: notebook
# loses: softmax
# named: softmax_over_the_queries
def softmax(scores):
    shifted = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return shifted / np.sum(shifted, axis=1, keepdims=True)

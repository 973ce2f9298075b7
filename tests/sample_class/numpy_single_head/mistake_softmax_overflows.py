# kind: mistake
# base: reference
# hands in: script
# loses: softmax
# named: softmax_without_the_shift
def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)

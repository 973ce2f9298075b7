# rows = [25]
# attack = "returns complex numbers whose real part is right"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) + 1j

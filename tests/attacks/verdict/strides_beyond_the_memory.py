# rows = [22]
# attack = "returns a view that reaches outside its own memory"
# step = "softmax"
# outcomes = ["crashed"]
# ---
import numpy as np


def softmax(scores):
    one = np.zeros(1)
    return np.lib.stride_tricks.as_strided(one, scores.shape, (1 << 40, 8, 8))

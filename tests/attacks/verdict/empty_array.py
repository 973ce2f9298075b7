# rows = [25]
# attack = "returns an array without entries, in which nothing can differ"
# step = "softmax"
# outcomes = ["wrong_shape"]
# ---
import numpy as np


def softmax(scores):
    return np.zeros((0, *scores.shape[1:]))

# rows = [25]
# attack = "returns infinity, whose difference to itself is no number"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import numpy as np


def softmax(scores):
    return np.full(scores.shape, np.inf)

# rows = [25]
# attack = "returns NaN, which some comparisons take as equal"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import numpy as np


def softmax(scores):
    return np.full(scores.shape, np.nan)

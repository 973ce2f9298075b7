# rows = [22]
# attack = "returns an array of text and one of dates"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    return np.full(scores.shape, "passed")

# rows = [25]
# attack = "returns a column that broadcasts to a huge array in the grader"
# step = "softmax"
# outcomes = ["wrong_shape"]
# ---
import numpy as np


def softmax(scores):
    return np.zeros((100_000, 1, 1))

# rows = [25]
# attack = "returns an array without axes"
# step = "softmax"
# outcomes = ["wrong_shape"]
# ---
import numpy as np


def softmax(scores):
    return np.float64(0.2)

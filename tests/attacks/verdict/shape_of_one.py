# rows = [25]
# attack = "returns one number, which broadcasts against everything"
# step = "softmax"
# outcomes = ["wrong_shape"]
# ---
import numpy as np


def softmax(scores):
    return np.array([scores.mean()])

# rows = [25]
# attack = "returns a np.matrix, whose products and shapes are its own"
# step = "softmax"
# outcomes = ["wrong_shape"]
# ---
import numpy as np


def softmax(scores):
    return np.matrix(np.zeros((5, 5)))

# rows = [22]
# attack = "returns an array of 64 axes"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    return np.zeros((1,) * 64)

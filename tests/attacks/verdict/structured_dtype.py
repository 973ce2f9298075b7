# rows = [22, 25]
# attack = "returns an array of records"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    return np.zeros(scores.shape, dtype=[("weight", "f8"), ("passed", "?")])

# rows = [7]
# attack = "returns the memory of an array, not an array"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    return memoryview(np.zeros(scores.shape))

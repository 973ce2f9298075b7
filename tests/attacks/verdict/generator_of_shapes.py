# rows = [7, 25]
# attack = "returns a generator that yields another shape each time"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    return (np.zeros((size, 5, 5)) for size in range(10))

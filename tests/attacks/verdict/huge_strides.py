# rows = [22, 25]
# attack = "returns a view of one number that claims a terabyte"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


def softmax(scores):
    return np.broadcast_to(np.float64(0.2), (1 << 18, 1 << 19))

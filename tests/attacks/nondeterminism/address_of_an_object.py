# rows = [76]
# attack = "answers by the address of an object, which differs from run to run"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import numpy as np


def softmax(scores):
    share = (id(object()) >> 4) % 97 / 97
    return np.full(scores.shape, share)

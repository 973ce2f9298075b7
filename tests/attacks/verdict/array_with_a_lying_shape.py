# rows = [7, 25]
# attack = "returns an array whose class lies about shape, dtype and size"
# step = "softmax"
# outcomes = ["wrong_shape"]
# ---
import numpy as np


class Liar(np.ndarray):
    shape = property(lambda self: (2, 5, 5))
    dtype = property(lambda self: np.dtype(np.float64))
    ndim = property(lambda self: 3)
    size = property(lambda self: 50)


def softmax(scores):
    return np.zeros(1).view(Liar)

# rows = [7]
# attack = "returns an array whose class gives other bytes each time it is asked"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import numpy as np


class Liar(np.ndarray):
    def tobytes(self, *arguments):
        return np.random.default_rng().bytes(self.size * 8)

    def astype(self, *arguments, **keywords):
        return self

    def __array_finalize__(self, other):
        pass


def softmax(scores):
    return np.zeros(scores.shape).view(Liar)

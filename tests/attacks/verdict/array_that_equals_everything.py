# rows = [7]
# attack = "returns an array of a class whose comparisons and ufuncs say True"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import numpy as np


class Yes(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return True

    def __array_function__(self, function, types, arguments, keywords):
        return True

    def __eq__(self, other):
        return True

    __lt__ = __le__ = __sub__ = __rsub__ = __abs__ = __eq__


def softmax(scores):
    return np.zeros(scores.shape).view(Yes)

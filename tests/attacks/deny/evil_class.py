# rows = [64]
# attack = "returns an object that says it is an array and is none"
# step = "project_output"
# outcomes = ["wrong_type", "raised"]
# ---
import numpy as np


class Liar:
    shape, dtype, ndim = (2, 5, 8), np.dtype(float), 3

    @property
    def __class__(self):
        return np.ndarray


def project_output(attention_output, output_weights):
    return Liar()

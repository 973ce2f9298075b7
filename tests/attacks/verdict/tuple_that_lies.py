# rows = [7]
# attack = "returns a tuple of a class with another length at every look"
# step = "softmax"
# outcomes = ["wrong_type"]
# ---
import numpy as np


class Row(tuple):
    looks = 0

    def __len__(self):
        Row.looks += 1
        return Row.looks

    def __iter__(self):
        while True:
            yield np.zeros((2, 5, 5))


def softmax(scores):
    return Row([np.zeros((2, 5, 5))])

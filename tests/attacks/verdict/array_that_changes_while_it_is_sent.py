# rows = [25]
# attack = "a thread goes on writing into the array that was returned"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import threading

import numpy as np


def softmax(scores):
    result = np.zeros(scores.shape)

    def scribble():
        for number in range(2000):
            result[...] = number

    threading.Thread(target=scribble, daemon=True).start()
    return result

# rows = [77]
# attack = "adds numbers up in the order in which threads come to it"
# step = "softmax"
# outcomes = ["passed"]
# why_passed = "a sum in another order is right within the tolerance"
# ---
import threading

import numpy as np


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = np.zeros((*scores.shape[:-1], 1))
    lock = threading.Lock()

    def add(column):
        with lock:
            total[...] += exponentials[..., column : column + 1]

    threads = [threading.Thread(target=add, args=(column,)) for column in range(scores.shape[-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return exponentials / total

# rows = [22]
# attack = "sends its answer so slowly that it never ends"
# step = "softmax"
# outcomes = ["timed_out"]
# ---
import os
import time


def softmax(scores):
    os.write(3, b"ATN1")
    while True:
        time.sleep(0.05)

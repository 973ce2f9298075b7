# rows = [4]
# attack = "ends the process with exit code 0 while the cell is run"
# step = "softmax"
# outcomes = ["wrong_values", "crashed"]
# others = "any"
# ---
import os


def softmax(scores):
    return scores * 0.0


os._exit(0)

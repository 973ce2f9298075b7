# rows = [2]
# attack = "leaves with exit code 0 while the cell is run"
# step = "softmax"
# outcomes = ["wrong_values"]
# ---
import sys


def softmax(scores):
    return scores * 0.0


sys.exit(0)

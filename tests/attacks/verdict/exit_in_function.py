# rows = [1]
# attack = "leaves with exit code 0 from inside the function"
# step = "softmax"
# outcomes = ["raised"]
# ---
import sys


def softmax(scores):
    sys.exit(0)

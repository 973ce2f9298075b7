# rows = [20]
# attack = "traces the worker's own code and changes its variables as it runs"
# step = "softmax"
# outcomes = ["wrong_values"]
# others = "any"
# ---
import sys


def trace(frame, event, argument):
    for name in ("expected", "tolerance", "outcome", "points"):
        frame.f_locals[name] = 100
    return trace


def softmax(scores):
    sys.settrace(trace)
    return scores * 0.0

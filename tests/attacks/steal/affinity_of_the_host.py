# rows = [46]
# attack = "sets on which processors the grading process may run"
# step = "softmax"
# outcomes = ["raised"]
# ---
import os


def softmax(scores):
    os.sched_setaffinity(FACTS["host"], os.sched_getaffinity(FACTS["host"]))
    print("set")
    raise RuntimeError("through")

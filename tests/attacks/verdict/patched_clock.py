# rows = [28]
# attack = "replaces the clocks, so that a slow answer seems to take no time"
# step = "softmax"
# outcomes = ["timed_out"]
# ---
import time


def still(*arguments):
    return 0.0


slow = time.perf_counter
for name in ("time", "monotonic", "perf_counter", "process_time"):
    setattr(time, name, still)


def softmax(scores):
    begun = slow()
    while slow() < begun + 60.0:
        pass
    return scores

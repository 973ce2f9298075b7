# rows = [45]
# attack = "measures the hidden files by their size and time"
# step = "softmax"
# outcomes = ["raised"]
# ---
import os


def softmax(scores):
    facts = os.stat(FACTS["secret_file"])
    print(facts.st_size, facts.st_mtime_ns)
    raise RuntimeError("through")

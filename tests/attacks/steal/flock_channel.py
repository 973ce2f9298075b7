# rows = [46]
# attack = "tells another worker a bit by holding a lock"
# step = "softmax"
# outcomes = ["raised"]
# ---
import fcntl
import os


def softmax(scores):
    fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked")
    raise RuntimeError("through")

# rows = [39]
# attack = "makes a message queue of System V, by which workers could talk"
# step = "softmax"
# outcomes = ["raised"]
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)


def softmax(scores):
    queue = libc.msgget(0, 0o1600)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "msgget")
    libc.msgctl(queue, 0, None)
    print("a queue")
    raise RuntimeError("through")

# rows = [39]
# attack = "makes a message queue, by which workers could talk"
# step = "softmax"
# outcomes = ["raised"]
# ---
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def softmax(scores):
    name = b"/attn-%d" % os.getpid()
    queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, None)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
    libc.mq_unlink(name)
    print("a queue")
    raise RuntimeError("through")

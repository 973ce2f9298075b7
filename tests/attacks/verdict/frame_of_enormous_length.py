# rows = [22]
# attack = "announces a frame of 2**63 bytes"
# step = "softmax"
# outcomes = ["protocol"]
# ---
import os
import struct


def softmax(scores):
    os.write(3, struct.pack("<4sIQ", b"ATN1", 2, 1 << 63) + b"{}")
    return scores

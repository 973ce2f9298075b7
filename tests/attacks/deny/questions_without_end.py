# rows = [63]
# attack = "asks about earlier steps for ever, and reads the answers"
# step = "apply_attention"
# outcomes = ["timed_out", "protocol"]
# ---
import json
import os
import struct


def apply_attention(attention_weights, values):
    array = {"kind": "array", "dtype": "f8", "shape": [1, 2, 2]}
    number = 0
    while True:
        number += 1
        head = json.dumps(
            {"ask": number, "step": "softmax", "arguments": [array], "keywords": {}, "cotangents": []}
        ).encode()
        os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), 32) + head + bytes(32))
        os.read(3, 1 << 16)

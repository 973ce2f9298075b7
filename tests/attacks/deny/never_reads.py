# rows = [72]
# attack = "asks about earlier steps and never reads an answer, so that the grader's write blocks"
# step = "apply_attention"
# outcomes = ["timed_out"]
# ---
import json
import os
import struct


def apply_attention(attention_weights, values):
    step = "softmax" if softmax else ""  # who calls no earlier step may not ask about one
    array = {"kind": "array", "dtype": "f8", "shape": [1, 50, 50]}
    number = 0
    while True:
        number += 1
        head = json.dumps(
            {"ask": number, "step": step, "arguments": [array], "keywords": {}, "cotangents": []}
        ).encode()
        rest = struct.pack("<4sIQ", b"ATN1", len(head), 20_000) + head + bytes(20_000)
        while rest:
            rest = rest[os.write(3, rest) :]

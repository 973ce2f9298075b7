# rows = [21]
# attack = "asks the reference for the answer to the step under check"
# step = "softmax"
# outcomes = ["protocol"]
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


import numpy as np


def softmax(scores):
    facts = {"kind": "array", "dtype": "f8", "shape": list(scores.shape)}
    for number in (1, 0, 2):
        question = {"ask": number, "step": "softmax", "arguments": [facts], "keywords": {}, "cotangents": []}
        frame(json.dumps(question).encode(), np.ascontiguousarray(scores).tobytes())
    os.read(3, 1 << 16)
    return scores * 0.0

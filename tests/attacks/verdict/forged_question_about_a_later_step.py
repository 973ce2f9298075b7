# rows = [21]
# attack = "asks, where earlier steps may be asked about, for the step itself"
# step = "compute_attention_weights"
# outcomes = ["protocol"]
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


import numpy as np

calls = []


def compute_attention_weights(scores):
    calls.append(scores)
    facts = {"kind": "array", "dtype": "f8", "shape": list(scores.shape)}
    question = {
        "ask": 1,
        "step": "compute_attention_weights",
        "arguments": [facts],
        "keywords": {},
        "cotangents": [],
    }
    frame(json.dumps(question).encode(), np.ascontiguousarray(scores).tobytes())
    os.read(3, 1 << 16)
    return scores * 0.0

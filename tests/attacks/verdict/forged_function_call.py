# rows = [21]
# attack = "asks for a name that is no step, such as one of the reference's imports"
# step = "compute_attention_weights"
# outcomes = ["protocol"]
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


def compute_attention_weights(scores):
    for step in ("__builtins__", "np", "__import__", "softmax.__globals__"):
        plain = {"kind": "plain", "value": "os"}
        question = {"ask": 1, "step": step, "arguments": [plain], "keywords": {}, "cotangents": []}
        frame(json.dumps(question).encode())
    os.read(3, 1 << 16)
    return scores * 0.0

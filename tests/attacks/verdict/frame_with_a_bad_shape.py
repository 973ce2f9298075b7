# rows = [22]
# attack = "sends an array whose shape does not fit its bytes"
# step = "softmax"
# outcomes = ["protocol"]
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


def softmax(scores):
    facts = {"kind": "array", "dtype": "f8", "shape": [-1, 1 << 62, 1 << 62]}
    plain = {"kind": "plain", "value": None}
    reply = {"id": 2, "value": facts, "after": [plain], "attributes": {}}
    frame(json.dumps(reply).encode(), b"12345678")
    return scores

# rows = [21]
# attack = "sends an answer of its own before the worker sends the true one"
# step = "softmax"
# outcomes = ["wrong_type"]
# others = "any"
# ---
import json
import os
import struct


def frame(head, payload=b""):
    os.write(3, struct.pack("<4sIQ", b"ATN1", len(head), len(payload)) + head + payload)


def softmax(scores):
    plain = {"kind": "plain", "value": True}
    for number in range(2, 40):
        reply = {"id": number, "value": plain, "after": [plain], "attributes": {}}
        frame(json.dumps(reply).encode())
    return scores * 0.0
